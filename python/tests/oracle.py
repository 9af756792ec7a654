# SPDX-License-Identifier: GPL-3.0-or-later
"""oracle - random records, and their order by numpy only: numbers are converted to unsigned ones of the same
total order, or to columns of numpy's order, then sorted by numpy.lexsort(), which is stable."""
import numpy

TYPES = ["?", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8", "c8", "c16", "S3", "V5", "U2",
         "M8[s]", "m8[ms]"]
_ODD = [0.0, -0.0, 1.5, -1.5, numpy.inf, -numpy.inf, numpy.nan, -numpy.nan, 5e-324, 1e-45]


def columns(values):
    """Return unsigned numbers with the order of the values, the most significant column first."""
    dtype = values.dtype
    if dtype.names is not None:
        return [c for name in dtype.names for c in columns(values[name])]
    if values.ndim > 1:
        flat = values.reshape(len(values), values.shape[1])
        return [c for i in range(flat.shape[1]) for c in columns(flat[:, i])]
    if dtype.kind in "SV":
        return list(numpy.ascontiguousarray(values).view("u1").reshape(len(values), dtype.itemsize).T)
    if dtype.kind == "U":
        rows = numpy.ascontiguousarray(values).view(dtype.str[0] + "u4")
        return list(rows.reshape(len(values), dtype.itemsize // 4).T)
    if dtype.kind == "c":
        return columns(values.real) + columns(values.imag)
    bits = values.astype(dtype.newbyteorder("=")).view("u%d" % dtype.itemsize)
    sign = bits.dtype.type(1 << (8 * dtype.itemsize - 1))
    if dtype.kind == "f":
        return [numpy.where(bits & sign, ~bits, bits | sign)]
    return [bits ^ sign if dtype.kind in "iMm" else bits]


def numpy_columns(values, descending):
    """Return columns with numpy's order of the values, in either direction: NaN and NaT come last."""
    dtype = values.dtype
    if dtype.names is not None:
        return [c for name in dtype.names for c in numpy_columns(values[name], descending)]
    if dtype.kind not in "fcmM":
        return [~c if descending else c for c in columns(values)]
    if values.ndim > 1:
        flat = values.reshape(len(values), values.shape[1])
        return [c for i in range(flat.shape[1]) for c in numpy_columns(flat[:, i], descending)]
    if dtype.kind in "mM":
        nat, ticks = numpy.isnat(values), values.astype(dtype.newbyteorder("=")).view("i8")
        return [nat, numpy.where(nat, 0, ~ticks if descending else ticks)]
    parts = [values.real, values.imag] if dtype.kind == "c" else [values]
    known = [numpy.where(numpy.isnan(p), 0, -p if descending else p) for p in parts]
    return [numpy.isnan(p) for p in parts] + known


def order(array, key, order="total"):
    """Return the order of the records by [(field, descending)]; field None means all fields."""
    found = []
    for name, descending in key:
        values = array if name is None else array[name]
        if order == "numpy":
            found += numpy_columns(values, descending)
        else:
            found += [~column if descending else column for column in columns(values)]
    return numpy.lexsort(found[::-1])


def fill(rng, array):
    """Fill an array with values that are often equal, and with special values of floats."""
    dtype = array.dtype
    if dtype.names is not None:
        for name in dtype.names:
            fill(rng, array[name])
    elif dtype.kind in "mM":
        array[...] = rng.integers(-2, 3, array.shape).astype("m8" if dtype.kind == "m" else "i8").astype(dtype)
        array[rng.random(array.shape) < .2] = "NaT"
    elif dtype.kind in "fc":
        few = rng.choice(_ODD, array.shape)
        array[...] = few if rng.integers(2) else numpy.where(
            rng.integers(3, size=array.shape) == 0, few, rng.normal(size=array.shape))
        if dtype.kind == "c":
            array.imag = rng.choice(_ODD, array.shape)
    elif dtype.kind == "U":
        array[...] = rng.choice(["", "a", "ab", "b", "\u0101", "\U00010101"], array.shape)
    elif dtype.kind in "SV":
        raw = rng.integers(0, rng.choice([2, 256]), array.shape + (dtype.itemsize,), "u1")
        array[...] = numpy.ascontiguousarray(raw).view(dtype).reshape(array.shape)
    else:
        raw = rng.integers(0, 256, array.shape + (dtype.itemsize,), "u1")
        raw[..., rng.integers(2) * dtype.itemsize // 2:] = rng.integers(2) * 255
        values = raw.view("u%d" % dtype.itemsize).reshape(array.shape)
        array[...] = values & 1 if dtype.kind == "b" else values.view(dtype)


def records(rng, n):
    """Return an array of records of random fields, and a key: [(field, descending)]."""
    fields = []
    for i in range(rng.integers(1, 7)):
        type_ = rng.choice(TYPES)
        if type_ not in ("?", "u1", "i1", "S3", "V5"):
            type_ = rng.choice(["<", ">"]) + type_
        fields.append(("f%d" % i, type_) + (((2,),) if rng.integers(4) == 0 else ()))
    if rng.integers(4) == 0:
        fields[-1:] = [("f%d" % (len(fields) - 1), fields[-1:])]
    array = numpy.zeros(n, numpy.dtype(fields, align=bool(rng.integers(2))))
    fill(rng, array)
    names = rng.permutation([f[0] for f in fields])[:rng.integers(1, 4)]
    return array, [(str(name), bool(rng.integers(2))) for name in names]


def as_key(key):
    """Return the key in the format of hetsort."""
    return [(name, "desc") if descending else name for name, descending in key]


def raw(array):
    """Return the bytes of records, including padding between their fields."""
    return array.view("V%d" % array.dtype.itemsize)
