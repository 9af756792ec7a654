# SPDX-License-Identifier: GPL-3.0-or-later
"""Plots: panels next to each other, as SVG. Equal data make equal files. A Panel is plain data. Another process draws it
with matplotlib, because only the system's python3 may have that, and a measuring process should stay small."""

import functools
import math
import os
import pickle
import sys

if __name__ != "__main__":
    from . import job

COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#7f3fbf", "#555555"]
IDEAL = "#222222"
BETTER = {"lower": "lower is better", "higher": "higher is better", None: ""}
MISSING = "matplotlib is missing, install it with 'scripts/deps plot'"
BENCH = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PIXELS = 96  # per inch
STYLE = {"font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans"], "font.size": 9, "axes.titlesize": 10, "figure.titlesize": 11, "legend.fontsize": 8,
         "svg.fonttype": "none", "svg.hashsalt": "hetsort", "axes.spines.top": False, "axes.spines.right": False,
         "axes.axisbelow": True, "axes.grid": True, "axes.grid.axis": "y", "grid.color": "#dddddd", "legend.framealpha": 0.8}


class Panel:
    """One set of axes. Rows are drawn in the order in which they are added; points with a value that is missing or not finite are
    skipped.

    better: "lower" or "higher" values of y are better, or None if neither is. It is shown at the axis.
    log: the logarithmic axes, "x", "y" or "xy". y_range: least and largest y, None where the data decide.
    ideal=True marks what cannot be exceeded, or should be reached. The legend says so."""

    def __init__(self, title, xlabel="", ylabel="", *, better, log="", y_range=None):
        self.title, self.xlabel, self.log = title, xlabel, log
        self.ylabel = "; ".join(filter(None, (str(ylabel), BETTER[better])))
        self.y_range = y_range or ((None, None) if "y" in log else (0, None))
        self.parts, self.tick_names, self.tick_places, self.rotate = [], None, None, 0

    def _add(self, kind, title, points, ideal=False, **style):
        rows = [tuple(float("nan") if v is None else float(v) for v in p) for p in points]
        if ideal:
            title = title if title and "ideal" in title else f"{title} (ideal)" if title else "ideal"
        self.parts.append((kind, title, [r for r in rows if all(map(math.isfinite, r))], style))

    def ticks(self, names, at=None, rotate=0):
        """Label the x axis. at: the places, by default 0, 1, 2... rotate: degrees, for long names."""
        self.tick_names, self.tick_places, self.rotate = list(names), at, rotate

    def bars(self, title, points, at=0.0, width=0.35, color=0, ideal=False):
        """Add bars. points: (x, value, low, high)."""
        self._add("bars", title, [(x + at, *rest) for x, *rest in points], ideal, width=width, color=COLORS[color])

    def floating(self, title, points, width=0.6, color=0):
        """Add boxes. points: (x, from, to)."""
        self._add("floating", title, points, width=width, color=COLORS[color])

    def line(self, title, points, color=0, dashed=False, marks=True, ideal=False):
        """Add a line. points: (x, y) or (x, y, low, high)."""
        self._add("line", title, points, ideal, color=IDEAL if ideal else COLORS[color], dashed=dashed or ideal,
                  marks=marks and not ideal)

    def level(self, title, y, color=7, ideal=False):
        """Add a horizontal line from border to border."""
        self._add("level", title, [(y,)], ideal, color=IDEAL if ideal else COLORS[color])


@functools.lru_cache(maxsize=None)
def _python():
    """Return a python3 that has matplotlib, or None."""
    for python in dict.fromkeys((sys.executable, "/usr/bin/python3")):
        if os.access(python, os.X_OK) and job.run([python, "-c", "import matplotlib"], statuses=None).status == 0:
            return python
    return None


def require():
    """Raise Failed if nothing can be drawn here."""
    if not _python():
        raise job.Failed(f"cannot draw: {MISSING}")


def draw(base, title, panels, columns=2, size=(480, 380)):
    """Draw BASE.svg. Return the names of the files. If matplotlib is missing, print a warning and return an empty list."""
    path = base.removesuffix(".svg") + ".svg"
    if not panels:
        return []
    if not _python():
        print(f"warning: no plot '{path}': {MISSING}", file=sys.stderr)
        return []
    with job.work_directory(os.path.dirname(os.path.abspath(path))) as work:
        with open(f"{work}/panels", "wb") as f:
            pickle.dump((title, panels, columns, size), f)
        job.run([_python(), "-B", "-m", "harness.chart", f"{work}/panels", f"{work}/svg"],
                env={**os.environ, "PYTHONPATH": BENCH})
        os.replace(f"{work}/svg", path)
    return [path]


# ------------------------------------------------------------------------------------- in the process that draws
def plain(text):
    """Return a text that matplotlib shows as it is: a dollar sign does not begin a formula."""
    return "".join(c if c.isprintable() else "?" for c in str(text)).replace("$", r"\$")


def error_bars(ax, rows, color):
    if any(len(r) > 2 and r[2] != r[3] for r in rows):
        x, y, low, high = zip(*rows)
        below, above = ([max(0.0, b - a) for a, b in zip(*pair)] for pair in ((low, y), (y, high)))
        ax.errorbar(x, y, yerr=(below, above), fmt="none", ecolor=color, elinewidth=1.2, capsize=2)


def bars(ax, rows, width, color):
    drawn = ax.bar([r[0] for r in rows], [r[1] for r in rows], width, color=color, alpha=0.8)
    error_bars(ax, rows, "black")
    return drawn


def floating(ax, rows, width, color):
    return ax.bar([r[0] for r in rows], [r[2] - r[1] for r in rows], width, [r[1] for r in rows], color=color, alpha=0.8)


def line(ax, rows, color, dashed, marks):
    error_bars(ax, rows, color)
    return ax.plot([r[0] for r in rows], [r[1] for r in rows], "--" if dashed else "-", color=color, linewidth=1.6,
                   marker="o" if marks else "", markersize=3.5)[0]


def level(ax, rows, color):
    return ax.axhline(rows[0][0], color=color, linestyle="--", linewidth=1.4)


KINDS = {f.__name__: f for f in (bars, floating, line, level)}


def axes(ax, p):
    """Set scales, ticks and borders after all parts have been drawn."""
    from matplotlib import ticker
    names, places = p.tick_names, p.tick_places
    if "x" in p.log:
        ax.set_xscale("log")
        if names is None:
            places = sorted({r[0] for kind, _, rows, _ in p.parts if kind == "line" for r in rows})
            names = [f"{x:g}" for x in places]
    if names is not None:
        ax.xaxis.set_minor_locator(ticker.NullLocator())
        side = {"ha": "right" if p.rotate > 0 else "left", "rotation_mode": "anchor"} if p.rotate else {}
        ax.set_xticks(range(len(names)) if places is None else places, [plain(n) for n in names], rotation=p.rotate, **side)
        if places is None:
            ax.set_xlim(-0.6, len(names) - 0.4)
    if "y" in p.log:
        ax.set_yscale("log")
        ax.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
        ax.yaxis.set_major_formatter(ticker.FuncFormatter(lambda v, _: f"{v:g}"))
        ax.yaxis.set_minor_locator(ticker.NullLocator())
    low, high = ax.get_ylim()
    room = 1.15 if "y" not in p.log else 1  # for the legend
    ax.set_ylim(low if p.y_range[0] is None else p.y_range[0], high * room if p.y_range[1] is None else p.y_range[1])


def panel(ax, p):
    entries = []
    for kind, title, rows, style in p.parts:
        if rows:
            drawn = KINDS[kind](ax, rows, **style)
            entries += [(drawn, title)] if title else []
    axes(ax, p)
    ax.set_title(plain(p.title))
    ax.set_xlabel(plain(p.xlabel))
    ax.set_ylabel(plain(p.ylabel))
    if entries:  # matplotlib hides names that begin with an underscore, unless they are set afterwards
        legend = ax.legend([drawn for drawn, _ in entries], ["-"] * len(entries), ncol=1 + (len(entries) > 4))
        for text, (_, title) in zip(legend.get_texts(), entries):
            text.set_text(plain(title))


def render(path, title, panels, columns, size):
    import matplotlib
    matplotlib.use("svg")
    from matplotlib.figure import Figure
    matplotlib.rcdefaults()  # not the settings of the user
    matplotlib.rcParams.update(STYLE)
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    wide = max(columns * size[0], 8 * len(title))
    figure = Figure(figsize=(wide / PIXELS, (rows * size[1] + 40) / PIXELS), layout="constrained")
    figure.suptitle(plain(title))
    for i, p in enumerate(panels, 1):
        panel(figure.add_subplot(rows, columns, i), p)
    figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as f:
        render(sys.argv[2], *pickle.load(f))
