#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""share.py - shares, a scatter and a learnt cost, from Python.
PYTHONPATH=$(pkg-config --variable=pythondir hetpart) python3 share.py"""
import hetpart

plan = hetpart.share(1000000, [1, 2, 5], hetpart.nlogn(), capacities=[1000000, 1000000, 400000])
print("shares", plan.shares)

# The platform of Genaud, Giersch and Vivien's Table 1: the seconds to compute an item, and to send it.
platform = [(.004629, 1.00e-5), (.009365, 1.12e-5), (.004885, 1.70e-5)]
platform += 2 * [(.016156, 2.10e-5)] + 8 * [(.009677, 3.53e-5)] + 2 * [(.003976, 8.15e-5)]
platform += [(.009288, None)]
plan = hetpart.scatter(817101, platform)
print(plan.method, "%.7f" % plan.makespan)

model = hetpart.Model()
model.add((n, 1e-6 * n**1.7) for n in (1000, 3000, 10000))
print("learnt", model.plan(20000, [1, 2, 4]).shares)

try:
    hetpart.share(1000, [1, 2, -5], 1)
except hetpart.Error as reason:
    print("refused:", reason)
