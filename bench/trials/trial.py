# SPDX-License-Identifier: GPL-3.0-or-later
"""The common part of the experiments: it keeps and logs samples, summarises figures and checks expectations. A
sample is marked if other programs kept the machine busy. It is used, but then no expectation can fail."""

import math
import os
import sys

from harness import journal, page, stats


class Trial:
    def __init__(self, name, options, log):
        self.name, self.a, self.log = name, options, log
        self.samples, self.marked, self.count = {}, set(), 0
        self.expectations, self.panels = [], []
        self.notes, self.rows, self.head, self.legend = [], [], [], ""

    def note(self, text):
        """Keep a sentence to print once."""
        if text not in self.notes:
            self.notes.append(text)

    def sample(self, variant, number, seconds, disturbed, **fields):
        """Keep, log and print a sample. variant is a tuple of words; number is the round."""
        self.log.line("sample", experiment=self.name, command=" ".join(map(str, variant)), round=number,
                      seconds=seconds, disturbed=disturbed, **fields)
        self.samples.setdefault(tuple(variant), {})[number] = seconds
        self.count += 1
        if disturbed:
            self.marked.add((tuple(variant), number))
        print(f"  {self.name} {number + 1}: {' '.join(map(str, variant))} {seconds:.2f} s"
              f"{' (disturbed)' if disturbed else ''}", file=sys.stderr, flush=True)

    def spread(self, variant):
        """Return (median, minimum, maximum) of the seconds of a variant."""
        t = self.times(*variant)
        return stats.median(t), min(t), max(t)

    def times(self, *variant):
        return list(self.samples[variant].values())

    def ratio(self, variant, base):
        """Return (median, minimum, maximum) of the ratios of the same rounds, in which slow changes of the machine
        cancel out."""
        r = stats.round_ratios(self.samples[variant], self.samples[base])
        return stats.median(r), min(r), max(r)

    def figure(self, variant, **fields):
        """Summarise the samples of a variant, and log this with more figures."""
        t = self.times(*variant)
        mean = sum(t) / len(t)
        spread = math.sqrt(sum((x - mean) ** 2 for x in t) / (len(t) - 1)) if len(t) > 1 else 0.0
        sums = {"median_s": stats.median(t), "mean_s": mean, "sd_s": spread, "min_s": min(t), "max_s": max(t)}
        self.log.line("figure", experiment=self.name, command=" ".join(map(str, variant)), **sums, **fields)
        return sums

    def expect(self, text, value, low, high):
        """Record whether a value is within limits, which are wide but must hold if the experiment shows its
        effect. None is a value that the noise hides."""
        holds = value is not None and low <= value <= high
        self.expectations.append((f"{text}: {journal.number(value, '.3f')}, expected {low:g} to {high:g}", holds))
        self.log.line("expectation", experiment=self.name, text=text, value=value, low=low, high=high,
                      holds=holds)

    def table(self, head, rows, legend=""):
        self.head, self.rows, self.legend = head, rows, legend
        journal.table(head, rows)

    def page(self, base, title, text, written):
        """Write BASE.html: notes, plot, table, expectations, samples, and `text`, the file of the experiment. Return its
        name."""
        rows = [(k, [" ".join(map(str, k)), number + 1, f"{s:.3f}", "disturbed" if (k, number) in self.marked else ""])
                for k, of in self.samples.items() for number, s in of.items()]
        marked = [i for i, (k, row) in enumerate(rows) if (k, row[1] - 1) in self.marked]
        plots = [page.drawing(p) for p in written if p.endswith(".svg")]
        page.write(f"{base}.html", title, page.items(self.warnings() + self.notes), *plots,
                   page.section("Figures", page.table(self.head, self.rows) if self.rows else "", page.text(self.legend)),
                   page.section("Expectations", page.items([f"{word}: {what}" for word, what in self.verdicts()])),
                   page.section("The experiment", page.pre(text) if text else "",
                                page.items([" ".join(["bench/experiments", *sys.argv[1:]]), journal.machine_line(self.a.dir)])),
                   page.section("Samples", page.table(["", "round", "seconds", ""], [row for _, row in rows], marked)),
                   page.section("Files", page.links([p for p in written if not p.endswith(".svg")], os.path.dirname(base) or ".")))
        return f"{base}.html"

    def warnings(self):
        return [f"In {len(self.marked)} of {self.count} runs, other programs kept the machine busy, so hosts got less than their"
                " shares. These samples are marked as disturbed."] if self.marked else []

    def verdicts(self):
        """Return (word, text) for each expectation."""
        return [("holds" if holds else "not judged, disturbed" if self.marked else "FAILS", text)
                for text, holds in self.expectations]

    def judge(self):
        """Print the expectations. Return False if one fails although no sample was disturbed."""
        for word, text in self.verdicts():
            print(f"{self.name}: {word}: {text}")
        for text in self.warnings():
            print(f"warning: {text}")
        return all(word != "FAILS" for word, _ in self.verdicts())


def summary_cells(sums):
    places = 2 if sums["median_s"] >= 10 else 3
    return [f"{sums[name]:.{places}f}" for name in ("median_s", "mean_s", "sd_s", "min_s", "max_s")]


SUMMARY = ["median s", "mean", "sd", "min", "max"]
