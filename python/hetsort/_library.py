# SPDX-License-Identifier: GPL-3.0-or-later
"""The calls of libhetsort. Their failures are raised as exceptions."""
import ctypes
import re

import _hetlibrary

from ._errors import KINDS, Error

_lib = _hetlibrary.load("HETSORT_LIBRARY", "libhetsort.so.0")
_lib.hetsort_version.restype = ctypes.c_char_p
__version__ = _lib.hetsort_version().decode()


class Opts(ctypes.Structure):
    """The struct hetsort_opts of hetsort.h."""

    _fields_ = [("struct_size", ctypes.c_size_t), ("record_bytes", ctypes.c_uint32),
                ("key_off", ctypes.c_uint32), ("key_bytes", ctypes.c_uint32),
                ("threads", ctypes.c_uint32), ("exchange_threads", ctypes.c_uint32),
                ("speeds", ctypes.POINTER(ctypes.c_double)), ("key", ctypes.c_char_p)]


class _Err(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("text", ctypes.c_char * 512)]


_P, _N = ctypes.c_void_p, ctypes.c_uint64
_ARGUMENTS = {"sort_local": [_P, _N, _P, _P], "share_f": [_N, _P, _P, ctypes.c_int],
              "sort_counts_f": [_P, _N, _P, _N, _P, ctypes.c_int],
              "sort_f": [_P, _N, _P, _N, _P, _P, ctypes.c_int],
              "argsort_f": [_P, _N, _P, _N, _P, _P, ctypes.c_int],
              "apply_f": [_P, _N, _P, _N, _P, ctypes.c_uint32, _P, ctypes.c_int]}
for _name, _arguments in _ARGUMENTS.items():
    if hasattr(_lib, "hetsort_" + _name):  # without MPI, the calls over ranks are missing
        getattr(_lib, "hetsort_" + _name).argtypes = _arguments + [_P]


def call(name, *args, rank=None):
    """Call a function with a buffer for the reason as its last argument; raise an exception on failure.
    rank is the rank that fails unless the reason names another one."""
    err = _Err()
    status = getattr(_lib, "hetsort_" + name)(*args, ctypes.byref(err))
    if status:
        text = err.text.decode(errors="replace")
        other = re.match(r"rank (\d+): ", text)
        raise KINDS.get(status, Error)(status, text, int(other[1]) if other else rank)


def mpi_version():
    """Return the version text of the MPI that the library is linked with, or None without MPI."""
    if not hasattr(_lib, "hetsort_sort_f"):
        return None
    text, length = ctypes.create_string_buffer(65536), ctypes.c_int()
    _lib.MPI_Get_library_version(text, ctypes.byref(length))
    return text.raw[:length.value].decode(errors="replace").rstrip("\0\n ")
