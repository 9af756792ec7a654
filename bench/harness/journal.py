# SPDX-License-Identifier: GPL-3.0-or-later
"""Results as JSON lines, and as tables for people. The first line of a file describes the machine and the programs
("type": "setup"). One line for each sample follows, then lines with summaries."""

import json
import math
import os

from . import job, machine

FORMAT, VERSION = "hetsort-bench", 1


def _finite(value):
    """Return a value with null for numbers that JSON does not have."""
    if isinstance(value, dict):
        return {k: _finite(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class Journal:
    """Writes lines to a file, which gets its final name when it is complete."""

    def __init__(self, path, bench, bin_folder, **more):
        self.path = path
        self.bench = bench
        try:
            self.file = open(path + ".part", "w") if path else None
        except OSError as e:
            raise job.Failed(f"cannot write '{path}': {e.strerror}") from e
        self.line("setup", format=FORMAT, version=VERSION, date=machine.now(),
                  machine=machine.describe(), versions=machine.versions(bin_folder), **more)

    def line(self, kind, /, **fields):
        if self.file:
            self.file.write(json.dumps(_finite({"type": kind, "bench": self.bench, **fields})) + "\n")
            self.file.flush()

    def close(self):
        if self.file:
            self.file.close()
            os.rename(self.path + ".part", self.path)


def read_lines(path, key):
    """Return the objects of a file of JSON lines. Raise Failed if one does not have this key."""
    lines = []
    try:
        with open(path, encoding="utf-8") as f:
            for number, text in enumerate(f, 1):
                line = json.loads(text)
                if not isinstance(line, dict) or key not in line:
                    raise job.Failed(f"no line of a measurement: '{path}', line {number}")
                lines.append(line)
    except OSError as e:
        raise job.Failed(f"cannot read '{path}': {e.strerror}") from e
    except ValueError as e:
        raise job.Failed(f"not JSON: '{path}', line {len(lines) + 1}") from e
    return lines


def read(path):
    """Return all lines of a file that a Journal has written. Raise Failed if it is another file."""
    lines = read_lines(path, "type")
    if not lines or lines[0].get("format") != FORMAT:
        raise job.Failed(f"not a measurement: '{path}'")
    if lines[0].get("version") != VERSION:
        raise job.Failed(f"measured by another version: '{path}'")
    return lines


def number(value, form=".2f", unit=""):
    """Return a number as text, or "-" if it is missing."""
    return "-" if value is None or not math.isfinite(value) else f"{value:{form}}{unit}"


def table(head, rows):
    """Print a table. The first column is aligned to the left, the others to the right."""
    cells = [list(head)] + [["" if c is None else str(c) for c in row] for row in rows]
    wide = [max(len(row[i]) for row in cells) for i in range(len(head))]
    for row in cells:
        print("  ".join([row[0].ljust(wide[0])] + [c.rjust(w) for c, w in zip(row[1:], wide[1:])])
              .rstrip())


def machine_line(where):
    """Return a line that describes the machine and the file system, for people."""
    m, fs = machine.describe(), machine.file_system(where)
    return (f"{m['processors']} processors, {m['cpu']}, {(m['memory_bytes'] or 0) / 1e9:.0f} GB of memory,"
            f" Linux {m['kernel']}; '{where}' is {fs.get('type')}")
