# SPDX-License-Identifier: GPL-3.0-or-later
"""figures.py NAME FILE... - what came out of the tries FILE... of experiment NAME, at the sizes of
long_experiments.sh: a line for each figure, its verdict, a tab, and what it is and should be. A try that others
disturbed counts only where the figure holds; a figure that is missed in a try that counts holds in another, or is
missed."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["ROOT"], "bench"))
from harness import journal, stats  # noqa: E402


def median(figures, command):
    return figures[command]["median_s"]


def unequal(samples, command):
    """The most that a host wrote over the least, in the run in the middle."""
    return stats.median([max(x["written"]) / max(1, min(x["written"])) for x in samples if x["command"] == command])


def slow(f, samples):
    equal, planned, second = (f[f"4 max {way}"] for way in ("A1", "A2", "A3+"))
    return [("planned shares, fast over slow hosts", unequal(samples, "4 max A2"), 1.4, 1.6),
            ("equal over planned shares", f["4 max A1 over A2"]["ratio"][0], 1.1, 1.45),
            ("planned shares over the ideal", planned["median_s"] / planned["ideal_s"], 0.7, 1.3),
            ("own work apart, planned over equal", planned["spread"] / equal["spread"], 0, 0.5),
            ("A3+ over A1", second["to_a1"][0], 0.3, 0.9)]


def adapt(f, _):
    points = []
    for source, most in (("own", 0.85), ("root", 0.97)):
        with_it, without = (f"4 {source}{how}, slow" for how in (" --adapt", ""))
        points += [(f"{source}: where one turns slow, with --adapt over without",
                    median(f, with_it) / median(f, without), 0.3, most),
                   (f"{source}: where nothing turns slow", f[f"4 {source} regained"]["steady_adapt"][0], 0.5, 1.1),
                   (f"{source}: runs whose shares changed", f[with_it]["changed"], 4, 5)]
    return points


def scatter(f, _):
    gain = f["uniform over balanced"]
    return [("uniform over balanced", gain["ratio"][0], 1.6, 2.5),
            ("uniform over balanced, of the model's", gain["ratio"][0] / gain["model"], 0.9, 1.1),
            ("ascending over balanced", median(f, "ascending") / median(f, "balanced"), 1.02, 1.5)]


def ratios(f, _):
    planned = f["2 4 planned"]
    return [("gain where one of two is 4 times slower, of the theory's", planned["gain"][0] / planned["theory"],
             0.85, 1.15)]


def try_of(path, figures_of):
    """Figures of one try, and whether others disturbed it."""
    lines = journal.read(path)
    samples = [x for x in lines if x["type"] == "sample"]
    figures = {x["command"]: x for x in lines if x["type"] == "figure"}
    return figures_of(figures, samples), any(x["disturbed"] for x in samples)


def verdict(values, low, high, disturbed):
    if any(low <= v <= high for v in values):
        return "holds"
    return "not judged, disturbed" if all(disturbed) else "MISSED"


def main(name, *paths):
    figures_of = {"slow": slow, "adapt": adapt, "scatter": scatter, "ratios": ratios}[name]
    tries = [try_of(p, figures_of) for p in paths]
    disturbed = [d for _, d in tries]
    for same in zip(*(points for points, _ in tries)):
        text, _, low, high = same[0]
        values = [p[1] for p in same]
        print(f"{verdict(values, low, high, disturbed)}\t{text}: {', '.join(f'{v:.3f}' for v in values)},"
              f" expected {low:g} to {high:g}")


main(*sys.argv[1:])
