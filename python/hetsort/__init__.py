# SPDX-License-Identifier: GPL-3.0-or-later
"""hetsort - sort records in arrays of numpy, on threads or over MPI ranks of unequal speed, and in
files. It calls libhetsort through ctypes, and the program hetsort for files.

    >>> import hetsort, numpy
    >>> stars = numpy.array([(3.5, 7), (9.1, 4), (3.5, 2)], [("mass", "f8"), ("id", "u4")])
    >>> hetsort.sort(stars, key=[("mass", "desc"), "id"])["id"].tolist()
    [4, 2, 7]

A key is the name of a field, a pair of a name and "desc" or "asc", or a list of these; "a.b" is field
b of field a. None, the default, means all fields of the records, the most significant first, or the
number itself if the array has no fields. Booleans, integers, floats, complex numbers, times, bytes,
texts and arrays of them can be keys. By default the order is numpy's: NaN and NaT come last, also in
descending order, and -0 equals +0. With order="total", floats are in IEEE total order: -NaN < -inf < ... <
-0 < +0 < ... < +inf < NaN; complex numbers are sorted by their real parts, and equal real parts by their
imaginary parts; and NaT comes first.

Failures raise Error: status is the number, and rank the rank that failed, or None. Some subclasses of
Error are also ValueError, TypeError, MemoryError, FileExistsError or FileNotFoundError. The library is
HETSORT_LIBRARY if that is set. Otherwise it is libhetsort.so.0 from this package, from the system, or
from the installation of the program hetsort. The program is HETSORT_PROGRAM, or hetsort in PATH.
"""
from ._errors import (Error, InvalidError, JobError, MissingFileError, NoMemoryError, ObjectsError,
                      OutputExistsError, PeerError, RangeError)
from ._files import Progress, sort_file
from ._library import __version__

__all__ = ["sort", "argsort", "apply", "sort_file", "Progress", "Error", "InvalidError", "JobError",
           "MissingFileError", "NoMemoryError", "ObjectsError", "OutputExistsError", "PeerError", "RangeError",
           "__version__"]


def __getattr__(name):
    """Import the functions for arrays at their first use, because only they require numpy."""
    if name not in ("sort", "argsort", "apply"):
        raise AttributeError(f"module 'hetsort' has no attribute '{name}'")
    from . import _arrays
    globals().update(sort=_arrays.sort, argsort=_arrays.argsort, apply=_arrays.apply)
    return globals()[name]


def __dir__():
    return sorted({*globals(), *__all__})
