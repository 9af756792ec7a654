# SPDX-License-Identifier: GPL-3.0-or-later
"""_hetlibrary - finds the shared libraries that hetpart and hetsort call, and refuses arrays that are more
than they can take."""
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


_BUNDLED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hetsort")  # of a wheel that has the libraries


def load(variable, soname):
    """Load the library that an environment variable names. Without it load the one in the wheel, the one that the
    system finds, the one that make install has put somewhere, or one in the folder lib next to the folder of the
    program hetsort or of Python."""
    named = os.environ.get(variable)
    own = os.path.join(_BUNDLED, soname)
    found = [own] if os.path.exists(own) else []
    paths = [named] if named else found + [soname] + [os.path.join(f, soname) for f in _folders()]
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


# What an array may have in addition to its numbers, and how a caller gives it up. An attribute of the
# class: a record may have a field of that name.
_MORE = {"mask": ".compressed() or .filled()", "unit": ".value"}


def plain(values):
    """values themselves; TypeError if they have a mask or a unit, which would be lost silently."""
    for name, instead in _MORE.items():
        has = getattr(type(values), name, None)
        if has is not None and not callable(has) and getattr(values, name, None) is not None:
            raise TypeError("an array with a %s loses it here: pass its %s" % (name, instead))
    if getattr(values, "has_masked_values", False) is True:
        raise TypeError("a table with masked values loses its masks here: pass its .filled()")
    return values
