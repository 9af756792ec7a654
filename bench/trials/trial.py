# SPDX-License-Identifier: GPL-3.0-or-later
"""The common part of the experiments: it keeps and logs samples, summarises figures and checks expectations. A
sample is marked if other programs kept the machine busy. It is used, but then no expectation can fail."""

import math
import sys

from harness import journal, stats


class Trial:
    def __init__(self, name, options, log):
        self.name, self.a, self.log = name, options, log
        self.samples, self.disturbed, self.count = {}, 0, 0
        self.expectations, self.panels = [], []
        self.notes = []

    def sample(self, variant, number, seconds, disturbed, **fields):
        """Keep, log and print a sample. variant is a tuple of words; number is the round."""
        self.log.line("sample", experiment=self.name, command=" ".join(map(str, variant)), round=number,
                      seconds=seconds, disturbed=disturbed, **fields)
        self.samples.setdefault(tuple(variant), {})[number] = seconds
        self.count += 1
        self.disturbed += bool(disturbed)
        print(f"  {self.name} {number + 1}: {' '.join(map(str, variant))} {seconds:.2f} s"
              f"{' (disturbed)' if disturbed else ''}", file=sys.stderr, flush=True)

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

    def table(self, head, rows):
        journal.table(head, rows)

    def judge(self):
        """Print the expectations. Return False if one fails although no sample was disturbed."""
        good = True
        for text, holds in self.expectations:
            word = "holds" if holds else "not judged, disturbed" if self.disturbed else "FAILS"
            good = good and word != "FAILS"
            print(f"{self.name}: {word}: {text}")
        if self.disturbed:
            print(f"warning: in {self.disturbed} of {self.count} runs other programs kept the machine busy, and"
                  " hosts got less than their shares")
        return good


def summary_cells(sums):
    return [f"{sums['median_s']:.2f}", f"{sums['mean_s']:.2f}", f"{sums['sd_s']:.2f}", f"{sums['min_s']:.2f}",
            f"{sums['max_s']:.2f}"]


SUMMARY = ["median s", "mean", "sd", "min", "max"]
