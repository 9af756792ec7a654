# SPDX-License-Identifier: GPL-3.0-or-later
"""_wheel.py - makes wheels for pip without other packages, so that no network is needed. make builds the shared
libraries into the wheel from the tree that contains this directory. In a copy of only this directory, without a
compiler, or with HETSORT_WHEEL=modules, the wheel has only the modules, which then look for installed libraries.
MAKEFLAGS passes variables to make, such as "MPI=no"."""
import ast
import base64
import glob
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sysconfig
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(HERE)


def _can_build():
    tools = "make", shlex.split(os.environ.get("CC", "cc"))[0]
    return os.environ.get("HETSORT_WHEEL") != "modules" and all(map(shutil.which, tools)) and os.path.exists(
        os.path.join(TREE, "sort", "lib", "hetsort.map"))


def _project():
    """Return the texts and lists of pyproject.toml by their names. Each is on one line and a literal of Python."""
    with open(os.path.join(HERE, "pyproject.toml")) as file:
        found = re.findall(r'(?m)^([\w-]+) = (?:\{ text = )?(["\[].*["\]])', file.read())
    return {name: ast.literal_eval(value) for name, value in found}


def _metadata(project):
    lines = ["Metadata-Version: 2.1", "Name: " + project["name"], "Version: " + project["version"],
             "Summary: " + project["description"], "License: " + project["license"],
             "Requires-Python: " + project["requires-python"]]
    lines += ["Classifier: " + text for text in project["classifiers"]]
    for extra in "arrays", "ranks":
        lines += ["Provides-Extra: " + extra]
        lines += ['Requires-Dist: %s ; extra == "%s"' % (name, extra) for name in project[extra]]
    return "\n".join(lines) + "\n"


def _record(name, content):
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
    return "%s,sha256=%s,%d\n" % (name, digest, len(content))


def _write(directory, files, libraries):
    """Write a wheel with files, {name: content}. Return its name."""
    project = _project()
    platform = re.sub(r"[-.]", "_", sysconfig.get_platform()) if libraries else "any"
    stem = "%s-%s" % (project["name"], project["version"])
    info, name = stem + ".dist-info/", "%s-py3-none-%s.whl" % (stem, platform)
    files[info + "METADATA"] = _metadata(project).encode()
    files[info + "WHEEL"] = ("Wheel-Version: 1.0\nGenerator: hetsort\nRoot-Is-Purelib: %s\nTag: py3-none-%s\n"
                             % ("false" if libraries else "true", platform)).encode()
    files[info + "RECORD"] = ("".join(_record(*f) for f in files.items()) + info + "RECORD,,\n").encode()
    with zipfile.ZipFile(os.path.join(directory, name), "w", zipfile.ZIP_DEFLATED) as wheel:
        for entry, content in files.items():
            wheel.writestr(entry, content)
    return name


def _read(directory, *patterns):
    """Return the content of the files below a directory that match."""
    files = {}
    for path in sorted(p for pattern in patterns for p in glob.glob(os.path.join(directory, pattern))):
        with open(path, "rb") as file:
            files[os.path.relpath(path, directory)] = file.read()
    return files


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    files = _read(HERE, "hetpart.py", "_hetlibrary.py", "hetsort/*.py")
    libraries = _can_build()
    if libraries:
        with tempfile.TemporaryDirectory() as built:
            subprocess.run(["make", "-s", "-j%d" % (os.cpu_count() or 1), "-C", TREE, "wheel-libraries",
                            "WHEELDIR=" + os.path.join(built, "hetsort")], check=True)
            files.update(_read(built, "hetsort/*"))
    return _write(wheel_directory, files, libraries)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """Make a wheel that names this directory."""
    return _write(wheel_directory, {"hetsort.pth": (HERE + "\n").encode()}, False)
