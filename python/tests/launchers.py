# SPDX-License-Identifier: GPL-3.0-or-later
"""launchers.py MODE - sort the file "in" by sort_file() and its records by the library, and print one line that says
the result. MODE: plain; mpi, after the start of MPI; one, where only the first rank of the caller's job sorts;
nested MPIRUN..., which sorts on ranks of a job of their own."""
import sys

import hetsort
import numpy

mode, launcher = sys.argv[1], sys.argv[2:]
rank = 0
if mode != "plain":
    from mpi4py import MPI

    rank = MPI.COMM_WORLD.rank
if mode != "one" or rank == 0:
    wanted = open("sorted", "rb").read()
    output = "out.%d" % rank
    report = hetsort.sort_file("in", output, force=True, launcher=launcher if mode == "nested" else ())
    kind = numpy.dtype([("key", "V10"), ("rest", "V90")])
    by_library = hetsort.sort(numpy.fromfile("in", kind), "key").tobytes()
    print("rank %d: %d rank%s, file %s, library %s\n" % (
        rank, len(report["ranks"]), "s"[:len(report["ranks"]) - 1], open(output, "rb").read() == wanted,
        by_library == wanted), end="", flush=True)
if mode != "plain":
    MPI.COMM_WORLD.Barrier()
