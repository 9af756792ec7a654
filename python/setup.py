# SPDX-License-Identifier: GPL-3.0-or-later
"""setup.py - puts the shared libraries into the wheel. make builds them from the tree that contains this directory. In
a copy of only this directory, without a compiler, or with HETSORT_WHEEL=modules, the wheel has only the modules, which
then look for installed libraries. MAKEFLAGS passes variables to make, such as "MPI=no"."""
import os
import shlex
import shutil
import subprocess

from setuptools import setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # before setuptools 70.1
    from wheel.bdist_wheel import bdist_wheel

TREE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def can_build():
    tools = "make", shlex.split(os.environ.get("CC", "cc"))[0]
    return os.environ.get("HETSORT_WHEEL") != "modules" and all(map(shutil.which, tools)) and os.path.exists(
        os.path.join(TREE, "sort", "lib", "hetsort.map"))


class BuildWithLibraries(build_py):
    def run(self):
        target = os.path.join(os.path.abspath(self.build_lib), "hetsort")
        shutil.rmtree(target, ignore_errors=True)  # an earlier build may have left libraries
        super().run()
        if can_build():
            subprocess.run(["make", "-s", "-j%d" % (os.cpu_count() or 1), "-C", TREE, "wheel-libraries",
                            "WHEELDIR=" + target], check=True)


class WheelOfThisMachine(bdist_wheel):
    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = not can_build()

    def get_tag(self):
        return super().get_tag() if self.root_is_pure else ("py3", "none", super().get_tag()[2])


setup(cmdclass={"build_py": BuildWithLibraries, "bdist_wheel": WheelOfThisMachine})
