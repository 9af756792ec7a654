# SPDX-License-Identifier: GPL-3.0-or-later
"""Converts keys of arrays to fields in the format of --key, for libhetsort and the program."""
import collections
import sys

from ._errors import INVALID, InvalidError, ObjectsError

# A part of a key: its offset in the record, its numpy type, its type for --key, its direction, and whether NaN and NaT
# come last, which is also in the type for --key. That is None if only columns() has the part in a form that can be
# sorted.
Part = collections.namedtuple("Part", "offset dtype type descending nan_last")

_MOST = 17  # one more than the library accepts, so that it refuses a key with more parts
_LETTERS = {"b": "u", "u": "u", "i": "i", "f": "f", "c": "c", "M": "i", "m": "i"}
_TEXT_MOST = 16  # characters of a text that are numbers of a key
_FLOAT_SIZES = {"f": (2, 4, 8), "c": (8, 16)}


def invalid(text, *values):
    return InvalidError(INVALID, text % values)


def _order(dtype):
    little = dtype.byteorder == "<" or dtype.byteorder == "=" and sys.byteorder == "little"
    return "" if dtype.itemsize == 1 else "le" if little else "be"


def _is_extended(dtype):
    """Return whether numbers of the type consist of long doubles of 80 bits, as on x86."""
    if dtype.kind not in "fc" or dtype.itemsize <= (8 if dtype.kind == "f" else 16):
        return False
    import numpy

    return numpy.finfo(dtype).nmant == 63 and sys.byteorder == "little"


def _numbers(dtype, name, nan_last):
    """Return (type for --key, dtype of a part, number of parts) for a scalar type."""
    size = dtype.itemsize
    if dtype.kind in "SV":
        return str(size), dtype, 1 if size else 0
    if dtype.kind == "U" and size > 4 * _TEXT_MOST or _is_extended(dtype):
        return None, dtype, 1
    if dtype.kind == "U":
        return "u32" + _order(dtype), dtype.str[0] + "u4", size // 4
    if dtype.kind in _LETTERS and size in _FLOAT_SIZES.get(dtype.kind, (size,)):
        last = ",nan-last" if nan_last and dtype.kind in "fcMm" else ""
        return "%s%d%s%s" % (_LETTERS[dtype.kind], 8 * size, _order(dtype), last), dtype, 1
    raise invalid("%s is of type %s, which cannot be a key", name, dtype)


def _parts(dtype, offset, descending, name, nan_last):
    if dtype.names is not None:
        for field in dtype.names:
            inner, at = dtype.fields[field][:2]
            yield from _parts(inner, offset + at, descending, "'%s'" % field, nan_last)
    elif dtype.subdtype:
        inner = dtype.base
        if inner.kind in "SV" and inner.names is None or inner.kind in "ub" and inner.itemsize == 1:
            yield Part(offset, "V%d" % dtype.itemsize, str(dtype.itemsize), descending, nan_last)
            return
        for i in range(min(dtype.itemsize // inner.itemsize if inner.itemsize else 0, _MOST)):
            yield from _parts(inner, offset + i * inner.itemsize, descending, name, nan_last)
    else:
        type_, of_part, count = _numbers(dtype, name, nan_last)
        size = dtype.itemsize // count if count else 0
        for i in range(min(count, _MOST)):
            yield Part(offset + i * size, of_part, type_, descending, nan_last)


def _field(dtype, name):
    """Return the type and the offset of a field; "a.b" is field b of field a."""
    if dtype.names is not None and isinstance(name, str):
        if name in dtype.names:
            return dtype.fields[name][:2]
        first, _, rest = name.partition(".")
        if rest and first in dtype.names:
            inner, at = dtype.fields[first][:2]
            found, offset = _field(inner, rest)
            return found, at + offset
    raise invalid("the records have no field %r", name)


def _entries(key):
    """Yield (name, descending) for each entry of a key."""
    if isinstance(key, int):
        raise invalid("key names fields, and is not %r: use axis=%r for an axis, as numpy's second argument", key, key)
    pair = isinstance(key, tuple) and len(key) == 2 and key[1] in ("asc", "desc")
    if isinstance(key, str) or pair:
        key = [key]
    for entry in key:
        name, direction = entry if isinstance(entry, tuple) and len(entry) == 2 else (entry, "asc")
        if direction not in ("asc", "desc"):
            raise invalid("%r is neither 'asc' nor 'desc'", direction)
        yield name, direction == "desc"


def ordered(dtype, key, order):
    """Return the key, and whether NaN and NaT come last. order is "numpy", the same as None, or "total", or, as in
    numpy, the name of a field or a list of names; the other fields follow them."""
    if order is None or isinstance(order, str) and order in ("numpy", "total"):
        if order in (dtype.names or ()):
            raise invalid("order=%r is a word of hetsort, and a field of the array: for the field, use key=%r",
                          order, order)
        return key, order != "total"
    names = [order] if isinstance(order, str) else list(order)
    if key is not None:
        raise invalid("order=%r names fields, and so does key: use only key", order)
    if not dtype.names:
        raise invalid("order is %r, but the array has no fields: it is 'numpy', 'total', or names fields, as key does",
                      order)
    for i, name in enumerate(names):
        _field(dtype, name)
        if name in names[:i]:
            raise invalid("order has the duplicate field %r", name)
    return names + [name for name in dtype.names if name not in names], True


def parts(dtype, key, reverse, order=None):
    """Return the parts of a key for records of this type, the most significant first."""
    if dtype.hasobject:
        raise ObjectsError(INVALID, "records that hold objects of Python cannot be sorted")
    key, nan_last = ordered(dtype, key, order)
    if key is None:
        found = list(_parts(dtype, 0, reverse, "the array", nan_last))
    else:
        found = [part for name, descending in _entries(key) for field, at in [_field(dtype, name)]
                 for part in _parts(field, at, descending != reverse, "'%s'" % name, nan_last)]
    if not found and key is not None:
        raise invalid("the key is empty")
    return found


def texts(found):
    """Return the parts as fields of --key."""
    for part in found:
        if part.type is None:
            raise invalid("a key of type %s is sorted only in an array of one process", part.dtype)
    if not found:
        raise invalid("the key is empty")
    return ["%d,%s%s" % (part.offset, part.type, ",desc" if part.descending else "") for part in found]
