# SPDX-License-Identifier: GPL-3.0-or-later
"""Test points of bench/harness/stats.py and of the figures that rest on it, as TAP."""

import itertools
import os
import random
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["ROOT"], "bench"))
from harness import job, journal, stats  # noqa: E402

points = []


def point(name, good):
    points.append(good)
    print(f"{'ok' if good else 'not ok'} {len(points)} - {name}")


def raises(call):
    try:
        call()
    except ValueError:
        return True
    return False


def by_counting(a, b):
    """The same test by going through all ways to deal the samples out."""
    def u(x, y):
        return sum(1.0 if p > q else 0.5 if p == q else 0.0 for p in x for q in y)
    middle, pool, hits, ways = len(a) * len(b) / 2, a + b, 0, 0
    for pick in itertools.combinations(range(len(pool)), len(a)):
        x = [pool[i] for i in pick]
        y = [pool[i] for i in range(len(pool)) if i not in pick]
        hits += abs(u(x, y) - middle) >= abs(u(a, b) - middle)
        ways += 1
    return hits / ways


point("median of one", stats.median([7]) == 7)
point("median of an odd number, unsorted", stats.median([9, 1, 5]) == 5)
point("median of an even number", stats.median([4, 1, 3, 100]) == 3.5)
point("median of two", stats.median([1, 2]) == 1.5)
point("median of none is refused", raises(lambda: stats.median([])))
mine = [3, 1, 2]
stats.median(mine)
point("median leaves its argument as it is", mine == [3, 1, 2])
point("median takes any iterable", stats.median(x for x in (2, 1, 3)) == 2)
point("quantiles of one", stats.quantile([7], 0.05) == 7)
point("quantiles, unsorted", [stats.quantile([9, 1, 5], q) for q in (0, 0.25, 0.5, 1)] == [1, 3, 5, 9])
point("geometric mean", abs(stats.geometric_mean([1, 2, 4]) - 2) < 1e-12)
point("summary", stats.summary([2, 8, 4]) == {"median": 4, "min": 2, "max": 8, "samples": 3})
point("ratios by round", stats.round_ratios({0: 4, 1: 9}, {1: 3, 0: 2}) == [2, 3])
point("a round that one side lacks is omitted", stats.round_ratios({0: 4, 2: 9}, {0: 2, 1: 1}) == [2])

seed = int(os.environ.get("SEED", random.SystemRandom().randrange(1 << 30)))
print(f"# SEED={seed}")
rng = random.Random(seed)
same = True
for _ in range(60):
    n, m = rng.randint(1, 5), rng.randint(1, 5)
    pool = rng.sample(range(1000), n + m)
    x, y = pool[:n], pool[n:]
    same &= abs(stats.chance(x, y) - min(1, by_counting(x, y))) < 1e-12
    same &= stats.chance(x, y) == stats.chance(y, x)
point("chance equals a count of all orders, from either side", same)
ties = True
for _ in range(60):
    x = [rng.randint(0, 3) for _ in range(rng.randint(1, 5))]
    y = [rng.randint(0, 3) for _ in range(rng.randint(1, 5))]
    ties &= 0 < stats.chance(x, y) <= 1
point("ties give a chance too", ties)
point("equal samples are the same", stats.chance([1] * 6, [1] * 6) == 1)
point("without samples nothing differs", stats.chance([], [1, 2]) == 1)
point("five against five, apart: 2 of 252", stats.chance([1, 2, 3, 4, 5], [6, 7, 8, 9, 10]) == 2 / 252)
point("slower", stats.verdict([1, 2, 3, 4, 5], [6, 7, 8, 9, 10]) == "slower")
point("faster", stats.verdict([6, 7, 8, 9, 10], [1, 2, 3, 4, 5]) == "faster")
point("within the noise", stats.verdict([1, 3, 5, 7, 9], [2, 4, 6, 8, 10]) == "within the noise")
point("one sample each is too few", stats.verdict([1], [100]) == "too few samples")
point("four samples each are too few", stats.verdict([1] * 4, [100] * 4) == "too few samples")

point("ratio", stats.ratio(3, 2) == 1.5)
point("no ratio to nothing", [stats.ratio(1, b) for b in (0, -1, None)] == [None] * 3 and stats.ratio(None, 1) is None)

point("numbers as text", [journal.number(v, ".1f", " %") for v in (2, -0.25, None, float("nan"), float("inf"))]
      == ["2.0 %", "-0.2 %", "-", "-", "-"])
made = journal.Journal("finite.jsonl", "points", job.BIN)
made.line("sample", value=float("nan"), values=(1.5, float("-inf")), of={"a": float("inf")}, name="nan")
made.close()
line = journal.read("finite.jsonl")[1]
point("JSON has no NaN", [line[k] for k in ("value", "values", "of", "name")] == [None, [1.5, None], {"a": None}, "nan"])

print(f"1..{len(points)}")
sys.exit(0 if all(points) and points else 1)
