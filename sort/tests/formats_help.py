# SPDX-License-Identifier: GPL-3.0-or-later
"""formats_help.py make|judge FORMAT - makes the file that an example of docs/formats.md sorts, with the library that its
field uses, and judges the result with the same library. A judge prints "good", or what differs."""
import sys

RECORDS = 2400


def rng():
    import numpy
    return numpy.random.default_rng(7)


def by(array, *fields):
    """Return the array sorted by fields, the first one first, stably."""
    import numpy
    return array[numpy.lexsort([array[f] for f in reversed(fields)])]


def make_fits():
    import numpy
    from astropy.io import fits
    columns = [fits.Column("MASS", "D", array=rng().integers(-500, 500, RECORDS) / 8),
               fits.Column("ID", "J", array=rng().integers(0, 2**32, RECORDS, "u4"), bzero=2**31),
               fits.Column("NAME", "6A", array=["n%05d" % i for i in range(RECORDS)]),
               fits.Column("LIST", "PJ()", array=numpy.array([range(i % 4) for i in range(RECORDS)], object))]
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


def make_plain():
    """Write tables with rows of 16 bytes."""
    from astropy.io import fits
    for rows in (5, 180, 1236):
        columns = [fits.Column("MASS", "D", array=rng().integers(-500, 500, rows) / 8), fits.Column("ID", "K", array=range(rows))]
        table = fits.BinTableHDU.from_columns(columns)
        fits.HDUList([fits.PrimaryHDU(), table]).writeto(f"in.{rows}", checksum=True)


def judge_plain():
    from astropy.io import fits
    for rows in (5, 180, 1236):
        with fits.open(f"in.{rows}", checksum=True) as before, fits.open(f"sorted.{rows}", checksum=True) as after:
            yield "headers", before[1].header == after[1].header and before[1].fileinfo()["datLoc"] == 5760
            yield "rows", sorted(map(tuple, before[1].data), key=lambda row: row[0]) == list(map(tuple, after[1].data))


def make_segy():
    import numpy
    import segyio
    traces = [(i, x) for i in range(1, 13) for x in range(20, 40)]
    rng().shuffle(traces)
    spec = segyio.spec()
    spec.format, spec.samples, spec.tracecount = 1, numpy.arange(50) * 4.0, len(traces)
    with segyio.create("traces.sgy", spec) as f:
        for t, (inline, crossline) in enumerate(traces):
            f.header[t] = {segyio.su.iline: inline, segyio.su.xline: crossline, segyio.su.offset: 1}
            f.trace[t] = rng().random(50, "f4") + 100 * inline + crossline
        f.bin.update(hns=50, nso=50)


def judge_segy():
    import segyio
    try:
        segyio.open("traces.sgy").close()
        yield "the input opens as a cube", False
    except (RuntimeError, ValueError):
        pass
    with segyio.open("sorted.sgy") as cube, segyio.open("traces.sgy", ignore_geometry=True) as f:
        yield "header", cube.text[0] == f.text[0] and cube.bin == f.bin
        yield "cube", (list(cube.ilines), list(cube.xlines)) == (list(range(1, 13)), list(range(20, 40)))
        for t, header in enumerate(f.header):
            line, place = header[segyio.su.iline], header[segyio.su.xline] - 20
            yield "trace", (cube.iline[line][place] == f.trace[t]).all()


def make_hdf5():
    import h5py
    import numpy
    events = numpy.zeros(RECORDS, [("energy", "f8"), ("id", "u4")])
    events["energy"], events["id"] = rng().integers(-99, 99, RECORDS) / 8, numpy.arange(RECORDS)
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


def make_npy():
    import numpy
    array = numpy.zeros(RECORDS, [("mass", "f8"), ("id", "i4"), ("flag", "u1")])
    array["mass"], array["id"] = rng().integers(-99, 99, RECORDS) / 8, numpy.arange(RECORDS)
    numpy.save("array.npy", array)


def judge_npy():
    import numpy
    yield "items", (numpy.load("sorted.npy") == by(numpy.load("array.npy"), "mass")).all()


def make_las():
    import laspy
    las = laspy.create(point_format=1, file_version="1.2")
    las.header.scales = [0.01] * 3
    las.x, las.y, las.z = rng().random((3, RECORDS)) * 100
    las.gps_time, las.intensity = rng().integers(-99, 999, RECORDS) / 4, rng().integers(0, 65535, RECORDS)
    las.write("points.las")


def judge_las():
    import laspy
    before, after = laspy.read("points.las"), laspy.read("sorted.las")
    yield "points", (by(before.points.array, "gps_time") == after.points.array).all()
    yield "header", (before.header.maxs == after.header.maxs).all() and before.header.point_count == after.header.point_count


def make_edges():
    import numpy
    edges = numpy.zeros((RECORDS, 3), "<u4")
    edges[:, :2] = rng().integers(0, 60, (RECORDS, 2))
    edges.tofile("edges")


def judge_edges():
    import numpy
    import scipy.sparse
    edges, found = (numpy.fromfile(name, "<u4").reshape(-1, 3) for name in ("edges", "sorted.edges"))
    matrix = scipy.sparse.coo_matrix((numpy.ones(RECORDS, "u4"), (edges[:, 0], edges[:, 1])), shape=(60, 60)).tocsr()
    matrix.sort_indices()
    yield "columns", numpy.array_equal(matrix.indices, found[:, 1])
    yield "rows", numpy.array_equal(matrix.indptr, numpy.searchsorted(found[:, 0], numpy.arange(61)))
    yield "parallel edges", numpy.array_equal(matrix.data, found[:, 2]) and matrix.data.max() > 1


def make_hashes():
    import hashlib
    words = ["password"] + ["password%d" % (i % 2000) for i in range(RECORDS)]
    with open("hashes.txt", "w") as text, open("counted.bin", "wb") as binary:
        for i, word in enumerate(words):
            digest = hashlib.sha1(word.encode())
            text.write(digest.hexdigest().upper() + "\n")
            if i <= 2000:
                binary.write(digest.digest() + (i % 300).to_bytes(4, "little"))


def judge_hashes():
    import bisect
    with open("hashes.txt") as before, open("sorted.txt") as after:
        lines = after.read().splitlines()
        yield "lines", sorted(set(before.read().splitlines())) == lines
    yield "bisect", lines[bisect.bisect_left(lines, "5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8")].startswith("5BAA61E4")
    records = {}
    for name in ("counted.bin", "byhash.bin", "bycount.bin"):
        with open(name, "rb") as f:
            records[name] = [tuple(iter(lambda: f.read(24), b""))][0]
    yield "by hash", tuple(sorted(records["counted.bin"])) == records["byhash.bin"]
    count = lambda r: (-int.from_bytes(r[20:], "little"), r[:20])  # noqa: E731
    yield "by count", tuple(sorted(records["counted.bin"], key=count)) == records["bycount.bin"]


def main():
    function = globals()["_".join(sys.argv[1:])]
    if sys.argv[1] == "make":
        function()
    else:
        wrong = sorted({what for what, good in function() if not good})
        print(", ".join(wrong) or "good")


if __name__ == "__main__":
    main()
