# SPDX-License-Identifier: GPL-3.0-or-later
"""over_ranks.py - mpi_python.sh starts this on several ranks: what each sorts, all compare with numpy."""
import os

import hetsort
import numpy
import oracle
from mpi4py import MPI

WORLD = MPI.COMM_WORLD
SEED = int(os.environ["SEED"])
checks = failures = 0


def check(good, what):
    global checks, failures
    checks += 1
    if not good:
        failures += 1
        print("# rank %d, SEED=%d: %s" % (WORLD.rank, SEED, what), flush=True)


def parts(rng, total, ranks):
    cuts = numpy.sort(rng.integers(0, total + 1, ranks - 1))
    return numpy.diff([0, *cuts, total])


def slices(array, counts, rank):
    first = int(sum(counts[:rank]))
    return array[first:first + int(counts[rank])]


def one(comm, kind):
    """All ranks make the same records, and know what each must receive."""
    rng = numpy.random.default_rng([SEED, kind])
    array, key = oracle.records(rng, int(rng.choice([0, 1, 100, 3000])))
    counts, wished = parts(rng, len(array), comm.size), parts(rng, len(array), comm.size)
    weights = 1 + rng.integers(3, size=comm.size)
    way = ["numpy", "total"][kind % 2]
    wanted, mine = oracle.order(array, key, way), slices(array, counts, comm.rank)
    key, what = oracle.as_key(key), "kind %d over %d ranks" % (kind, comm.size)
    try:
        out = hetsort.sort(mine, key, comm, out=numpy.empty(wished[comm.rank], array.dtype), order=way)
    except hetsort.Error as reason:
        return check("16 fields" in str(reason) or "256" in str(reason), str(reason))
    check(oracle.raw(out).tobytes() == slices(oracle.raw(array)[wanted], wished, comm.rank).tobytes(), what)
    for weights_ in None, weights:
        out = hetsort.sort(mine, key, comm, speeds=weights_, threads=2, order=way)
        got = comm.allgather(len(out))
        share = numpy.ones(comm.size) if weights_ is None else weights_
        check((abs(got - share / share.sum() * len(array)) < comm.size).all(), what + ": shares")
        check(oracle.raw(out).tobytes() == slices(oracle.raw(array)[wanted], got, comm.rank).tobytes(), what)
        places = hetsort.argsort(mine, key, comm, weights_, order=way)
        check((places == slices(wanted, got, comm.rank)).all(), what + ": argsort")
        back = hetsort.apply(mine, places, comm)
        check(oracle.raw(back).tobytes() == slices(oracle.raw(array)[wanted], got, comm.rank).tobytes(), what + ": apply")
        column = numpy.arange(3 * len(array), dtype="f4").reshape(-1, 3)
        back = numpy.empty((len(places), 3), "f4")
        hetsort.apply(slices(column, counts, comm.rank), places[::-1].astype("u4"), comm, back, threads=2)
        check((back[::-1] == slices(column[wanted], got, comm.rank)).all(), what + ": apply to rows")


def fails(kind, rank, text, function):
    try:
        function()
    except kind as reason:
        return check((getattr(reason, "rank", None), text in str(reason)) == (rank, True), repr(reason))
    check(False, "not refused: " + text)


def misuse(bad):
    """Only one rank makes a mistake: it raises its own exception, and the others name it."""
    me, array = WORLD.rank == bad, numpy.arange(10)
    for kind, text, function in [
            (hetsort.InvalidError, "2 dimensions", lambda: hetsort.sort(numpy.zeros((2, 2)) if me else array, comm=WORLD)),
            (hetsort.InvalidError, "objects", lambda: hetsort.argsort(array.astype("O") if me else array, comm=WORLD)),
            (hetsort.InvalidError, "only in an array", lambda: hetsort.sort(array.astype("g") if me else array, comm=WORLD)),
            (hetsort.InvalidError, "axis is None", lambda: hetsort.argsort(array, comm=WORLD, axis=None if me else 0)),
            (ValueError, "sort kind", lambda: hetsort.sort(array, comm=WORLD, kind="bogo" if me else "stable")),
            (hetsort.InvalidError, "speeds and weights", lambda: hetsort.sort(
                array, comm=WORLD, weights=numpy.ones(WORLD.size), speeds=numpy.ones(WORLD.size) if me else None)),
            (hetsort.InvalidError, "threads is '9999'", lambda: hetsort.sort(array, comm=WORLD, threads=9999 if me else 1)),
            (hetsort.InvalidError, "weights are 9 numbers", lambda: hetsort.sort(
                array, comm=WORLD, weights=numpy.ones(9 if me else WORLD.size))),
            (hetsort.InvalidError, "out is not contiguous", lambda: hetsort.sort(
                array, comm=WORLD, out=numpy.empty(20, int)[::2 if me else 1][:10])),
            (hetsort.InvalidError, "not an array of 1 dimension of", lambda: hetsort.sort(
                array, comm=WORLD, out=None if not me else "x")),
            (hetsort.InvalidError, "order[1] is '%d'" % (10 * WORLD.size), lambda: hetsort.apply(
                array, [0, 10 * WORLD.size if me else 9, 1], WORLD)),
            (hetsort.InvalidError, "the place '-3'", lambda: hetsort.apply(array, [0, -3 if me else 3], WORLD)),
            (hetsort.InvalidError, "dimension of integers", lambda: hetsort.apply(array, [0, 1.5 if me else 1], WORLD)),
            (hetsort.InvalidError, "out has shape (3,), not (2,)", lambda: hetsort.apply(
                array, [0, 1], WORLD, out=numpy.empty(3 if me else 2, array.dtype))),
            (hetsort.InvalidError, "objects of Python", lambda: hetsort.apply(
                numpy.array([None]) if me else array, [0, 1], WORLD))]:
        fails(kind if me else hetsort.PeerError, bad, text if me else "rank %d: " % bad, function)
    if WORLD.size > 1:
        fails(hetsort.InvalidError, None, "only on some ranks", lambda: hetsort.sort(
            array, comm=WORLD, out=numpy.empty(10, int) if me else None))
    fails(hetsort.InvalidError, WORLD.rank, "n_out over all ranks is '0'", lambda: hetsort.sort(array, comm=WORLD, out=array[:0].copy()))
    fails(hetsort.InvalidError, None, "not an intracommunicator", lambda: hetsort.sort(array, comm="x"))
    check(hetsort.apply(array, [], WORLD).shape == (0,) and hetsort.apply(array[:0], [], WORLD).size == 0, "no places")


def main():
    for kind in range(30):
        one(WORLD, kind)
    half = WORLD.Split(WORLD.rank % 2)
    for kind in range(5):
        one(half, kind)
    half.Free()
    for bad in range(WORLD.size):
        misuse(bad)
    of_all = WORLD.gather("%d checks, %d failed" % (checks, failures))
    if of_all:  # the launcher may join lines of several ranks
        print("\n".join(of_all), flush=True)


main()
