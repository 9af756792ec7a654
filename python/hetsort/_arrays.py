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
_LONG_ROW = 1024  # rows of at least this length are sorted one after the other, shorter ones together


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
        raise _keys.invalid("the array has %d dimensions, not 1: over ranks, pass array.ravel(), or records with "
                            "fields, and their key", array.ndim)
    return array


def _output(out, like, shape=None, contiguous=True):
    """Return out if it has the type of another array, and this shape, or the same number of dimensions."""
    if not isinstance(_plain(out), numpy.ndarray) or out.dtype != like.dtype or (
            shape is None and out.ndim != like.ndim):
        raise _keys.invalid("out is not an array of %d dimension%s of type %s", like.ndim,
                            "" if like.ndim == 1 else "s", like.dtype)
    if shape is not None and out.shape != shape:
        raise _keys.invalid("out has shape %s, not %s", out.shape, shape)
    if not out.flags.writeable or contiguous and not out.flags.c_contiguous:
        raise _keys.invalid("out is not contiguous, or cannot be written")
    return out


def _apart(array, out):
    """Return the array, or a copy if it shares memory with out."""
    return array.copy() if out is not None and numpy.may_share_memory(out, array) else array


def _opts(dtype, parts, threads, weights=None):
    opts = _library.Opts(ctypes.sizeof(_library.Opts), dtype.itemsize)
    opts.key = " ".join(_keys.texts(parts)).encode()
    opts.threads = threads
    if weights is not None:
        opts.speeds = weights.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    return opts


def _sort_here(array, parts, threads, out):
    """Sort the records of a contiguous array in this process. Return the sorted array, which is out if
    given."""
    if out is None:
        out = numpy.empty(len(array), array.dtype)
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


def _weights(weights, speeds, comm, out=None):
    """Return the shares, given by either name."""
    if weights is not None and speeds is not None:
        raise _keys.invalid("speeds and weights are two names of one argument: give one of them")
    weights = speeds if weights is None else weights
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


def _extended(values, part):
    """Return unsigned numbers that order long doubles of 80 bits: sign and exponent, and the mantissa."""
    raw = numpy.ascontiguousarray(values.astype(values.dtype.newbyteorder("=")))
    raw = raw.view("u1").reshape(len(values), values.dtype.itemsize)
    mantissa = numpy.ascontiguousarray(raw[:, :8]).view("u8")[:, 0]
    sign = numpy.ascontiguousarray(raw[:, 8:10]).view("u2")[:, 0]
    negative = sign >> 15 == 1
    high, low = numpy.where(negative, ~sign, sign | 0x8000), numpy.where(negative, ~mantissa, mantissa)
    if part.nan_last:
        nan, zero = numpy.isnan(values), values == 0
        high[zero], low[zero] = 0x8000, 0
        high[nan], low[nan] = (0, 0) if part.descending else (0xffff, 2**64 - 1)
    return [high, low]


def _columns(values, part):
    """Return arrays that order the values of a part in the same way, the most significant first: most parts
    themselves; see Part."""
    if part.type is not None:
        return [values]
    if part.dtype.kind == "U":
        return [numpy.ascontiguousarray(values.astype(part.dtype.newbyteorder(">"))).view("V%d" % part.dtype.itemsize)]
    if part.dtype.kind == "f":
        return _extended(values, part)
    nans = 2 * numpy.isnan(values.real) + numpy.isnan(values.imag)
    where = [(3 - nans if part.descending else nans).astype("u1")] if part.nan_last else []
    return where + _extended(values.real, part) + _extended(values.imag, part)


def _with_places(array, parts, index):
    """Return an array of the keys of the records, each with its place, and the parts of the key in that
    array."""
    columns, found = [], []
    for part in parts:
        look = numpy.dtype({"names": ["k"], "formats": [part.dtype], "offsets": [part.offset],
                            "itemsize": array.dtype.itemsize})
        columns += [(column, part) for column in _columns(array.view(look)["k"], part)]
    names = ["k%d" % i for i in range(len(columns))]
    packed = numpy.dtype([(n, c.dtype) for n, (c, _) in zip(names, columns)] + [("place", index)])
    keys = numpy.empty(len(array), packed)
    for name, (column, part) in zip(names, columns):
        keys[name] = column
        if part.type:
            found.append(part._replace(offset=packed.fields[name][1]))
        else:
            found += _keys.parts(packed, (name, "desc" if part.descending else "asc"), False)
    keys["place"] = numpy.arange(len(array), dtype=index)
    return keys, found


def _order_here(array, parts, threads, length=None):
    """Return the places of the records in order; with a length, in each row of this length. Then the rows
    are sorted together, and their records are separated by a second sort, because sorts are stable."""
    index = "u4" if len(array) < _MOST_NARROW else "u8"
    if not len(array) or not parts:
        return numpy.arange(len(array))
    keys, parts = _with_places(array, parts, index)
    places = _sort_here(keys, parts, threads, None)["place"]
    if length:
        row = places // length
        places = places[_order_here(row, _keys.parts(row.dtype, None, False), threads)]
    return places.astype(numpy.intp)


def _along(array, axis, out=None):
    """Return the array with the axis last, contiguous, and not in the memory of out. None makes the array flat."""
    array = numpy.asarray(_plain(array))
    if axis is None:
        array, axis = array.ravel(), 0
    if out is not None:
        array = _apart(array, _output(out, array, array.shape, False))
    return numpy.ascontiguousarray(numpy.moveaxis(array, axis, -1))


def _like(array, result):
    """Return the result as the class of the array, for classes of numpy such as numpy.recarray."""
    kind = type(array)
    subclass = isinstance(array, numpy.ndarray) and kind not in (numpy.ndarray, numpy.memmap)
    return result.view(kind) if subclass else result


def _check_words(kind, axis, comm):
    """Raise an exception, numpy's if it does not know the kind."""
    if kind is not None:
        numpy.empty(0).sort(kind=kind)
    if comm is not None and axis not in (-1, 0):
        raise _keys.invalid("axis is %r: over ranks, arrays have one dimension; pass records with fields, and "
                            "their key", axis)


def sort(array, key=None, comm=None, weights=None, stable=False, out=None, *, axis=-1, kind=None, order=None,
         reverse=False, threads=None, speeds=None):
    """Return the sorted records of an array as a new array. The array is only read, and not copied if
    it is contiguous.

    key      described in the package; reverse inverts all its directions.
    comm     a communicator of mpi4py: the records of all ranks are sorted, and this rank receives
             its share. All ranks must call, with the same type, key and weights.
    weights  one number per rank: shares are proportional to them. By default shares are equal. speeds is
             another name.
    stable   accepted for compatibility, like kind, which is any kind of numpy: equal keys always keep their
             order, which over ranks is the order of rank and place.
    out      receives the records, and is returned. It may be the array. With comm, all ranks must give out,
             without weights. Each rank then receives as many records as its out has; the sum must be the
             number of all records.
    axis     as for numpy.sort(): an array of several dimensions is sorted along this axis; None sorts all
             its numbers. To sort rows as records instead, view the array as one of records with a field per
             column, and use key.
    order    "numpy", the default: NaN of either sign and NaT come last, also in descending order, and -0 equals +0. The
             order of complex numbers is numpy's. "total": see the package. As in numpy, the name of a field,
             or a list of names, is a key that is continued by the other fields.
    threads  the number of sorting threads; 0 means all processors. The default is 1 with comm, and 0
             without.

    hetsort refuses objects, so three of numpy's own tests of its sorts differ: test_sort_object,
    test_sort_bad_ordering, and a part of test_argsort. In records, numpy 1.24 sorts NaN of
    f2 first, and compares a field that is an array by its bytes; hetsort sorts them like other numbers.
    """
    def prepare():
        _check_words(kind, axis, comm)
        row = numpy.ascontiguousarray(_one_row(array))
        parts = _keys.parts(row.dtype, key, reverse, order)
        _keys.texts(parts)  # or an exception
        shares = _weights(weights, speeds, comm, out)
        given = None if out is None else _output(out, row)
        return _apart(row, given), parts, _threads(threads, comm), shares, given

    if comm is not None:
        return _sort_over(comm, prepare)
    _check_words(kind, axis, None)
    _weights(weights, speeds, None)
    rows = _along(array, axis, out)
    parts, count = _keys.parts(rows.dtype, key, reverse, order), _threads(threads, None)
    direct = all(part.type for part in parts)
    if rows.ndim == 1 and parts and direct and (out is None or out.flags.c_contiguous):
        result = _sort_here(rows, parts, count, out)
        return result if out is not None else _like(array, result)
    flat, length = rows.reshape(-1), rows.shape[-1]
    if length < _LONG_ROW or not parts or not direct:
        result = flat[_order_here(flat, parts, count, length if rows.ndim > 1 else None)]
    else:
        result = numpy.empty_like(flat)
        for i in range(0, len(flat), length):
            _sort_here(flat[i:i + length], parts, count, result[i:i + length])
    result = result.reshape(rows.shape)
    result = result if axis is None else numpy.ascontiguousarray(numpy.moveaxis(result, -1, axis))
    if out is None:
        return _like(array, result)
    out[...] = result
    return out


def argsort(array, key=None, comm=None, weights=None, stable=False, *, axis=-1, kind=None, order=None,
            reverse=False, threads=None, speeds=None):
    """Return the places of the records in the order of sort(): array[argsort(array)] is the sorted array. In an
    array of several dimensions, places are along the axis, as for numpy.take_along_axis(). With comm, places are
    counted over the arrays of all ranks, one after the other, and this rank receives its share of the places,
    for apply(). Only keys and places move between ranks. For the arguments, see sort()."""
    def prepare():
        _check_words(kind, axis, comm)
        row = numpy.ascontiguousarray(_one_row(array))
        parts = _keys.parts(row.dtype, key, reverse, order)
        _keys.texts(parts)  # or an exception
        return row, parts, _threads(threads, comm), _weights(weights, speeds, comm), None

    if comm is not None:
        return _sort_over(comm, prepare, "argsort_f", numpy.dtype("i8"))
    _check_words(kind, axis, None)
    _weights(weights, speeds, None)
    rows = _along(array, axis)
    parts, count, length = _keys.parts(rows.dtype, key, reverse, order), _threads(threads, None), rows.shape[-1]
    places = _order_here(rows.reshape(-1), parts, count, length if rows.ndim > 1 else None).reshape(rows.shape)
    if rows.ndim > 1:
        places %= max(length, 1)
    return places if axis is None else numpy.ascontiguousarray(numpy.moveaxis(places, -1, axis))


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
        to = numpy.empty(shape, rows.dtype) if out is None else _output(out, rows, shape)
        size = rows.dtype.itemsize * math.prod(rows.shape[1:])
        return rows, places, to, min(size, 2**32 - 1), _threads(threads, comm)

    _check_mpi(comm)
    rows, places, to, size, count = _together(comm, prepare)
    opts = _library.Opts(ctypes.sizeof(_library.Opts), threads=count)
    _library.call("apply_f", places.ctypes.data, len(places), rows.ctypes.data, len(rows), to.ctypes.data, size,
                  ctypes.byref(opts), comm.py2f(), rank=comm.rank)
    return to
