# SPDX-License-Identifier: GPL-3.0-or-later
"""adapt: a node that becomes slow in the middle of a run, with and without hetsort --adapt.

Hosts have equal speeds and equal shares. One host, drawn by --seed but never the first, then gets 1/F of its CPU
share. This happens after the part --when of the time until all ranks have read and sorted. Each variant runs
with and without this:
  own           each host reads its portion from its own disk
  own --adapt   the slow host writes less; it reads its portion in any case
  root          the first host has the input, and scatters it in equal portions
  root --adapt  the first host sends chunks on request (--scatter dynamic), so the slow host also reads less
The slow host costs time. The part of this time that --adapt regains is printed, for the whole job and after
reading and sorting. The largest possible gain is printed next to it: a planner would know at once how slow the
host is, and divide all remaining work by the speeds. If no host becomes slow, --adapt must cost nothing."""

import random
import threading
import time

from harness import chart, hosts, job, journal, stats
from trials import sorts
from trials.trial import SUMMARY, summary_cells

FULL = {"hosts": [4], "factor": 2.0, "when": 0.1, "records": 8000000, "repeat": 7, "cpu": 0}
QUICK = {"hosts": [4], "factor": 3.0, "when": 0.1, "records": 3000000, "repeat": 2, "cpu": 0}
OWN, ROOT = ["--plan", "equal"], ["--plan", "equal", "--source", "root", "--scatter"]
# For each place of the input, the options without and with --adapt.
PAIRS = {"own": (OWN, [*OWN, "--adapt"]), "root": ([*ROOT, "equal"], [*ROOT, "dynamic", "--adapt"])}
VARIANTS = [f"{source}{adapt}, {how}" for source in PAIRS for adapt in ("", " --adapt") for how in ("steady", "slow")]


class Disturber(threading.Thread):
    """Slows a host after some seconds, while the main thread waits for the sort."""

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


class Source:
    """The input of a variant, and the moment at which a host becomes slow."""

    def __init__(self, t, s, name, portions):
        self.s, self.portions, self.options = s, portions, PAIRS[name]
        begin = time.monotonic()
        done = job.run(s.hosts.mpirun_argv(s.hosts.count, s.argv(portions, self.options[0])))
        first = s.take(s.hosts.count, {})
        self.slow_s = t.a.when * first.all_read_s
        self.after_s = done.seconds - first.makespan_s + self.slow_s
        t.log.line("warm-up", experiment=t.name, hosts=s.hosts.count, source=name, seconds=time.monotonic() - begin,
                   all_read_s=first.all_read_s, slow_s=self.slow_s, slow_after_s=self.after_s)

    def sort(self, adapt, slow, victim, factor):
        d = Disturber(self.s.hosts, victim, 1 / factor, self.after_s)
        if slow:
            d.start()
        try:
            return self.s.sort(self.portions, self.options[adapt])
        finally:
            if slow:
                d.end()


def measure(t, count, victim):
    a, kept = t.a, {}
    with hosts.Hosts([1] * count, cpu=a.cpu, directory=a.dir) as h:
        s = sorts.Sorter(h, a.records)
        s.portions("equal", sorts.shares(a.records, [1] * count, None))
        sources = {"own": Source(t, s, "own", "equal"), "root": Source(t, s, "root", s.gathered("equal"))}
        for number in range(a.repeat):
            for name in VARIANTS:
                source, how = name.split(", ")
                x = sources[source.split()[0]].sort("--adapt" in source, how == "slow", victim, a.factor)
                t.sample((count, name), number, adapt=x.adapt, **x.fields())
                kept.setdefault(name, []).append(x)
    return sources, kept


def run(t):
    rows = []
    if min(t.a.hosts) < 2:
        raise job.Failed("--hosts must be at least 2, because the first host is never slowed")
    for count in t.a.hosts:
        victim = random.Random(t.a.seed).randrange(1, count)
        sources, kept = measure(t, count, victim)
        bars = []
        for i, name in enumerate(VARIANTS):
            v, steady = (count, name), (count, f"{name.split()[0].strip(',')}, steady")
            changed = sum((x.adapt or {}).get("shares") == "changed" for x in kept[name])
            sums, ratio = t.figure(v, changed=changed), t.ratio(v, steady)
            rows.append([f"{count} hosts, {name}", *summary_cells(sums), f"{ratio[0]:.3f}",
                         f"{changed} of {len(kept[name])}" if "--adapt" in name else None])
            bars.append((i, *ratio))
        for source in PAIRS:
            regained(t, count, source, sources[source].slow_s, kept)
        p = chart.Panel(f"{count} hosts, n{victim} slowed by {t.a.factor:g}", "", "makespan / steady without --adapt", better="lower")
        p.ticks(VARIANTS, rotate=35)
        p.bars("", bars, width=0.6)
        p.level("no host turns slow", 1, ideal=True)
        t.panels.append(p)
    t.table(["", *SUMMARY, "to steady", "changed"], rows)
    return f"A host that turns {t.a.factor:g} times slower while it reads, {t.a.records} records"


def most_regained_s(steady_s, slow_s, moment_s, count, factor):
    """Return the largest possible gain. Until moment_s, all hosts work as in the steady job. The best planner then
    divides the remaining work, and the speed of all hosts is then count - 1 + 1/factor."""
    best_s = moment_s + (steady_s - moment_s) * count / (count - 1 + 1 / factor)
    return slow_s - best_s


def regained(t, count, source, moment_s, kept):
    """Log and print the cost of a host that becomes slow, and the part of it that --adapt regains, if this cost is beyond
    the noise."""
    def seconds(of):
        return [[of(x) for x in kept[f"{source}{adapt}, {how}"]]
                for adapt, how in (("", "steady"), ("", "slow"), (" --adapt", "slow"))]

    def costs(of):
        """Return the cost, the regained seconds, and their part of the cost, or None if the noise hides it."""
        steady, slow, adapted = (stats.median(v) for v in seconds(of))
        back = slow - adapted
        return slow - steady, back, stats.ratio(back, stats.cost(*seconds(of)[:2]))

    steady_s, slow_s, _ = (stats.median(v) for v in seconds(lambda x: x.makespan_s))
    whole, back, part = costs(lambda x: x.makespan_s)
    after, back_after, part_after = costs(lambda x: x.makespan_s - x.all_read_s)
    most = most_regained_s(steady_s, slow_s, moment_s, count, t.a.factor)
    part_most = None if part is None else stats.ratio(back, most)
    idle = t.ratio((count, f"{source} --adapt, steady"), (count, f"{source}, steady"))
    t.log.line("figure", experiment=t.name, command=f"{count} {source} regained", moment_s=moment_s, cost_s=whole,
               regained_s=back, part=part, cost_after_reading_s=after, regained_after_reading_s=back_after,
               part_after_reading=part_after, possible_s=most, part_of_possible=part_most, steady_adapt=idle)
    possible = "" if part_most is None else f", where {most:.2f} s are possible ({percent(part_most)} of that)"
    idle_is = stats.verdict(*(t.times(count, f"{source}{adapt}, steady") for adapt in ("", " --adapt")))
    t.notes.append(f"{count} hosts, {source}: slow after {moment_s:.2f} s of {steady_s:.2f}; that costs"
                   f" {regained_text(whole, back, part)}{possible}; after reading and sorting it costs"
                   f" {regained_text(after, back_after, part_after)}; where nothing turns slow, --adapt costs"
                   f" {100 * (idle[0] - 1):+.1f} % ({idle_is})")
    # With a root, chunks may be faster than equal portions even if no host becomes slow.
    t.expect(f"{count} hosts, {source}: part of the cost regained", part, 0.05, 1 if source == "own" else 1.5)


def percent(part):
    return journal.number(None if part is None else 100 * part, ".0f", " %")


def regained_text(cost_s, back_s, part):
    if part is None:
        return f"{cost_s:.2f} s, within the noise"
    return f"{cost_s:.2f} s, of which --adapt regains {back_s:.2f} s ({percent(part)})"
