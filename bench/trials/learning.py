# SPDX-License-Identifier: GPL-3.0-or-later
"""learning: jobs of hetsort --plan online, which learns the speeds of the hosts.

Half the hosts, drawn by --seed, run at 1/F. All hosts read their shares from the same file. Ten jobs, one after
the other, use the same wisdom file. They are compared with a job with equal shares, where learning begins, and a
job with shares by the real speeds, which it approaches."""

import os

from harness import chart, hosts, job, stats
from trials import sorts
from trials.trial import SUMMARY, summary_cells

FULL = {"hosts": [4], "factor": 1.5, "records": 4000000, "runs": 10, "repeat": 3, "cpu": 0}
QUICK = {"hosts": [4], "factor": 2.0, "records": 1500000, "runs": 4, "repeat": 1, "cpu": 0}


class Shared(sorts.Sorter):
    """A sorter whose hosts read the same file. It cannot be in /dev/shm, because each host has its own."""

    def __init__(self, h, records, directory):
        super().__init__(h, records)
        self.input, self.directory = f"{directory}/in", directory
        job.run([f"{sorts.BIN}/gensort", "--no-fsync", str(records), self.input])

    def argv(self, portions, options):
        # From the page cache, because the disk is not part of the speed of a host.
        return [*super().argv(portions, ["--direct", "never", *options])[:-1], self.input]


def take(t, s, variant, number, options):
    t.sample(variant, number, **s.sort("", options).fields())


def measure(t, count):
    a = t.a
    speeds = hosts.drawn_speeds(count, f"{count // 2}:{a.factor}", a.seed)
    given = sorts.joined(speeds)
    with hosts.Hosts(speeds, cpu=a.cpu, directory=a.dir) as h, job.work_directory(os.environ.get("TMPDIR", "/tmp")) as work:
        s = Shared(h, a.records, work)
        for number in range(a.repeat):
            take(t, s, (count, "equal"), number, ["--plan", "equal"])
            take(t, s, (count, "speeds"), number, ["--plan", "nlogn", "--speeds", given])
            for k in range(a.runs):
                take(t, s, (count, "online", k + 1), number,
                     ["--plan", "online", "--wisdom", f"wisdom.{number}"])  # on rank 0's own disk


def run(t):
    rows = []
    for count in t.a.hosts:
        measure(t, count)
        learnt = [(count, "online", k + 1) for k in range(t.a.runs)]
        for v in [(count, "equal"), (count, "speeds"), *learnt]:
            ratio = t.ratio(v, (count, "speeds"))
            rows.append([" ".join(map(str, v)), *summary_cells(t.figure(v, to_speeds=ratio)), f"{ratio[0]:.3f}"])
        p = chart.Panel(f"{count} hosts", "run", "makespan / makespan by speed", better="lower")
        p.line("--plan online", [(v[2], *t.ratio(v, (count, "speeds"))) for v in learnt], color=0)
        equal = t.ratio((count, "equal"), (count, "speeds"))[0]
        p.level("equal shares", equal, color=1)
        p.level("shares by speed", 1, ideal=True)
        t.panels.append(p)
        last = stats.median([t.ratio(v, (count, "equal"))[0] for v in learnt[1:]])
        t.expect(f"{count} hosts: learnt shares over equal ones", last, 0.4, 0.99)
    t.table(["", *SUMMARY, "to speeds"], rows)
    return f"Shares learnt run after run, half the hosts {t.a.factor} times slower, {t.a.records} records"
