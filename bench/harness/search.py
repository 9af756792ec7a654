# SPDX-License-Identifier: GPL-3.0-or-later
"""The largest number that still fits: no files, no clock, no printing."""


def largest(fits, first, most, tolerance=0.02):
    """Return the largest n from 1 to most for which fits(n) is true, to a relative tolerance, or 0 if there is
    none. The search doubles or halves n from `first` on until fits() changes. Then the interval is halved
    repeatedly. If fits() changes more than once, one of the changes is found; fits(result) was true in any
    case."""
    good, bad = 0, None
    n = max(1, min(first, most))
    while bad is None and good < most:
        if fits(n):
            good, n = n, min(2 * n, most)
        else:
            bad = n
    while bad is not None and bad - good > max(1, tolerance * good):
        n = (good + bad) // 2 if good else bad // 2
        if fits(n):
            good = n
        else:
            bad = n
    return good
