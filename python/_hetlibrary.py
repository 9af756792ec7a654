# SPDX-License-Identifier: GPL-3.0-or-later
"""_hetlibrary - finds the shared libraries for hetpart and hetsort, and refuses arrays with data that these would lose,
such as masks."""
import ctypes
import os
import shutil
import sys

_INSTALLED = "@LIBDIR@"  # make install writes the directory here; pip does not


def _directories():
    """Return the directories that may contain a library which the system does not find, the likeliest first."""
    program = shutil.which("hetsort")
    prefixes = [sys.prefix, "/usr/local"]
    if program:
        prefixes.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(program))))
    return [_INSTALLED] + [os.path.join(prefix, "lib") for prefix in prefixes]


_BUNDLED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hetsort")  # in a wheel that contains the libraries


def load(variable, soname):
    """Load the library that an environment variable names. If it is not set, load the library from the wheel, from
    the system, from make install, or from the directory lib next to the directory of the program hetsort or of
    Python."""
    named = os.environ.get(variable)
    own = os.path.join(_BUNDLED, soname)
    found = [own] if os.path.exists(own) else []
    paths = [named] if named else found + [soname] + [os.path.join(d, soname) for d in _directories()]
    reasons = []
    for path in paths:
        try:
            return ctypes.CDLL(path)
        except OSError as reason:
            if path in (named, soname) or os.path.exists(path):
                reasons.append(str(reason))
    name, version = soname.split(".so.")
    raise ImportError(
        "cannot load %s: %s; install it (Debian package %s%s, or 'make install' in the sources of hetsort, or a wheel "
        "from 'pip wheel ./python' there), or set %s to the file" % (name, "; ".join(reasons), name, version, variable))


# Data that an array may have in addition to its numbers, and how a caller removes them. These are attributes of the
# class, because a record may have a field of the same name.
_MORE = {"mask": ".compressed() or .filled()", "unit": ".value"}


def plain(values):
    """Return values; raise TypeError if they have a mask or a unit, which would be lost silently."""
    for name, instead in _MORE.items():
        has = getattr(type(values), name, None)
        if has is not None and not callable(has) and getattr(values, name, None) is not None:
            raise TypeError("an array with a %s loses it here: pass its %s" % (name, instead))
    if getattr(values, "has_masked_values", False) is True:
        raise TypeError("a table with masked values loses its masks here: pass its .filled()")
    return values
