# SPDX-License-Identifier: GPL-3.0-or-later
"""hetsort - sort records in arrays of numpy, on threads or over MPI ranks of unequal speed, and in
files. Calls libhetsort through ctypes, and the program hetsort for files.

    >>> import hetsort, numpy
    >>> stars = numpy.array([(3.5, 7), (9.1, 4), (3.5, 2)], [("mass", "f8"), ("id", "u4")])
    >>> hetsort.sort(stars, key=[("mass", "desc"), "id"])["id"].tolist()
    [4, 2, 7]

A key is None (all fields of the records, the first counts most; the whole of a plain number), the
name of a field, a pair of it and "desc" or "asc", or a list of these; "a.b" is field b of field a.
Booleans, integers, f4, f8, complex numbers, times, bytes, texts and arrays of them can be keys.
Floats are in IEEE total order: -NaN < -inf < ... < -0 < +0 < ... < +inf < NaN; but for -NaN, and for
-0 and +0, which are equal to numpy, this is numpy's order. Times that are not (NaT) come first.

Failures are Error: status is the number, rank the rank that failed, or None. It has subclasses that
are ValueError and MemoryError as well. The library is HETSORT_LIBRARY if that is set, else
libhetsort.so.0 as the system finds it, as it was installed with this package or with the program
hetsort. The program is HETSORT_PROGRAM, or hetsort in PATH.
"""
from ._errors import Error, InvalidError, JobError, NoMemoryError, PeerError, RangeError
from ._files import Progress, sort_file
from ._library import __version__

__all__ = ["sort", "argsort", "sort_file", "Progress", "Error", "InvalidError", "JobError",
           "NoMemoryError", "PeerError", "RangeError", "__version__"]


def __getattr__(name):
    """Arrays take numpy, files do not."""
    if name not in ("sort", "argsort"):
        raise AttributeError(f"module 'hetsort' has no attribute '{name}'")
    from . import _arrays
    globals().update(sort=_arrays.sort, argsort=_arrays.argsort)
    return globals()[name]


def __dir__():
    return sorted({*globals(), *__all__})
