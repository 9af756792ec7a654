# SPDX-License-Identifier: GPL-3.0-or-later
"""_hetlibrary - finds the shared libraries that hetpart and hetsort call."""
import ctypes
import os
import shutil
import sys

_INSTALLED = "@LIBDIR@"  # make install says it here, pip does not know it


def _folders():
    """Where a library may be that the system does not find by its name, the likeliest first."""
    program = shutil.which("hetsort")
    prefixes = [sys.prefix, "/usr/local"]
    if program:
        prefixes.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(program))))
    return [_INSTALLED] + [os.path.join(prefix, "lib") for prefix in prefixes]


def load(variable, soname):
    """The library that an environment variable names; without it as the system finds it, then where
    make install has put it, then in the folder lib beside the program hetsort or Python."""
    named = os.environ.get(variable)
    paths = [named] if named else [soname] + [os.path.join(f, soname) for f in _folders()]
    reasons = []
    for path in paths:
        try:
            return ctypes.CDLL(path)
        except OSError as reason:
            if path in (named, soname) or os.path.exists(path):
                reasons.append(str(reason))
    raise ImportError("cannot load %s: %s; %s names the file" % (
        soname.split(".")[0], "; ".join(reasons), variable))
