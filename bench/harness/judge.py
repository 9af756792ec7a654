# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes inputs with gensort, and checks with valsort that outputs have the same records, in order. The two
programs share no code with the sorter."""

import os
import re

from .job import Failed, run

RECORD_BYTES = 100


class Input:
    """A file of records, with their number and checksum, which the output must have, too."""

    def __init__(self, path, records, kind, checksum):
        self.path, self.records, self.kind, self.checksum = path, records, kind, checksum
        self.bytes = records * RECORD_BYTES
        self.duplicates = None  # known after an output was checked


class Verdict:
    """The result of valsort for a file."""

    def __init__(self, done):
        self.text = done.err.strip()
        self.records = int(self._number(r"Records: (\d+)") or 0)
        self.checksum = self._number(r"Checksum: ([0-9a-f]+)")
        self.duplicates = self._number(r"Duplicate keys: (\d+)")
        self.ordered = done.status == 0 and "SUCCESS" in self.text

    def _number(self, pattern):
        m = re.search(rf"^{pattern}$", self.text, re.M)
        return m.group(1) if m else None


FLAGS = {"binary": [], "ascii": ["-a"], "skew": ["-s"]}


def checksum(bin_folder, records, kind):
    """Return the checksum of the records that gensort makes, without writing a file."""
    return run([f"{bin_folder}/gensort", "-c", *FLAGS[kind], str(records), "/dev/null"]).err.strip()


def make_input(bin_folder, path, records, kind="binary"):
    made = run([f"{bin_folder}/gensort", "-c", *FLAGS[kind], "--no-fsync", str(records), path])
    return Input(path, records, kind, made.err.strip())


def look(bin_folder, path):
    """Return the verdict of valsort on a file."""
    return Verdict(run([f"{bin_folder}/valsort", path], statuses=(0, 1)))


def same_records(name, verdict, want):
    if verdict.records != want.records:
        raise Failed(f"{name}: the output has {verdict.records} records, the input {want.records}")
    if verdict.checksum != want.checksum:
        raise Failed(f"{name}: the output has other records: checksum {verdict.checksum}, not {want.checksum}")


def sorted_output(name, bin_folder, path, want):
    """Raise Failed unless the file `path` has the records of `want`, in order. Return the verdict."""
    if not os.path.exists(path):
        raise Failed(f"{name}: wrote no output")
    verdict = look(bin_folder, path)
    same_records(name, verdict, want)
    if not verdict.ordered:
        raise Failed(f"{name}: not in order: {verdict.text.splitlines()[0]}")
    want.duplicates = verdict.duplicates
    return verdict
