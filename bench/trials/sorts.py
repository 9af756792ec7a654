# SPDX-License-Identifier: GPL-3.0-or-later
"""hetsort on virtual hosts. Each host has its portion on its own disk before the measurement begins, and valsort
checks each output before its time counts."""

import json
import os

from harness import job, judge

BIN = job.BIN
# The phase in which a rank waits for blocks of other ranks. All other phases are its own work.
WAITING = "exchange"
LAST = ("exchange", "merge", "write")  # the phases after the last point where all ranks wait
EXCHANGE_THREADS = ("messages", "sender")


def joined(speeds):
    """Return the speeds as an argument for programs."""
    return ",".join(f"{s:.9g}" for s in speeds)


def shares(items, speeds, cost):
    """Return the shares by hetplan; equal shares if cost is None."""
    speeds = [1] * len(speeds) if cost is None else speeds
    said = job.run([f"{BIN}/hetplan", "share", "--items", str(items), "--speeds", joined(speeds), "--cost",
                    cost or "linear", "--csv"]).out
    return [int(line.split(",")[1]) for line in said.splitlines()[1:]]


def _spread(times):
    return (max(times) - min(times)) / max(times)


class Sample:
    """The figures of one run: makespan_s; finish_s, when each rank had written its output; ends_s, the seconds of
    own work of each rank; waiting, the part of the time without own work; and exchanging, the part in which the
    computing thread waited for blocks or moved them."""

    def __init__(self, report, busy):
        ranks = report["ranks"]
        self.makespan_s = report["total_s"]
        self.ends_s = [sum(s for name, s in r["phases_s"].items() if name != WAITING) for r in ranks]
        self.spread = _spread(self.ends_s)
        last = [sum(r["phases_s"][name] for name in LAST) for r in ranks]
        self.finish_s = [self.makespan_s - max(last) + s for s in last]
        self.finish_spread = _spread(self.finish_s)
        self.waiting = 1 - sum(self.ends_s) / len(ranks) / self.makespan_s
        self.exchanging = sum(r["phases_s"][WAITING] + r["move_s"] for r in ranks) / len(ranks) / self.makespan_s
        self.all_read_s = report["all_read_s"]
        self.adapt = report.get("adapt")
        self.written = [r["records"]["out"] for r in ranks]
        self.busy = busy

    def fields(self):
        return {"seconds": self.makespan_s, "all_read_s": self.all_read_s, "finish_s": self.finish_s,
                "finish_spread": self.finish_spread, "ends_s": self.ends_s, "spread": self.spread,
                "waiting": self.waiting, "exchanging": self.exchanging, "written": self.written, **self.busy}


class Sorter:
    """Sorts the same records repeatedly, in portions of several kinds."""

    def __init__(self, hosts, records):
        self.hosts, self.records = hosts, records
        self.checksum = judge.checksum(BIN, records, "binary")

    def portions(self, name, counts):
        first = 0
        for k, n in enumerate(counts):
            job.run([f"{BIN}/gensort", "--no-fsync", f"-b{first}", str(n), self._at(k, f"{name}.{k}")])
            first += n

    def _at(self, k, name):
        return os.path.join(self.hosts.directories[k], name)

    def gathered(self, name):
        """Link the portions of all hosts to the first host's disk. Return their names, for one rank that reads all
        of them."""
        there = [f"{name}.{k}" for k in range(self.hosts.count)]
        for k, part in enumerate(there[1:], 1):
            os.link(self._at(k, part), self._at(0, part))
        return there

    def argv(self, portions, options):
        """Return the command. portions is the name of the portions, or a list of files."""
        inputs = [f"{portions}.%r"] if isinstance(portions, str) else portions
        return [f"{BIN}/hetsort", "-q", "-f", "--no-fsync", "--threads", "1", "--report", "report",
                *options, "-o", "out.%r", *inputs]

    def sort(self, portions, options=(), ranks=None, second_cpu=False):
        """Sort once. Return the Sample. With second_cpu, the exchange threads use the hosts' second CPUs."""
        ranks = ranks or self.hosts.count
        job.remove(self._at(0, "report"))
        _, busy = self.hosts.mpirun(ranks, self.argv(portions, options), EXCHANGE_THREADS if second_cpu else ())
        return self.take(ranks, busy)

    def take(self, ranks, busy):
        """Check and remove the outputs of a job. Return the Sample of its report."""
        self._validate(ranks)
        with open(self._at(0, "report")) as f:
            return Sample(json.load(f), busy)

    def _validate(self, ranks):
        sums = self._at(0, "sums")
        with open(sums, "wb") as whole:
            for k in range(ranks):
                part = self._at(k, f"out.{k}")
                if not os.path.exists(part):
                    raise job.Failed(f"hetsort: rank {k} wrote no output")
                if os.path.getsize(part):
                    job.run([f"{BIN}/valsort", "-q", "-o", f"{part}.sum", part], statuses=(0, 1))
                    with open(f"{part}.sum", "rb") as f:
                        whole.write(f.read())
                job.remove(part, f"{part}.sum")
        verdict = judge.Verdict(job.run([f"{BIN}/valsort", "-s", sums], statuses=(0, 1)))
        judge.same_records("hetsort", verdict, judge.Input(sums, self.records, "binary", self.checksum))
        if not verdict.ordered:
            raise job.Failed(f"hetsort: not in order: {verdict.text.splitlines()[0]}")
