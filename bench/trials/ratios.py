# SPDX-License-Identifier: GPL-3.0-or-later
"""ratios: the gain of planned over equal shares as half the hosts get slower and slower.

Half of two or more hosts have 1/F of the speed. hetsort sorts with equal shares, and with shares by n ln n, both
with two exchange threads. With a linear cost, the gain would be (F + 1) / 2."""

from harness import chart, hosts
from trials import sorts
from trials.trial import SUMMARY, summary_cells

FULL = {"hosts": [2], "factors": [1, 1.5, 2, 3, 4, 6, 8, 10], "records": 2000000, "repeat": 3}
QUICK = {"hosts": [2], "factors": [1, 4], "records": 1500000, "repeat": 2}


def measure(t, count, factor):
    """Measure one factor. It needs its own cluster, because the CPU share of the fast hosts depends on it."""
    a = t.a
    speeds = [1.0] * (count - count // 2) + [1 / factor] * (count // 2)
    given = sorts.joined(speeds)
    with hosts.Hosts(speeds, directory=a.dir) as h:
        s = sorts.Sorter(h, a.records)
        s.portions("equal", sorts.shares(a.records, speeds, None))
        s.portions("planned", sorts.shares(a.records, speeds, "nlogn"))
        for number in range(a.repeat):
            for name, options in (("equal", ["--plan", "equal"]),
                                  ("planned", ["--plan", "nlogn", "--speeds", given])):
                t.sample((count, f"{factor:g}", name), number, **s.sort(name, options).fields())


def run(t):
    rows = []
    for count in t.a.hosts:
        gains = []
        for factor in t.a.factors:
            measure(t, count, factor)
            equal, planned = ((count, f"{factor:g}", name) for name in ("equal", "planned"))
            gain, theory = t.ratio(equal, planned), (count - count // 2 + count // 2 / factor) * factor / count
            for v in (equal, planned):
                sums = t.figure(v, gain=gain, theory=theory)
                rows.append([f"{count} hosts, 1 : {factor:g}, {v[2]}", *summary_cells(sums),
                             f"{gain[0]:.3f}" if v is planned else None,
                             f"{theory:.3f}" if v is planned else None])
            gains.append((factor, *gain))
            t.expect(f"{count} hosts, 1 : {factor:g}: gain over theory", gain[0] / theory, 0.6, 1.25)
        p = chart.Panel(f"{count} hosts", "speed of the fast over the slow hosts", "equal shares over planned", better="higher")
        p.line("measured", gains, color=0)
        p.line("theory", [(f, (count - count // 2 + count // 2 / f) * f / count) for f in t.a.factors],
               ideal=True)
        t.panels.append(p)
    t.table(["", *SUMMARY, "gain", "theory"], rows)
    return f"Gain of planned shares, {t.a.records} records"
