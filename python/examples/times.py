#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""times.py [RECORDS [PICTURE]] - a notebook, to be read cell by cell. It compares the times and the
results of hetsort and numpy, plans the shares of four nodes, and draws both into PICTURE (times.png)."""
# %% Make particles, to be sorted by mass, the heaviest first, and by number.
import sys
import time

import hetpart
import hetsort
import matplotlib
import numpy

RECORDS = int(float(sys.argv[1])) if len(sys.argv) > 1 else 1000000
PICTURE = sys.argv[2] if len(sys.argv) > 2 else "times.png"
KEY = [("mass", "desc"), "number"]

rng = numpy.random.default_rng(1)
particles = numpy.zeros(RECORDS, [("mass", "f8"), ("number", "u8"), ("place", "f4", 3)])
particles["mass"] = rng.integers(1, 1000, RECORDS) / 8
particles["number"] = rng.permutation(RECORDS)


# %% Measure the time of hetsort and of numpy.
def by_hetsort(records):
    return hetsort.sort(records, KEY)


def by_numpy(records):
    return records[numpy.lexsort((records["number"], -records["mass"]))]


def seconds(way, records):
    begin = time.perf_counter()
    way(records)
    return time.perf_counter() - begin


assert (by_hetsort(particles) == by_numpy(particles)).all()
sizes = [RECORDS // 8, RECORDS // 4, RECORDS // 2, RECORDS]
taken = {way: [seconds(way, particles[:n]) for n in sizes] for way in (by_hetsort, by_numpy)}
for way, times in taken.items():
    print("%-10s %s s" % (way.__name__, " ".join("%.3g" % t for t in times)))

# %% Plan shares for nodes of unequal speed, so that all finish together.
speeds = numpy.array([1, 1, 2, 4])
plan = hetpart.share(RECORDS, speeds, hetpart.nlogn())
print("shares", plan.shares)

# %% Draw the times and the shares.
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402, after the choice of the backend

figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
for way, times in taken.items():
    left.plot(sizes, times, "o-", label=way.__name__.replace("_", " "))
left.set(xlabel="records of 28 bytes", ylabel="seconds", title="sorted by mass and number")
left.legend()
right.bar(range(len(speeds)), numpy.asarray(plan), tick_label=["speed %g" % s for s in speeds])
right.set(ylabel="records", title="shares of four nodes")
figure.savefig(PICTURE)
