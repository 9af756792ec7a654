# SPDX-License-Identifier: GPL-3.0-or-later
"""Converts keys of arrays to fields in the format of --key, for libhetsort and the program."""
import collections
import sys

from ._errors import INVALID, InvalidError

# A part of a key: its offset in the record, its numpy type, its type for --key, and its direction.
Part = collections.namedtuple("Part", "offset dtype type descending")

_MOST = 17  # one more than the library accepts, so that it refuses a key with more parts
_LETTERS = {"b": "u", "u": "u", "i": "i", "f": "f", "M": "i", "m": "i"}


def invalid(text, *values):
    return InvalidError(INVALID, text % values)


def _order(dtype):
    little = dtype.byteorder == "<" or dtype.byteorder == "=" and sys.byteorder == "little"
    return "" if dtype.itemsize == 1 else "le" if little else "be"


def _numbers(dtype, name):
    """Return (type for --key, dtype of a part, number of parts) for a scalar type."""
    size = dtype.itemsize
    if dtype.kind in "SV":
        return str(size), dtype, 1
    if dtype.kind == "U":
        return "u32" + _order(dtype), dtype.str[0] + "u4", size // 4
    if dtype.kind == "c" and size <= 16:
        return "f%d%s" % (4 * size, _order(dtype)), "%sf%d" % (dtype.str[0], size // 2), 2
    if dtype.kind in _LETTERS and (dtype.kind != "f" or size in (4, 8)):
        return "%s%d%s" % (_LETTERS[dtype.kind], 8 * size, _order(dtype)), dtype, 1
    raise invalid("%s is of type %s, which cannot be a key", name, dtype)


def _parts(dtype, offset, descending, name):
    if dtype.names is not None:
        for field in dtype.names:
            inner, at = dtype.fields[field][:2]
            yield from _parts(inner, offset + at, descending, "'%s'" % field)
    elif dtype.subdtype:
        inner = dtype.base
        if inner.kind in "SV" and inner.names is None or inner.kind in "ub" and inner.itemsize == 1:
            yield Part(offset, "V%d" % dtype.itemsize, str(dtype.itemsize), descending)
            return
        for i in range(min(dtype.itemsize // inner.itemsize if inner.itemsize else 0, _MOST)):
            yield from _parts(inner, offset + i * inner.itemsize, descending, name)
    else:
        type_, of_part, count = _numbers(dtype, name)
        size = dtype.itemsize // count if count else 0
        for i in range(min(count, _MOST)):
            yield Part(offset + i * size, of_part, type_, descending)


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
    pair = isinstance(key, tuple) and len(key) == 2 and key[1] in ("asc", "desc")
    if isinstance(key, str) or pair:
        key = [key]
    for entry in key:
        name, direction = entry if isinstance(entry, tuple) and len(entry) == 2 else (entry, "asc")
        if direction not in ("asc", "desc"):
            raise invalid("%r is neither 'asc' nor 'desc'", direction)
        yield name, direction == "desc"


def parts(dtype, key, reverse):
    """Return the parts of a key for records of this type, the most significant first."""
    if dtype.hasobject:
        raise invalid("records that hold objects of Python cannot be sorted")
    if key is None:
        found = list(_parts(dtype, 0, reverse, "the array"))
    else:
        found = [part for name, descending in _entries(key) for field, at in [_field(dtype, name)]
                 for part in _parts(field, at, descending != reverse, "'%s'" % name)]
    if not found:
        raise invalid("the key is empty")
    return found


def text(part):
    """Return the part in the format of --key."""
    return "%d,%s%s" % (part.offset, part.type, ",desc" if part.descending else "")
