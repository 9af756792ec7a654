# SPDX-License-Identifier: GPL-3.0-or-later
"""slow: the gain of planned shares and exchange threads if half the nodes are slow ([S4] section 5).

Half the hosts, drawn by --seed, run at 1/F of the speed. Each holds its portion on its own disk.
  A1  equal shares, no exchange threads
  A2  shares by n ln n, no exchange threads
  A3  shares by n ln n, two exchange threads
  A3+ like A3, but with --second F the exchange threads have a second CPU of their host, which is F times as
      fast as its first one
In the first rounds, a single host also sorts all records. Its time divided by the sum of the speeds is the ideal
makespan. At the rate max the CPUs limit the sort, at other rates the links.

Unlike in the paper, the network transfers blocks while A1 and A2 merge: the computing thread starts to send them
between two steps of the merge, and does not wait for them."""

from harness import chart, hosts, stats
from trials import sorts
from trials.trial import SUMMARY, summary_cells

PAPER_S = {"A1": 125.4, "A2": 112.7, "A3": 69.4, "A3+": 69.4}  # 96 nodes, 54 GB
PAPER_EXCHANGING = {"A2": 0.60, "A3": 0.33, "A3+": 0.33}
VARIANTS = {"A1": ("equal", ["--plan", "equal", "--exchange-threads", "0"]),
            "A2": ("planned", ["--plan", "nlogn", "--exchange-threads", "0"]),
            "A3": ("planned", ["--plan", "nlogn", "--exchange-threads", "2"]),
            "A3+": ("planned", ["--plan", "nlogn", "--exchange-threads", "2"])}
FULL = {"hosts": [2, 4, 8], "rates": ["max", "200mbit"], "records": 4000000, "repeat": 5, "factor": 1.5,
        "cpu": 0, "second": 0, "single": 2}
QUICK = {"hosts": [4], "rates": ["max"], "records": 2000000, "repeat": 2, "factor": 1.5,
         "cpu": 0, "second": 0, "single": 2}


def ways(t):
    """Return the names of the variants; A3+ needs second CPUs."""
    return [name for name in VARIANTS if name != "A3+" or t.a.second]


def measure(t, count):
    a = t.a
    speeds = hosts.drawn_speeds(count, f"{count // 2}:{a.factor}", a.seed)
    given = sorts.joined(speeds)
    kept = {}
    with hosts.Hosts(speeds, cpu=a.cpu, directory=a.dir, second=a.second) as h:
        s = sorts.Sorter(h, a.records)
        s.portions("equal", sorts.shares(a.records, speeds, None))
        everything = s.gathered("equal")
        s.portions("planned", sorts.shares(a.records, speeds, "nlogn"))
        for number in range(a.repeat):
            if number < a.single:
                one(t, kept, (count, "-", "single"), number, s.sort(everything, ranks=1))
            for rate in a.rates:
                for k in range(count):
                    h.set_rate(k, rate)
                for name in ways(t):
                    portions, options = VARIANTS[name]
                    more = ["--speeds", given] if portions == "planned" else []
                    one(t, kept, (count, rate, name), number,
                        s.sort(portions, options + more, second_cpu=name == "A3+"))
    return speeds, kept


def one(t, kept, variant, number, sample):
    t.sample(variant, number, hosts=variant[0], rate=variant[1], way=variant[2], records=t.a.records,
             **sample.fields())
    kept.setdefault(variant, []).append(sample)


def sum_up(t, count, rate, speeds, kept):
    """Return the rows of the table, and draw the panel, for this number of hosts and this rate."""
    ideal = stats.median(t.times(count, "-", "single")) / sum(speeds)
    theory = sum(speeds) / (count * min(speeds))  # of linear cost
    rows, bars = [], []
    names = ways(t)
    for i, name in enumerate(names):
        v, first = (count, rate, name), (count, rate, "A1")
        samples = kept[v]
        ratio = t.ratio(v, first)
        exchanging, spread, finish = (stats.median([getattr(x, w) for x in samples])
                                      for w in ("exchanging", "spread", "finish_spread"))
        sums = t.figure(v, to_a1=ratio, ideal_s=ideal, exchanging=exchanging, spread=spread, finish_spread=finish,
                        paper_s=PAPER_S[name], paper_to_a1=PAPER_S[name] / PAPER_S["A1"])
        rows.append([f"{count} hosts, {rate}, {name}", *summary_cells(sums), f"{ratio[0]:.3f}",
                     f"{PAPER_S[name] / PAPER_S['A1']:.3f}", f"{sums['median_s'] / ideal:.3f}",
                     f"{100 * finish:.1f} %", f"{100 * spread:.0f} %", f"{100 * exchanging:.0f} %",
                     f"{100 * PAPER_EXCHANGING[name]:.0f} %" if name in PAPER_EXCHANGING else None])
        bars.append((i, *ratio))
    gain = t.ratio((count, rate, "A1"), (count, rate, "A2"))
    t.log.line("figure", experiment=t.name, command=f"{count} {rate} A1 over A2", ratio=gain, theory=theory)
    t.notes.append(f"{count} hosts, rate {rate}: equal over planned {gain[0]:.3f} ({gain[1]:.3f} to"
                   f" {gain[2]:.3f}), in theory {theory:.3f}; ideal makespan {ideal:.2f} s")
    for name in names[2:]:
        r = t.ratio((count, rate, "A1"), (count, rate, name))
        t.notes.append(f"{count} hosts, rate {rate}: A1 over {name} {r[0]:.3f} ({r[1]:.3f} to {r[2]:.3f}), in the"
                       f" paper {PAPER_S['A1'] / PAPER_S[name]:.3f}")
    p = chart.Panel(f"{count} hosts, {'links without limit' if rate == 'max' else rate}", "",
                    "makespan / makespan of A1", better="lower")
    p.ticks(names)
    p.bars("measured", bars, at=-0.18, color=0)
    p.bars("paper, 96 nodes", [(i, *[PAPER_S[v] / PAPER_S["A1"]] * 3) for i, v in enumerate(names)],
           at=0.18, color=5)
    p.level("ideal", ideal / stats.median(t.times(count, rate, "A1")), ideal=True)
    t.panels.append(p)
    if rate == "max":
        t.expect(f"{count} hosts: equal over planned shares", gain[0], 1 + 0.2 * (theory - 1),
                 1 + 2 * (theory - 1))
    return rows


def run(t):
    rows = []
    for count in t.a.hosts:
        speeds, kept = measure(t, count)
        for rate in t.a.rates:
            rows += sum_up(t, count, rate, speeds, kept)
    t.table(["", *SUMMARY, "to A1", "paper's", "to ideal", "finish", "own work", "exchanging", "paper's"], rows)
    return f"Half the hosts {t.a.factor} times slower, {t.a.records} records, {t.a.repeat} rounds"
