# SPDX-License-Identifier: GPL-3.0-or-later
"""Test points of bench/harness/search.py, as TAP."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["ROOT"], "bench"))
from harness import search  # noqa: E402

bad, tries, points = 0, 0, 0


def point(name, good):
    global points, bad
    points += 1
    bad += not good
    print(f"{'ok' if good else 'not ok'} {points} - {name}")


def search_for(turn, first, most, tolerance):
    """Return the number found if all numbers up to `turn` fit, and check that all tries are allowed."""
    tried = []

    def fits(n):
        tried.append(n)
        return n <= turn
    found = search.largest(fits, first, most, tolerance)
    legal = all(1 <= n <= most for n in tried) and len(tried) == len(set(tried))
    return found, legal, len(tried)


exact = near = quick = legal = True
for turn in (0, 1, 2, 3, 7, 63, 64, 65, 1000, 999983):
    for first in (1, 2, 5, 64, 1000, 10**7):
        for most in (1, 2, 64, 1000, 10**6):
            want = min(turn, most)
            found, fine, count = search_for(turn, first, most, 1e-9)
            exact &= found == want
            legal &= fine
            quick &= count <= 45
            found, fine, _ = search_for(turn, first, most, 0.1)
            near &= found <= want and want - found <= max(1, 0.1 * found)
            legal &= fine
point("without tolerance the turn itself", exact)
point("within the tolerance otherwise, and never above", near)
point("nothing is tried twice, below 1 or above the limit", legal)
point("the number of tries grows as the logarithm", quick)
answers = []


def noisy(n):
    answers.append((n, n * 7919 % 13 > 3 and n < 5000))
    return answers[-1][1]


found = search.largest(noisy, 10, 10**6, 0.01)
point("what is found did fit, in noise too", found == 0 or (found, True) in answers)
print(f"1..{points}")
sys.exit(1 if bad else 0)
