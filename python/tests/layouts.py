# SPDX-License-Identifier: GPL-3.0-or-later
"""layouts FIRST END - compare hetsort with a stable sort of numpy, file to file, byte for byte. Each seed draws a
layout of records of 1 to 4096 bytes with 1 to 6 fields, which may overlap, of all types, byte orders and directions.
There are NaN, -0 and many ties, 1 to 5 ranks, both strategies, in memory and spilled to disk."""
import os
import re
import subprocess
import sys

import numpy

import oracle

TYPES = ["u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f4", "f8", "V"]
LEAST_LARGE = 64  # least record size of data larger than memory: numpy would take minutes for shorter ones
LARGE_BYTES, MEMORY_BYTES = 40 << 20, 40 << 20  # of each rank


def draw_field(rng, record_bytes):
    """Return a type of numpy, its offset, and the field in the format of --key, without its direction."""
    kind = str(rng.choice(TYPES))
    size = int(kind[1:] or rng.integers(1, 41))
    if size > record_bytes:
        kind, size = "V", int(rng.integers(1, record_bytes + 1))
    offset = int(rng.integers(0, record_bytes - size + 1))
    if kind[0] == "V":
        return "V%d" % size, offset, "%d,%d" % (offset, size)
    big = bool(rng.integers(2))
    order = "" if size == 1 else ("be" if big else "le")
    return (">" if big else "<") + kind, offset, "%d,%s%d%s" % (offset, kind[0], 8 * size, order)


def draw_layout(rng):
    """Return a dtype of fields that may overlap, [(field, descending)], and the equivalent options."""
    record_bytes = int(rng.integers(1, 1 + (1 << rng.integers(1, 13))))
    fields = [draw_field(rng, record_bytes) for _ in range(rng.integers(1, 7))]
    names = ["f%d" % i for i in range(len(fields))]
    dtype = numpy.dtype({"names": names, "formats": [f[0] for f in fields], "offsets": [f[1] for f in fields],
                         "itemsize": record_bytes})
    key = [(name, bool(rng.integers(2))) for name in names]
    reverse = rng.integers(4) == 0
    options = ["--record-size", str(record_bytes)] + (["--reverse"] if reverse else [])
    for field, (_, descending) in zip(fields, key):
        options += ["--key", field[2] + (",desc" if descending != reverse else "")]
    return dtype, key, options


def draw_records(rng, dtype, n):
    """Draw records; in some arrays all bytes are 0 or 255, so that keys are often equal."""
    array = numpy.zeros(n, dtype)
    if n > 0:
        high = rng.choice([2, 256])
        raw = rng.integers(0, high, (n, dtype.itemsize), "u1") * (255 // (high - 1))
        array.view("u1").reshape(n, dtype.itemsize)[:] = raw
        for name in dtype.names:
            if rng.integers(2):
                oracle.fill(rng, array[name])
    return array


def how(seed, record_bytes):
    """Return options, and the number of bytes to sort. Runs in --workdir are always on disk; with distribute, only
    records that do not fit into memory are."""
    ranks, distributes = 1 + seed % 5, seed // 5 % 2
    options = ["--ranks", str(ranks), "--strategy", "distribute" if distributes else "merge"]
    if not distributes and seed // 10 % 2:
        return options + ["--workdir", "runs"], None
    if distributes and seed % 100 >= 95 and record_bytes >= LEAST_LARGE:
        return options + ["--memory", str(MEMORY_BYTES * ranks)], LARGE_BYTES * ranks
    return options, None


def sort(seed):
    """Return the error or None, and whether runs were on disk."""
    rng = numpy.random.default_rng(seed)
    dtype, key, layout = draw_layout(rng)
    options, large = how(seed, dtype.itemsize)
    array = draw_records(rng, dtype, large // dtype.itemsize if large else int(rng.integers(0, 3000)))
    array.tofile("in")
    os.makedirs("runs", exist_ok=True)
    command = [os.environ["HETSORT_PROGRAM"], "--no-fsync", "--stable", "--force", "-o", "out", "--report", "report"]
    done = subprocess.run(command + options + layout + ["in"], capture_output=True, text=True)
    if done.returncode != 0:
        return "status %d: %s" % (done.returncode, done.stderr.strip()), False
    with open("report") as report, open("out", "rb") as out:
        spilled = re.search('"spill_runs": [1-9]', report.read()) is not None
        if oracle.raw(array)[oracle.order(array, key)].tobytes() != out.read():
            return "the output differs from numpy's: " + " ".join(options + layout), spilled
    if len(array) > 0 and len(options) > 4 and not spilled:
        return "it was not on disk: " + " ".join(options + layout), spilled
    return None, spilled


def main():
    first, end = (int(word) for word in sys.argv[1:3])
    failed = on_disk = 0
    for seed in range(first, end):
        why, spilled = sort(seed)
        on_disk += spilled
        if why:
            print("# seed %d: %s" % (seed, why))
            failed += 1
    print("# on disk: %d" % on_disk)
    print("%d layouts, %d differences" % (end - first, failed))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
