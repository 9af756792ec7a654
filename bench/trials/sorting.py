# SPDX-License-Identifier: GPL-3.0-or-later
"""An experiment that a file describes (harness/experiment.py): its jobs in turn, and their figures, plot, table and page."""

import csv
import os

from harness import chart, experiment, job, journal, places, stats
from trials.trial import SUMMARY, summary_cells


def run(t, exp, base):
    """Run the experiment on t.a.on. Return the names of the files that were written: BASE.csv, and reports."""
    place = places.PLACES[t.a.on]
    kept = {}
    for case in exp.cases:
        with place(exp, case, t.a) as p:
            for note in p.notes():
                t.note(note)
            case.variants = [v for v in case.variants if p.has(v)]
            for number in range(1 if place.once else exp.rounds):
                for variant in case.variants:
                    if variant.rounds is None or number < variant.rounds:
                        one(t, p, case, variant, number, kept)
    t.table(columns(exp), [row for case in exp.cases for row in sum_up(t, exp, case, kept)], LEGEND)
    for case in exp.cases:
        expect(t, exp, case)
    t.panels += panels(t, exp)
    return [samples(f"{base}.csv", exp, kept), *reports(base, exp, kept)]


def samples(path, exp, kept):
    """Write a line for each sample."""
    with open(path, "w", newline="", encoding="utf-8") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow([exp.varied or "value", "variant", "job", "round", "seconds", "predicted_s", "waiting", "finish_spread", "disturbed"])
        for case, v, n in each(exp):
            for number, s in enumerate(kept[key(case, v, n)], 1):
                figures = (s.seconds, s.predicted_s, s.waiting, s.finish_spread)
                out.writerow([case.value or "", v.name, n, number, *(f"{x:.6g}" for x in figures), int(s.busy["disturbed"])])
    return path


def each(exp):
    """Return all (case, variant, job)."""
    return [(case, v, n) for case in exp.cases for v in case.variants for n in range(1, v.jobs + 1)]


def reports(base, exp, kept):
    """Write the report of the median job of each variant to the directory BASE, and a page that shows it next to the report
    of the first variant."""
    os.makedirs(base, exist_ok=True)
    for case in exp.cases:
        of = []
        for v in case.variants:
            ordered = sorted(kept[key(case, v)], key=lambda s: s.seconds)
            of.append(os.path.join(base, ".".join(key(case, v)).replace("/", "_") + ".json"))
            with open(of[-1], "w", encoding="utf-8") as f:
                f.write(ordered[(len(ordered) - 1) // 2].text)
        for path in of[1:]:
            job.run([f"{job.BIN}/hetsort-report", "-o", f"{path.removesuffix('.json')}.html", of[0], path])
            yield f"{path.removesuffix('.json')}.html"


def key(case, variant, n=None):
    """Return the words that name a variant in samples: of its last job, unless n is the number of another one."""
    words = (case.label, variant.name) if case.label else (variant.name,)
    return words if n in (None, variant.jobs) else (*words, f"job {n}")


def one(t, place, case, variant, number, kept):
    """Run all jobs of a variant in a round."""
    for n in range(1, variant.jobs + 1):
        sample = place.job(variant, number)
        t.sample(key(case, variant, n), number, value=case.value, way=variant.name, job=n, **sample.fields())
        kept.setdefault(key(case, variant, n), []).append(sample)


def ideal_of(t, case):
    """Return the ideal time relative to the first variant, or None: by a variant on one host, or by the speeds if the first
    variant has equal shares."""
    base = case.variants[0]
    for v in case.variants:
        if v.hosts == 1 and v is not base:
            ideal_s = stats.median(t.times(*key(case, v))) * case.speeds[0] / sum(case.speeds)
            return ideal_s / stats.median(t.times(*key(case, base)))
    return case.ideal() if " ".join(base.options).replace("=", " ").find("--plan equal") >= 0 else None


def columns(exp):
    return ["", *SUMMARY, f"to {exp.cases[0].variants[0].name}", *(["published"] if exp.published else []), "ideal",
            "predicted/taken", "waiting", "finish spread"]


LEGEND = ("to: the time relative to the first variant, in the same rounds. ideal: the same, if all hosts always worked. "
          "predicted/taken: the time that hetsort predicted, as a part of the time taken. waiting: the part of the time in which "
          "hosts waited for others. finish spread: how much earlier the first host had written its output than the last one.")


def published(exp, case, variant):
    """Return the published time of a variant relative to the first one, or None."""
    base = exp.published.get(case.variants[0].name)
    return exp.published[variant.name] / base if base and variant.name in exp.published else None


def sum_up(t, exp, case, kept):
    """Return the rows of the table, and note the gains."""
    base, ideal = key(case, case.variants[0]), ideal_of(t, case)
    for variant in case.variants:
        for n in range(1, variant.jobs + 1):
            k = key(case, variant, n)
            samples = kept[k]
            ratio, paper = t.ratio(k, base), published(exp, case, variant) if n == variant.jobs else None
            seconds, predicted, waiting, finish = (stats.median([getattr(s, what) for s in samples]) for what in (
                "seconds", "predicted_s", "waiting", "finish_spread"))
            predicted = predicted / seconds if predicted else None
            part = ideal if variant.hosts is None else None
            sums = t.figure(k, to_base=ratio, ideal=part, published=paper, predicted=predicted, waiting=waiting, finish_spread=finish)
            yield [" ".join(k), *summary_cells(sums), f"{ratio[0]:.3f}", *([journal.number(paper, ".3f")] if exp.published else []),
                   journal.number(part, ".3f"), journal.number(predicted), f"{100 * waiting:.0f} %", f"{100 * finish:.1f} %"]
            if variant is not case.variants[0] and n == variant.jobs and variant.hosts is None:
                t.note(f"{' '.join(k)} takes {ratio[0]:.3f} of the time of {base[-1]}" +
                       (f" ({ratio[1]:.3f} to {ratio[2]:.3f})" if len(samples) > 1 else "") +
                       (f"; ideal: {ideal:.3f}" if ideal else "") + (f"; published: {paper:.3f}" if paper else ""))


def expect(t, exp, case):
    names = {v.name: v for v in case.variants}
    for above, below, least, most, relative in exp.expectations:
        if above not in names or below not in names:  # not run here
            continue
        ratio, ideal = t.ratio(key(case, names[above]), key(case, names[below]))[0], ideal_of(t, case) if relative else 1
        t.expect(f"{case.label + ': ' if case.label else ''}{above} over {below}{', over the ideal' if relative else ''}",
                 ratio / ideal if ideal else None, least, most)


def numeric(text):
    try:
        return experiment.number(text)
    except experiment.Bad:
        return None


def panels(t, exp):
    """Return the panels: lines if the varied value is a number of at least three, else bars for each value."""
    first = exp.cases[0].variants[0]
    xs = [numeric(c.value) if c.value else None for c in exp.cases]
    if len(xs) > 2 and None not in xs:
        p = chart.Panel(f"by {exp.varied}", exp.varied, f"time, {first.name} = 1", better="lower")
        for i, v in enumerate(w for w in exp.cases[0].variants if w.hosts is None):
            p.line(v.name, [(x, *t.ratio(key(c, v), key(c, first))) for x, c in zip(xs, exp.cases)], color=i)
        ideals = [(x, ideal_of(t, c)) for x, c in zip(xs, exp.cases)]
        if all(y for _, y in ideals):
            p.line("", ideals, ideal=True)
        yield p
        return
    for case in exp.cases:
        yield bars(t, exp, case)
        for v in case.variants:
            if v.jobs > 1:
                yield learning(t, case, v)


def title_of(exp, case):
    return case.label or f"{len(case.hosts)} hosts, {exp.records} records"


def bars(t, exp, case):
    """Return a panel with a bar for each variant: seconds, or the time relative to the first one if there are published times."""
    shown = [v for v in case.variants if v.hosts is None]
    base, relative = key(case, case.variants[0]), bool(exp.published)
    p = chart.Panel(title_of(exp, case), "", f"time, {case.variants[0].name} = 1" if relative else "seconds", better="lower")
    p.ticks([v.name for v in shown])
    of = {v.name: t.ratio(key(case, v), base) if relative else t.spread(key(case, v)) for v in shown}
    p.bars("measured" if relative else "", [(i, *of[v.name]) for i, v in enumerate(shown)], at=-0.18 if relative else 0,
           width=0.35 if relative else 0.6)
    if relative:
        p.bars("published", [(i, *[published(exp, case, v)] * 3) for i, v in enumerate(shown) if published(exp, case, v)],
               at=0.18, color=5)
    ideal = ideal_of(t, case)
    if ideal:
        level = ideal * (1 if relative else t.spread(base)[0])
        p.level("", level, ideal=True)
    return p


def learning(t, case, variant):
    """Return a panel with the jobs of a variant one after the other."""
    first, jobs = case.variants[0], range(1, variant.jobs + 1)
    p = chart.Panel(f"{case.label}{': ' if case.label else ''}{variant.name}, job by job", "job", f"time, {first.name} = 1", better="lower")
    p.ticks(list(jobs), list(jobs))
    p.line(variant.name, [(n, *t.ratio(key(case, variant, n), key(case, first))) for n in jobs], color=0)
    for i, v in enumerate(w for w in case.variants if w is not variant and w.hosts is None):
        level = t.ratio(key(case, v), key(case, first))[0]
        p.line(v.name, [(1, level), (variant.jobs, level)], color=1 + i, dashed=True, marks=False)
    return p
