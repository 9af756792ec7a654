# SPDX-License-Identifier: GPL-3.0-or-later
"""Statistics of samples: no files, no clock, no printing."""

import math


def median(values):
    """The value in the middle; of an even number the mean of the two there."""
    v = sorted(values)
    if not v:
        raise ValueError("no samples")
    mid = len(v) // 2
    return v[mid] if len(v) % 2 else (v[mid - 1] + v[mid]) / 2


def summary(values):
    """Median, least and most."""
    return {"median": median(values), "min": min(values), "max": max(values), "samples": len(values)}


def round_ratios(samples, base):
    """Ratios of two commands, round by round: {round: value} each; rounds that both have."""
    return [samples[r] / base[r] for r in sorted(samples) if r in base]


def _ways(n, m):
    """ways[u]: in how many orders of n + m distinct values just u pairs (a, b) have a > b."""
    ways = {(0, j): [1] for j in range(m + 1)}
    for i in range(1, n + 1):
        for j in range(m + 1):
            # The largest value is an a, and above all j of b, or it is a b.
            row = [0] * (i * j + 1)
            for u, w in enumerate(ways[i - 1, j]):
                row[u + j] += w
            if j:
                for u, w in enumerate(ways[i, j - 1]):
                    row[u] += w
            ways[i, j] = row
    return ways[n, m]


def chance(a, b):
    """Exact two-sided Mann-Whitney test: how often samples of one and the same distribution lie at
    least as far apart as a and b do. A tie counts half, which errs towards 'the same'."""
    n, m = len(a), len(b)
    if not n or not m:
        return 1.0
    u = sum(1.0 if x > y else 0.5 if x == y else 0.0 for x in a for y in b)
    least = math.ceil(min(u, n * m - u))
    tail = sum(_ways(n, m)[:least + 1])
    return min(1.0, 2 * tail / math.comb(n + m, n))


def verdict(a, b, level=0.02):
    """Is b slower or faster than a, beyond the noise of these samples?"""
    if 2 / math.comb(len(a) + len(b), len(a)) > level:
        return "too few samples"
    if chance(a, b) > level:
        return "within the noise"
    return "slower" if median(b) > median(a) else "faster"
