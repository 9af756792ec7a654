# SPDX-License-Identifier: GPL-3.0-or-later
"""Statistics of samples: no files, no clock, no printing."""

import math


def median(values):
    """Return the median. For an even number of values, this is the mean of the two in the middle."""
    v = sorted(values)
    if not v:
        raise ValueError("no samples")
    mid = len(v) // 2
    return v[mid] if len(v) % 2 else (v[mid - 1] + v[mid]) / 2


def quantile(values, part):
    """Return the value below which this part of the values is, interpolated between the two nearest."""
    v = sorted(values)
    at = part * (len(v) - 1)
    low = math.floor(at)
    return v[low] + (at - low) * (v[min(low + 1, len(v) - 1)] - v[low])


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def summary(values):
    """Return median, minimum and maximum."""
    return {"median": median(values), "min": min(values), "max": max(values), "samples": len(values)}


def ratio(a, b):
    """Return a / b, or None if one of them is missing or b is not above 0."""
    return a / b if a is not None and b is not None and b > 0 else None


def round_ratios(samples, base):
    """Return the ratios of two commands, both as {round: value}, for the rounds that both have."""
    return [samples[r] / base[r] for r in sorted(samples) if r in base]


def _ways(n, m):
    """Return a list: entry u is the number of orders of n values a and m values b, all distinct, in which u pairs
    (a, b) have a > b."""
    ways = {(0, j): [1] for j in range(m + 1)}
    for i in range(1, n + 1):
        for j in range(m + 1):
            # Either the largest value is an a, which is above all j values b, or it is a b.
            row = [0] * (i * j + 1)
            for u, w in enumerate(ways[i - 1, j]):
                row[u + j] += w
            if j:
                for u, w in enumerate(ways[i, j - 1]):
                    row[u] += w
            ways[i, j] = row
    return ways[n, m]


def chance(a, b):
    """Return the probability, by the exact two-sided Mann-Whitney test, that samples of the same distribution
    differ at least as much as a and b. A tie counts half, which raises this probability."""
    n, m = len(a), len(b)
    if not n or not m:
        return 1.0
    u = sum(1.0 if x > y else 0.5 if x == y else 0.0 for x in a for y in b)
    least = math.ceil(min(u, n * m - u))
    tail = sum(_ways(n, m)[:least + 1])
    return min(1.0, 2 * tail / math.comb(n + m, n))


def verdict(a, b, level=0.02):
    """Return in words whether b is slower or faster than a, beyond the noise of these samples."""
    if 2 / math.comb(len(a) + len(b), len(a)) > level:
        return "too few samples"
    if chance(a, b) > level:
        return "within the noise"
    return "slower" if median(b) > median(a) else "faster"
