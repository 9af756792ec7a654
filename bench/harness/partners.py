# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands that are compared. A command sorts from file to file, and has synced the output when it ends,
unless its name says otherwise. Commands whose programs are missing are omitted."""

import os
import shutil

from . import machine
from .job import run

# How a run is checked. OUTPUT: the output has the records of the input, in order. COPY: in any order. CHECKSUM:
# the program has printed the checksum of the input. VERDICT: valsort has printed number and checksum of the input.
# SECONDS: the program has measured and printed the time itself.
OUTPUT, COPY, CHECKSUM, VERDICT, SECONDS = "output", "copy", "checksum", "verdict", "seconds"

# DuckDB reads and writes lines, without quoting, and with a separator that occurs in no record. It may drop the
# carriage return at the end of a line, so restore_lines() restores it before the output is checked.
DUCKDB = r"""SET temp_directory = '{work}'; COPY (SELECT l FROM read_csv('{input}', auto_detect = false,
 header = false, columns = {{'l': 'VARCHAR'}}, delim = e'\x01', quote = '') ORDER BY l[1:10])
 TO '{output}' (FORMAT csv, HEADER false, DELIMITER e'\x01', QUOTE '')"""


class Command:
    """A command to measure. argv may contain {input}, {output}, {report}, {bytes}, {records} and {work}."""

    def __init__(self, name, group, argv, judge=OUTPUT, kind="binary", after=None):
        self.name, self.group, self.argv, self.judge, self.kind = name, group, argv, judge, kind
        self.after = after  # called for the output before it is checked, and not measured
        self.reports = "{report}" in argv

    def arguments(self, names):
        return [a.format(**names) for a in self.argv]


def _shell(text, *arguments):
    """Return the command that runs a shell script. Names are its arguments, so that they need no quoting."""
    return ["sh", "-c", text, "sh", *arguments]


def restore_lines(path):
    """Restore the CR of lines that end only in LF."""
    run(_shell(r"""cr=$(printf '\r'); sed "s/$cr*\$/$cr/" "$1" >"$1.lines" && mv "$1.lines" "$1" """, path))


def _hetsort(bin_folder, *options):
    return [f"{bin_folder}/hetsort", *options, "--report", "{report}", "-o", "{output}", "{input}"]


def _floors(bin_folder):
    return [
        Command("memcpy", "floor", [f"{bin_folder}/bench/floor", "copy", "{bytes}", "1"], SECONDS),
        Command("cp + fsync", "floor", _shell('cp "$1" "$2" && sync "$2"', "{input}", "{output}"), COPY),
    ]


def _ours(bin_folder):
    return [
        Command("hetsort", "hetsort", _hetsort(bin_folder)),
        Command("hetsort --ranks 2", "hetsort", _hetsort(bin_folder, "--ranks", "2")),
        Command("hetsort --ranks 2 --strategy distribute", "hetsort",
                _hetsort(bin_folder, "--ranks", "2", "--strategy", "distribute")),
    ]


def _mpi(bin_folder):
    mpirun = os.path.join(os.path.dirname(__file__), "..", "..", "scripts", "mpirun")
    if run([mpirun, "--here"], statuses=None).status != 0:
        return []
    return [Command(f"mpirun -n {n} hetsort", "mpi", [mpirun, str(n), *_hetsort(bin_folder)])
            for n in (2, 4)]


def peer_versions(bin_folder):
    """Return {peer: version of its library}, which is empty if there was no C++ compiler."""
    peers = f"{bin_folder}/bench/peers"
    if not os.path.exists(peers):
        return {}
    return dict(line.split("\t") for line in run([peers, "--list"]).out.splitlines())


def _peers(bin_folder):
    return [Command(name, "peers", [f"{bin_folder}/bench/peers", name, "{input}", "{output}"])
            for name in peer_versions(bin_folder)]


def _lines(bin_folder):
    threads = machine.processors()
    sort = (f'LC_ALL=C sort --parallel={threads} -S 8G -k1.1,1.10 -T "$3" -o "$2" "$1" && sync "$2"')
    commands = [
        Command("hetsort, ASCII", "ascii", _hetsort(bin_folder), kind="ascii"),
        Command("GNU sort, ASCII", "ascii", _shell(sort, "{input}", "{output}", "{work}"), kind="ascii"),
    ]
    if shutil.which("duckdb"):
        text = 'duckdb -c "$1" && sync "$2"'
        commands.append(Command("DuckDB, ASCII", "ascii", _shell(text, DUCKDB, "{output}"),
                                kind="ascii", after=restore_lines))
    return commands


def _start(bin_folder):
    """Commands that take little more than the time to start and to end. hetsort does not sync, like sort."""
    hetsort, files = f"{bin_folder}/hetsort", ["-o", "{output}", "{input}"]
    commands = [Command("hetsort --help", "start", [hetsort, "--help"], None),
                Command("sort --help", "start", ["sort", "--help"], None)]
    for records in (1, 1000):
        kind = f"ascii, {records}"
        commands += [Command(f"hetsort, {records} lines", "start", [hetsort, "--no-fsync", *files], kind=kind),
                     Command(f"GNU sort, {records} lines", "start", ["env", "LC_ALL=C", "sort", "-k1.1,1.10", *files],
                             kind=kind)]
    return commands


def _generator(bin_folder):
    gensort, valsort = f"{bin_folder}/gensort", f"{bin_folder}/valsort"
    return [
        Command("gensort -c, no output", "gensort", [gensort, "-c", "{records}", "/dev/null"], CHECKSUM),
        Command("gensort", "gensort", [gensort, "{records}", "{output}"], COPY),
        Command("valsort", "gensort", [valsort, "{input}"], VERDICT),
    ]


def _generator_ways(bin_folder):
    """gensort with each kind of record, with and without checksum, and valsort, on one thread and on all."""
    commands = []
    gensort, valsort = f"{bin_folder}/gensort", f"{bin_folder}/valsort"
    for t in sorted({1, machine.processors()}):
        threads = f"-t{t}"
        for kind, flags in (("binary", ""), ("ascii", "-a"), ("skew", "-s")):
            words = f"gensort {flags} {threads}".replace("  ", " ")
            silent = ["{records}", "/dev/null"]
            made = [gensort, threads, *flags.split()]
            commands += [
                Command(f"{words}, no output", "generator", [*made, *silent], None, kind),
                Command(f"{words} -c, no output", "generator", [*made, "-c", *silent], CHECKSUM, kind),
            ]
        pipe = '"$1" "$3" "$4" - | "$2" "$3" - '
        commands += [
            Command(f"gensort {threads} -c", "generator", [gensort, threads, "-c", "{records}", "{output}"],
                    COPY),
            Command(f"valsort {threads}", "generator", [valsort, threads, "{input}"], VERDICT),
            Command(f"gensort {threads} - | valsort {threads} -", "generator",
                    _shell(pipe, gensort, valsort, threads, "{records}"), VERDICT),
        ]
    return commands


GROUPS = {"floor": _floors, "hetsort": _ours, "mpi": _mpi, "peers": _peers, "ascii": _lines,
          "start": _start, "gensort": _generator, "generator": _generator_ways}
USUAL = [g for g in GROUPS if g != "generator"]


def commands(bin_folder, groups):
    return [c for g in groups for c in GROUPS[g](bin_folder)]
