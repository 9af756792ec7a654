# SPDX-License-Identifier: GPL-3.0-or-later
"""adapt: a node that turns slow in the middle of a run, with and without hetsort --adapt.

Hosts are alike and shares equal. While the ranks read and sort, one host, drawn by --seed, gets a 1/F of
its CPU share. What --adapt regains is a part of what the slow host costs: nothing of what reading and
sorting take longer, for shares change only then. Where nothing turns slow, it must cost nothing."""

import random
import threading
import time

from harness import chart, hosts, job, stats
from trials import sorts
from trials.trial import SUMMARY, summary_cells

FULL = {"hosts": [4], "factor": 2.0, "records": 8000000, "repeat": 7, "cpu": 0}
QUICK = {"hosts": [4], "factor": 3.0, "records": 3000000, "repeat": 2, "cpu": 0}
WHEN = 0.1  # of reading and sorting is done by then
VARIANTS = {"steady": (False, []), "steady --adapt": (False, ["--adapt"]), "slow": (True, []),
            "slow --adapt": (True, ["--adapt"])}


class Disturber(threading.Thread):
    """Slows a host down after a while, as another thread does the waiting."""

    def __init__(self, h, k, speed, after_s):
        super().__init__(daemon=True)
        self.h, self.k, self.speed, self.after_s = h, k, speed, after_s
        self.over, self.failure = threading.Event(), None

    def run(self):
        if self.over.wait(self.after_s):
            return
        try:
            self.h.set_speed(self.k, self.speed)
        except job.Failed as e:
            self.failure = e

    def end(self):
        self.over.set()
        self.join()
        if self.failure:
            raise self.failure
        self.h.set_speed(self.k, 1)


def sort(s, slow, options, victim, after_s, factor):
    d = Disturber(s.hosts, victim, 1 / factor, after_s)
    if slow:
        d.start()
    try:
        return s.sort("equal", ["--plan", "equal", *options])
    finally:
        if slow:
            d.end()


def measure(t, count, victim):
    a, kept = t.a, {}
    with hosts.Hosts([1] * count, cpu=a.cpu, directory=a.dir) as h:
        s = sorts.Sorter(h, a.records)
        s.portions("equal", sorts.shares(a.records, [1] * count, None))
        begin = time.monotonic()
        done = job.run(h.mpirun_argv(count, s.argv("equal", ["--plan", "equal"])))
        first = s.take(count, {})
        after_s = done.seconds - first.makespan_s + WHEN * first.before_s
        t.log.line("warm-up", experiment=t.name, hosts=count, seconds=time.monotonic() - begin,
                   slow_after_s=after_s)
        for number in range(a.repeat):
            for name, (slow, options) in VARIANTS.items():
                x = sort(s, slow, options, victim, after_s, a.factor)
                t.sample((count, name), number, adapt=x.adapt, written=x.written, **x.fields())
                kept.setdefault(name, []).append(x)
    return kept


def run(t):
    rows = []
    for count in t.a.hosts:
        victim = random.Random(t.a.seed).randrange(count)
        kept = measure(t, count, victim)
        v = {name: (count, name) for name in VARIANTS}
        for name in VARIANTS:
            changed = sum((x.adapt or {}).get("shares") == "changed" for x in kept[name])
            sums, ratio = t.figure(v[name], changed=changed), t.ratio(v[name], v["steady"])
            rows.append([f"{count} hosts, {name}", *summary_cells(sums), f"{ratio[0]:.3f}",
                         f"{changed} of {len(kept[name])}"])
        regained(t, count, v, kept)
        p = chart.Panel(f"{count} hosts, n{victim} slowed by {t.a.factor:g}", "", "makespan / undisturbed")
        p.ticks(list(VARIANTS))
        p.bars("", [(i, *t.ratio(v[name], v["steady"])) for i, name in enumerate(VARIANTS)], width=0.6)
        t.panels.append(p)
    t.table(["", *SUMMARY, "to steady", "changed"], rows)
    return f"A host that turns {t.a.factor:g} times slower while it reads, {t.a.records} records"


def regained(t, count, v, kept):
    def lost(seconds):
        """What the slow host costs, and how much of it --adapt regains: of medians."""
        steady, slow, adapted = (stats.median([seconds(x) for x in kept[name]])
                                 for name in ("steady", "slow", "slow --adapt"))
        return slow - steady, slow - adapted

    def ratio(cost, back):
        return back / cost if cost > 0 else float("nan")

    cost, back = lost(lambda x: x.makespan_s)
    after = lost(lambda x: x.makespan_s - x.before_s)
    part, part_after = ratio(cost, back), ratio(*after)
    idle = t.ratio(v["steady --adapt"], v["steady"])
    t.log.line("figure", experiment=t.name, command=f"{count} regained", cost_s=cost, regained_s=back, part=part,
               cost_after_reading_s=after[0], regained_after_reading_s=after[1], part_after_reading=part_after,
               steady_adapt=idle)
    t.notes.append(f"{count} hosts: the slow host costs {cost:.2f} s, of which --adapt regains {back:.2f} s"
                   f" ({100 * part:.0f} %); after reading and sorting {after[0]:.2f} s, of which {after[1]:.2f} s"
                   f" ({100 * part_after:.0f} %); where nothing turns slow it costs {100 * (idle[0] - 1):+.1f} %")
    t.expect(f"{count} hosts: part of the cost regained", part, 0.05, 1)
