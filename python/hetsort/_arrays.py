# SPDX-License-Identifier: GPL-3.0-or-later
"""Sorts of arrays in memory. Over ranks, a step may fail on only one of them. So all ranks exchange the
result of each such step before they continue, and return together."""
import ctypes
import math

import numpy

import _hetlibrary

from . import _keys, _library
from ._errors import PEER, PeerError

_MOST_NARROW = 2**32  # below this number of records, a place fits into 4 bytes


def _plain(array):
    """Return the array; raise TypeError if a sort would silently lose data other than its records: a mask,
    a unit, or additions of another package, such as the scales of a FITS table."""
    _hetlibrary.plain(array)
    for entry in array if isinstance(array, (list, tuple)) else ():
        _hetlibrary.plain(entry)
    if isinstance(array, numpy.ndarray) and type(array).__module__.partition(".")[0] != "numpy":
        raise TypeError("arrays of type %s are not sorted: pass numpy.asarray(array) if its bytes are all that "
                        "counts" % type(array).__qualname__)
    return array


def _one_row(array):
    array = numpy.asarray(_plain(array))
    if array.ndim != 1:
        raise _keys.invalid("the array has %d dimensions, not 1", array.ndim)
    return array


def _output(out, dtype, shape=None):
    if not isinstance(_plain(out), numpy.ndarray) or out.dtype != dtype or shape is None and out.ndim != 1:
        raise _keys.invalid("out is not an array of one dimension of type %s", dtype)
    if shape is not None and out.shape != shape:
        raise _keys.invalid("out has shape %s, not %s", out.shape, shape)
    if not out.flags.c_contiguous or not out.flags.writeable:
        raise _keys.invalid("out is not contiguous, or cannot be written")
    return out


def _opts(dtype, parts, threads, weights=None):
    opts = _library.Opts(ctypes.sizeof(_library.Opts), dtype.itemsize)
    opts.key = " ".join(map(_keys.text, parts)).encode()
    opts.threads = threads
    if weights is not None:
        opts.speeds = weights.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    return opts


def _sort_here(array, parts, threads, out):
    """Sort the records of a contiguous array in this process. Return the sorted array, which is out if
    given."""
    if out is None:
        out = numpy.empty(len(array), array.dtype)
    elif len(out) != len(array):
        raise _keys.invalid("out has %d records, the array %d", len(out), len(array))
    _library.call("sort_local", array.ctypes.data, len(array), out.ctypes.data,
                  ctypes.byref(_opts(array.dtype, parts, threads)))
    return out


# -------------------------------------------------------------------------------------- over ranks


def _together(comm, prepare):
    """Call prepare() on all ranks. Return its result, or raise an exception on all ranks if it fails on
    any."""
    result = failure = None
    try:
        result = prepare()
    except Exception as reason:
        failure = reason
    reasons = comm.allgather(failure and str(failure))
    if failure:
        failure.rank = comm.rank
        raise failure
    for rank, reason in enumerate(reasons):
        if reason is not None:
            raise PeerError(PEER, "rank %d: %s" % (rank, reason), rank)
    return result


def _check_mpi(comm):
    from mpi4py import MPI

    if not isinstance(comm, MPI.Intracomm):
        raise _keys.invalid("comm is not an intracommunicator of mpi4py")
    ours, theirs = _library.mpi_version(), MPI.Get_library_version().rstrip("\0\n ")
    if ours is None:
        raise _keys.invalid("libhetsort was built without MPI")
    if ours != theirs:
        raise _keys.invalid("libhetsort is linked with '%s', mpi4py with '%s'", ours, theirs)


def _weights(weights, comm, out=None):
    if weights is None or comm is None:
        return None
    if out is not None:
        raise _keys.invalid("out and weights cannot be combined: the lengths of out are the shares")
    weights = numpy.array(_plain(weights), "d", ndmin=1)
    if weights.shape != (comm.size,):
        raise _keys.invalid("weights are %s numbers for %d ranks",
                            "x".join(map(str, weights.shape)), comm.size)
    return weights


def _sort_over(comm, prepare, call="sort_f", result=None):
    """Sort over ranks. prepare() returns the array of this rank, the parts of its key, threads, weights and
    out. call is the call of the library that fills this rank's share of an array of type result; the type
    of the records if it is None."""
    _check_mpi(comm)
    handle = comm.py2f()
    array, parts, threads, weights, out = _together(comm, prepare)
    if comm.allreduce(out is not None) % comm.size:
        raise _keys.invalid("out is given only on some ranks")
    opts = ctypes.byref(_opts(array.dtype, parts, threads, weights))
    if out is not None:
        _library.call("sort_counts_f", array.ctypes.data, len(array), out.ctypes.data, len(out), opts,
                      handle, rank=comm.rank)
        return out
    n = ctypes.c_uint64()
    _library.call("share_f", len(array), ctypes.byref(n), opts, handle, rank=comm.rank)
    out = _together(comm, lambda: numpy.empty(n.value, result or array.dtype))
    _library.call(call, array.ctypes.data, len(array), out.ctypes.data, len(out),
                  ctypes.byref(n), opts, handle, rank=comm.rank)
    return out


# ---------------------------------------------------------------------------------------- the calls


def _threads(threads, comm):
    if threads is None:
        return 0 if comm is None else 1
    if not 0 <= threads < 2**32:
        raise _keys.invalid("threads is not a valid number: %r", threads)
    return threads


def sort(array, key=None, comm=None, weights=None, stable=False, out=None, *, reverse=False,
         threads=None):
    """Return the sorted records of an array as a new array. The array is only read, and not copied if
    it is contiguous.

    key      described in the package; reverse inverts all its directions.
    comm     a communicator of mpi4py: the records of all ranks are sorted, and this rank receives
             its share. All ranks must call, with the same type, key and weights.
    weights  one number per rank: shares are proportional to them. By default shares are equal.
    stable   accepted for compatibility: equal keys always keep their order, which over ranks is the order of
             rank and place.
    out      receives the records, and is returned. With comm, all ranks must give out, without weights. Each
             rank then receives as many records as its out has; the sum must be the number of all records.
    threads  the number of sorting threads; 0 means all processors. The default is 1 with comm, and 0
             without.
    """
    def prepare():
        row = numpy.ascontiguousarray(_one_row(array))
        return (row, _keys.parts(row.dtype, key, reverse), _threads(threads, comm),
                _weights(weights, comm, out), None if out is None else _output(out, row.dtype))

    if comm is not None:
        return _sort_over(comm, prepare)
    row, parts, count, _, given = prepare()
    return _sort_here(row, parts, count, given)


def _with_places(array, parts, index):
    """Return an array of the keys of the records, each with its place, and the parts of the key in that
    array."""
    names = ["k%d" % i for i in range(len(parts))]
    look = numpy.dtype({"names": names, "formats": [p.dtype for p in parts],
                        "offsets": [p.offset for p in parts], "itemsize": array.dtype.itemsize})
    packed = numpy.dtype([(n, look[n]) for n in names] + [("place", index)])
    keys, source = numpy.empty(len(array), packed), array.view(look)
    for name in names:
        keys[name] = source[name]
    keys["place"] = numpy.arange(len(array), dtype=index)
    return keys, [p._replace(offset=packed.fields[n][1]) for p, n in zip(parts, names)]


def argsort(array, key=None, comm=None, weights=None, stable=False, *, reverse=False, threads=None):
    """Return the places of the records in the order of sort(): array[argsort(array)] is the sorted array.
    With comm, places are counted over the arrays of all ranks, one after the other, and this rank receives
    its share of the places, for apply(). Only keys and places move between ranks. For the arguments, see
    sort()."""
    def prepare():
        row = _one_row(array) if comm is None else numpy.ascontiguousarray(_one_row(array))
        return row, _keys.parts(row.dtype, key, reverse), _threads(threads, comm), _weights(weights, comm), None

    if comm is not None:
        return _sort_over(comm, prepare, "argsort_f", numpy.dtype("i8"))
    row, parts, count, _, _ = prepare()
    keys, parts = _with_places(row, parts, "u4" if len(row) < _MOST_NARROW else "u8")
    return _sort_here(keys, parts, count, None)["place"].astype(numpy.intp)


def _places(order):
    order = numpy.asarray(_plain(order))
    if order.ndim != 1 or order.dtype.kind not in "iu" and len(order):
        raise _keys.invalid("order is not an array of one dimension of integers")
    if order.dtype.kind == "i" and len(order) and order.min() < 0:
        raise _keys.invalid("order has the place '%d': places are 0 or more", order.min())
    return numpy.ascontiguousarray(order.astype("u8", copy=False))


def apply(array, order, comm, out=None, *, threads=None):
    """Return the records with the places in order, as a new array: record order[i] of the arrays of all
    ranks, one after the other, becomes record i. So apply(array, argsort(array, key, comm), comm) is
    sort(array, key, comm), and the same order sorts other arrays with data of the same records.

    array    this rank's records, only read. With several dimensions, its rows are the records. All ranks must
             have the same type and length of rows; the number of records may differ.
    order    the places: integers from 0 on, below the number of all records. A place may occur several times,
             on any ranks, or never. Its length is the number of records that this rank receives.
    comm     a communicator of mpi4py. All ranks must call.
    out      receives the records, and is returned.
    threads  the number of threads that copy records; 0 means all processors. The default is 1.
    """
    def prepare():
        rows = numpy.asarray(_plain(array))
        if rows.ndim == 0 or rows.dtype.hasobject:
            raise _keys.invalid("the array has no dimension, or holds objects of Python")
        rows, places = numpy.ascontiguousarray(rows), _places(order)
        shape = (len(places), *rows.shape[1:])
        to = numpy.empty(shape, rows.dtype) if out is None else _output(out, rows.dtype, shape)
        size = rows.dtype.itemsize * math.prod(rows.shape[1:])
        return rows, places, to, min(size, 2**32 - 1), _threads(threads, comm)

    _check_mpi(comm)
    rows, places, to, size, count = _together(comm, prepare)
    opts = _library.Opts(ctypes.sizeof(_library.Opts), threads=count)
    _library.call("apply_f", places.ctypes.data, len(places), rows.ctypes.data, len(rows), to.ctypes.data, size,
                  ctypes.byref(opts), comm.py2f(), rank=comm.rank)
    return to
