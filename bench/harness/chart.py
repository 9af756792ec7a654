# SPDX-License-Identifier: GPL-3.0-or-later
"""Plots by gnuplot: panels next to each other, as SVG and as PNG. Names are quoted, so gnuplot never executes them."""

import os
import shutil

from . import job

COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#7f3fbf", "#555555"]
TERMINALS = {".svg": "svg size {w},{h} font 'sans,12' background 'white'",
             ".png": "pngcairo size {w},{h} font 'sans,11'"}


def quoted(text):
    return "'" + str(text).replace("'", "''") + "'"


class Panel:
    """One set of axes. Rows are drawn in the order in which they are added."""

    def __init__(self, title, xlabel="", ylabel=""):
        self.setup = [f"set title {quoted(title)} noenhanced", f"set xlabel {quoted(xlabel)} noenhanced",
                      f"set ylabel {quoted(ylabel)} noenhanced", "set yrange [0:*]",
                      "set offsets 0, 0, graph 0.2, 0", "set key top center horizontal samplen 2"]
        self.blocks, self.plots = [], []

    def _block(self, rows):
        self.blocks.append("\n".join(" ".join(f"{v:.9g}" for v in row) for row in rows))
        return f"$BLOCK{len(self.blocks) - 1}"

    def _add(self, rows, how, title):
        name = f"title {quoted(title)} noenhanced" if title else "notitle"
        self.plots.append(f"{self._block(rows)} {how} {name}")

    def ticks(self, names):
        tics = ", ".join(f"{quoted(n)} {i}" for i, n in enumerate(names))
        self.setup += [f"set xtics ({tics}) noenhanced", f"set xrange [-0.6:{len(names) - 0.4}]"]

    def bars(self, title, points, at=0.0, width=0.35, color=0):
        """Add bars. points: (x, value, low, high)."""
        rows = [(x + at, y, low, high) for x, y, low, high in points]
        self._add([(*r, width) for r in rows],
                  f"using 1:2:5 with boxes fs solid 0.75 lc rgb '{COLORS[color]}'", title)
        if any(low != high for _, _, low, high in points):
            self._add(rows, "using 1:2:3:4 with yerrorbars pt 0 lw 1.5 lc rgb 'black'", None)

    def floating(self, title, points, width=0.6, color=0):
        """Add boxes. points: (x, from, to)."""
        self._add([(x, (low + high) / 2, x - width / 2, x + width / 2, low, high) for x, low, high in points],
                  f"using 1:2:3:4:5:6 with boxxyerror fs solid 0.75 lc rgb '{COLORS[color]}'", title)

    def line(self, title, points, color=0, dashed=False, marks=True):
        """Add a line. points: (x, y) or (x, y, low, high)."""
        style = ("linespoints pt 7 ps .7" if marks else "lines") + (" dt 2" if dashed else "")
        self._add([p[:2] for p in points], f"using 1:2 with {style} lw 2 lc rgb '{COLORS[color]}'", title)
        if any(len(p) > 2 for p in points):
            self._add(points, f"using 1:2:3:4 with yerrorbars pt 0 lc rgb '{COLORS[color]}'", None)


def draw(base, title, panels, columns=2, size=(480, 380)):
    """Draw BASE.svg and BASE.png. Return the names of the files, or an empty list without gnuplot."""
    if not panels or not shutil.which("gnuplot"):
        return []
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    written = []
    with job.work_directory(os.path.dirname(os.path.abspath(base))) as work:
        for suffix, terminal in TERMINALS.items():
            lines = ["set encoding utf8",
                     "set terminal " + terminal.format(w=max(columns * size[0], 10 * len(title)),
                                                       h=rows * size[1] + 40),
                     f"set output {quoted(base + suffix)}",
                     f"set multiplot layout {rows},{columns} title {quoted(title)} noenhanced",
                     "set border 3", "set tics nomirror", "set grid ytics lc rgb '#dddddd'"]
            for p in panels:
                lines += ["set xtics autofreq", "set xrange [*:*]", *p.setup]
                lines += [f"$BLOCK{i} << EOD\n{b}\nEOD" for i, b in enumerate(p.blocks)]
                lines.append("plot " + ", ".join(p.plots))
            lines.append("unset multiplot")
            with open(f"{work}/plot", "w") as f:
                f.write("\n".join(lines) + "\n")
            job.run(["gnuplot", f"{work}/plot"])
            written.append(base + suffix)
    return written
