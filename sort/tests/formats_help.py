# SPDX-License-Identifier: GPL-3.0-or-later
"""formats_help.py VERB FORMAT [NUMBER...] - files of the formats of docs/formats.md, by the libraries of their fields.

make    makes the file that the example of the document sorts; NUMBER is the number of records
judge   compares the output of the example with that file; prints "good", or what differs
sort    sorts the file as users of the library do
layout  prints where the first record of a file is, the size of a record, and the number of records"""
import struct
import sys

RECORDS = 2400
CUBE = (12, 20)  # lines and traces


def rng():
    import numpy
    return numpy.random.default_rng(7)


def by(array, *fields):
    """Return the array sorted by fields, the first one first, stably."""
    import numpy
    return array[numpy.lexsort([array[f] for f in reversed(fields)])]


def make_fits(records=RECORDS):
    import numpy
    from astropy.io import fits
    columns = [fits.Column("MASS", "D", array=rng().integers(-500, 500, records) / 8),
               fits.Column("ID", "J", array=rng().integers(0, 2**32, records, "u4"), bzero=2**31),
               fits.Column("NAME", "6A", array=["n%05d" % i for i in range(records)]),
               fits.Column("LIST", "PJ()", array=numpy.array([range(i % 4) for i in range(records)], object))]
    table = fits.BinTableHDU.from_columns(columns)
    fits.HDUList([fits.PrimaryHDU(), table, fits.ImageHDU(numpy.arange(5))]).writeto("table.fits", checksum=True)


def judge_fits():
    from astropy.io import fits
    with fits.open("table.fits", checksum=True) as before, fits.open("sorted.fits", checksum=True) as after:
        yield "rows have 26 bytes", before[1].header["NAXIS1"] == 26
        yield "sums differ", before[1].header["DATASUM"] != after[1].header["DATASUM"]
        for hdu in (*before, *after):
            for word in ("DATASUM", "CHECKSUM"):
                hdu.header.remove(word, ignore_missing=True)
        yield "headers", all(a.header == b.header for a, b in zip(before, after))
        rows = [[(*row[:-1], *row[-1]) for row in f[1].data] for f in (before, after)]
        yield "rows", sorted(rows[0], key=lambda row: row[0]) == rows[1]
        yield "next HDU", (before[2].data == after[2].data).all()


def make_plain(*tables):
    """Write in.ROWS, tables with rows of 16 bytes."""
    import numpy
    from astropy.io import fits
    for rows in tables:
        columns = [fits.Column("MASS", "D", array=rng().integers(-500, 500, rows) / 8), fits.Column("ID", "K", array=numpy.arange(rows))]
        table = fits.BinTableHDU.from_columns(columns)
        fits.HDUList([fits.PrimaryHDU(), table]).writeto(f"in.{rows}", checksum=True)


def judge_plain():
    from astropy.io import fits
    for rows in (5, 180, 1236):
        with fits.open(f"in.{rows}", checksum=True) as before, fits.open(f"sorted.{rows}", checksum=True) as after:
            yield "headers", before[1].header == after[1].header and before[1].fileinfo()["datLoc"] == 5760
            yield "rows", sorted(map(tuple, before[1].data), key=lambda row: row[0]) == list(map(tuple, after[1].data))


def make_segy(lines=CUBE[0], per_line=CUBE[1], samples=50):
    import numpy
    import segyio
    traces = [(i, x) for i in range(1, lines + 1) for x in range(20, 20 + per_line)]
    rng().shuffle(traces)
    values = rng().random(samples, "f4")
    spec = segyio.spec()
    spec.format, spec.samples, spec.tracecount = 1, numpy.arange(samples) * 4.0, len(traces)
    with segyio.create("traces.sgy", spec) as f:
        for t, (inline, crossline) in enumerate(traces):
            f.header[t] = {segyio.su.iline: inline, segyio.su.xline: crossline, segyio.su.offset: 1}
            f.trace[t] = values + 100 * inline + crossline
        f.bin.update(hns=samples, nso=samples)


def judge_segy():
    import segyio
    try:
        segyio.open("traces.sgy").close()
        yield "the input opens as a cube", False
    except (RuntimeError, ValueError):
        pass
    with segyio.open("sorted.sgy") as cube, segyio.open("traces.sgy", ignore_geometry=True) as f:
        yield "header", cube.text[0] == f.text[0] and cube.bin == f.bin
        yield "by inline", cube.sorting == segyio.TraceSortingFormat.INLINE_SORTING
        yield "cube", (list(cube.ilines), list(cube.xlines)) == (list(range(1, 13)), list(range(20, 40)))
        for t, header in enumerate(f.header):
            line, place = header[segyio.su.iline], header[segyio.su.xline] - 20
            yield "trace", (cube.iline[line][place] == f.trace[t]).all()


def make_hdf5(records=RECORDS):
    import h5py
    import numpy
    events = numpy.zeros(records, [("energy", "f8"), ("id", "u4")])
    events["energy"], events["id"] = rng().integers(-99, 99, records) / 8, numpy.arange(records)
    with h5py.File("events.h5", "w") as f:
        f.create_dataset("before", data=numpy.arange(77))
        f.create_dataset("events", data=events, chunks=(100,), compression="gzip").attrs["run"] = 7
        f.create_dataset("after", data=numpy.arange(99))


def judge_hdf5():
    import h5py
    with h5py.File("events.h5") as before, h5py.File("sorted.h5") as after:
        yield "events", (by(before["events"][:], "energy") == after["events"][:]).all()
        yield "attributes", dict(after["events"].attrs) == {"run": 7}
        yield "other datasets", all((before[d][:] == after[d][:]).all() for d in ("before", "after"))


def make_npy(records=RECORDS):
    import numpy
    array = numpy.zeros(records, [("mass", "f8"), ("id", "i4"), ("flag", "u1")])
    array["mass"], array["id"] = rng().integers(-99, 99, records) / 8, numpy.arange(records)
    array["mass"][::50] = numpy.nan
    array["mass"][7::50] = -0.0
    numpy.save("array.npy", array)


def judge_npy():
    import numpy
    yield "items", numpy.load("sorted.npy").tobytes() == by(numpy.load("array.npy"), "mass").tobytes()


def make_las(records=RECORDS):
    import laspy
    las = laspy.create(point_format=1, file_version="1.2")
    las.header.scales = [0.01] * 3
    las.x, las.y, las.z = rng().random((3, records)) * 100
    las.gps_time, las.intensity = rng().integers(-99, 999, records) / 4, rng().integers(0, 65535, records)
    las.write("points.las")


def judge_las():
    import laspy
    before, after = laspy.read("points.las"), laspy.read("sorted.las")
    yield "points", (by(before.points.array, "gps_time") == after.points.array).all()
    yield "header", (before.header.maxs == after.header.maxs).all() and before.header.point_count == after.header.point_count


def nodes_of(records):
    return records // 40


def make_edges(records=RECORDS):
    import numpy
    edges = numpy.zeros((records, 3), "<u4")
    edges[:, :2] = rng().integers(0, nodes_of(records), (records, 2))
    edges.tofile("edges")


def matrix_of(edges):
    """Return the numbers of parallel edges, as a matrix in CSR form with sorted columns."""
    import numpy
    import scipy.sparse
    matrix = scipy.sparse.coo_matrix((numpy.ones(len(edges), "u4"), (edges[:, 0], edges[:, 1])),
                                     shape=2 * [nodes_of(len(edges))]).tocsr()
    matrix.sort_indices()
    return matrix


def read_edges(name):
    import numpy
    return numpy.fromfile(name, "<u4").reshape(-1, 3)


def judge_edges():
    import numpy
    matrix, found = matrix_of(read_edges("edges")), read_edges("sorted.edges")
    yield "columns", numpy.array_equal(matrix.indices, found[:, 1])
    yield "rows", numpy.array_equal(matrix.indptr, numpy.searchsorted(found[:, 0], numpy.arange(matrix.shape[0] + 1)))
    yield "parallel edges", numpy.array_equal(matrix.data, found[:, 2]) and matrix.data.max() > 1


def make_hashes(records=RECORDS):
    import hashlib
    words = ["password"] + ["password%d" % (i % (records * 5 // 6)) for i in range(records)]
    with open("hashes.txt", "w") as text, open("counted.bin", "wb") as counted, open("more.bin", "wb") as more:
        for i, word in enumerate(words):
            digest = hashlib.sha1(word.encode())
            text.write(digest.hexdigest().upper() + "\n")
            (counted if i <= records * 5 // 6 else more).write(digest.digest() + (i % 300).to_bytes(4, "little"))


def judge_hashes():
    import bisect
    with open("hashes.txt") as before, open("sorted.txt") as after:
        lines = after.read().splitlines()
        yield "lines", sorted(set(before.read().splitlines())) == lines
    yield "bisect", lines[bisect.bisect_left(lines, "5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8")].startswith("5BAA61E4")
    counts = {}
    for name in ("counted.bin", "more.bin"):
        for digest, count in counted(name):
            counts[digest] = counts.get(digest, 0) + count
    yield "by hash", counted("byhash.bin") == sorted(counts.items())
    yield "by count", counted("bycount.bin") == sorted(counts.items(), key=lambda r: (-r[1], r[0]))


def counted(name):
    """Read a list of (hash, count)."""
    with open(name, "rb") as f:
        return list(struct.iter_unpack("<20sI", f.read()))


def make_bus(records):
    """Write the file of a run with few barcodes and UMIs, so that some records are copies, as bytes: no library writes it."""
    import numpy
    array = numpy.zeros(records, [("barcode", "<u8"), ("umi", "<u8"), ("ec", "<i4"), ("count", "<u4"), ("flags", "<u8")])
    draw = rng()
    barcodes = draw.integers(0, 1 << 32, 5000, "u8")
    array["barcode"], array["umi"] = barcodes[draw.integers(0, 5000, records)], draw.integers(0, 1 << 20, records)
    array["ec"], array["count"] = array["umi"] % 300, 1
    array[records // 3:records // 2] = array[:records // 2 - records // 3]
    with open("output.bus", "wb") as f:
        f.write(struct.pack("<4s4I4s", b"BUS\0", 1, 16, 10, 4, b"text"))
        draw.permutation(array).tofile(f)


def make_kmers(bases):
    """Write random reads."""
    letters = rng().choice(list(b"ACGT"), (bases // 1000, 1000)).astype("u1")
    with open("reads.fa", "wb") as f:
        for line in letters:
            f.write(b">r\n" + line.tobytes() + b"\n")


def sort_fits(name):
    from astropy.io import fits
    with fits.open(name, memmap=False) as f:
        f[1].data = f[1].data[f[1].data["MASS"].argsort(kind="stable")]
        f.writeto("peer", checksum=True)


def sort_segy(name):
    import numpy
    import segyio
    with segyio.open(name, ignore_geometry=True) as f:
        order = numpy.lexsort([f.attributes(segyio.su.xline)[:], f.attributes(segyio.su.iline)[:]])
        spec = segyio.spec()
        spec.format, spec.samples, spec.tracecount = int(f.format), f.samples, f.tracecount
        with segyio.create("peer", spec) as out:
            out.text[0], out.bin = f.text[0], f.bin
            for to, t in enumerate(order):
                out.header[to], out.trace[to] = f.header[int(t)], f.trace[int(t)]


def sort_hdf5(name):
    import h5py
    with h5py.File(name) as f, h5py.File("peer", "w") as out:
        events = f["events"][:]
        out["events"] = events[events["energy"].argsort(kind="stable")]


def sort_npy(name):
    import numpy
    array = numpy.load(name)
    with open("peer", "wb") as f:
        numpy.save(f, array[array["mass"].argsort(kind="stable")])


def sort_las(name):
    import laspy
    las = laspy.read(name)
    las.points = las.points[las.gps_time.argsort(kind="stable")]
    las.write("peer")


def sort_edges(name):
    import numpy
    matrix = matrix_of(read_edges(name)).tocoo()
    numpy.column_stack([matrix.row, matrix.col, matrix.data]).astype("<u4").tofile("peer")


def layout_fits(name):
    from astropy.io import fits
    with fits.open(name) as f:
        return f[1].fileinfo()["datLoc"], f[1].header["NAXIS1"], f[1].header["NAXIS2"]


def layout_segy(name):
    import segyio
    with segyio.open(name, ignore_geometry=True) as f:
        return 3600, 240 + 4 * len(f.samples), f.tracecount


def layout_hdf5(name):
    import h5py
    with h5py.File(name) as f:
        return f["events"].id.get_offset(), f["events"].dtype.itemsize, len(f["events"])


def layout_npy(name):
    import numpy
    array = numpy.load(name, mmap_mode="r")
    return array.offset, array.strides[0], len(array)


def layout_las(name):
    import laspy
    with laspy.open(name) as f:
        return f.header.offset_to_point_data, f.header.point_format.size, f.header.point_count


def main():
    function = globals()["_".join(sys.argv[1:3])]
    if sys.argv[1] == "judge":
        print(", ".join(sorted({what for what, good in function() if not good})) or "good")
    elif sys.argv[1] == "make":
        function(*map(int, sys.argv[3:]))
    else:
        print(*function(*sys.argv[3:]) or ())


if __name__ == "__main__":
    main()
