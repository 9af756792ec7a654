# SPDX-License-Identifier: GPL-3.0-or-later
"""Where an experiment runs: virtual hosts (scripts/cluster), real hosts that cpuburn slows, or hetsim. All hosts read the
same file. An output is validated before its time counts."""

import contextlib
import json
import os
import threading

from . import hosts, job, judge, machine, simulation

BIN = job.BIN
# The phase in which a rank waits for blocks of other ranks. All other phases are its own work.
WAITING = "exchange"
LAST = ("exchange", "merge", "write")  # the phases after the last point where all ranks wait
EXCHANGE_THREADS = ("messages", "sender")
REAL_PER_HOST, REAL_IN_ALL = (2000, 8000), 64000  # records that a simulation really sorts


class Sample:
    """The figures of one job: seconds; waiting, the part of the time without own work; finish_spread, the difference between
    the first and the last rank that had written its output, as a part of the last; predicted_s, or None; busy, a dictionary
    of what else the machine did; and the report, as text."""

    def __init__(self, text, busy, seconds=None):
        report = json.loads(text)
        ranks = report["ranks"]
        self.text, self.busy = text, busy
        self.seconds = seconds or report["total_s"]
        own = [sum(s for name, s in r["phases_s"].items() if name != WAITING) for r in ranks]
        last = [sum(r["phases_s"][name] for name in LAST) for r in ranks]
        finish = [report["total_s"] - max(last) + s for s in last]
        self.waiting = 1 - sum(own) / len(ranks) / report["total_s"]
        self.finish_spread = (max(finish) - min(finish)) / max(finish)
        self.predicted_s = max([(report.get("shares") or {}).get("planned_s") or 0, *(r["predicted_s"] or 0 for r in ranks)])
        self.written = [r["records"]["out"] for r in ranks]

    def fields(self):
        return {"seconds": self.seconds, "predicted_s": self.predicted_s or None, "waiting": self.waiting,
                "finish_spread": self.finish_spread, "written": self.written, **self.busy}


def validate(directories, want):
    """Raise Failed unless the files out.0, out.1 ... in the directories together are the records of `want` in order. Remove
    them."""
    sums = os.path.join(directories[0], "sums")
    with open(sums, "wb") as whole:
        for k, directory in enumerate(directories):
            part = os.path.join(directory, f"out.{k}")
            if not os.path.exists(part):
                raise job.Failed(f"hetsort: rank {k} wrote no output")
            if os.path.getsize(part):
                job.run([f"{BIN}/valsort", "-q", "-o", f"{part}.sum", part], statuses=(0, 1))
                with open(f"{part}.sum", "rb") as f:
                    whole.write(f.read())
            job.remove(part, f"{part}.sum")
    verdict = judge.Verdict(job.run([f"{BIN}/valsort", "-s", sums], statuses=(0, 1)))
    judge.same_records("hetsort", verdict, want)
    if not verdict.ordered:
        raise job.Failed(f"hetsort: not in order: {verdict.text.splitlines()[0]}")


def online(options, number, variant):
    """Return options that give --plan online a new file in each round."""
    learns = any(o in ("--plan=online", "online") for o in options) and not any(o.startswith("--wisdom") for o in options)
    return [*options, "--wisdom", f"wisdom.{number}.{variant.name}"] if learns else options


class Place:
    """A place, for a with statement. A subclass has `name`, `ignored`: the properties of hosts that have no meaning there,
    missing(a), start(), and sort(). once: all jobs of a variant take the same time. seconds: hosts have second processors."""

    once, seconds = False, False

    def __init__(self, experiment, case, a):
        self.experiment, self.case, self.a = experiment, case, a
        self.stack = contextlib.ExitStack()

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            self.stack = stack
            self.start()
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self.stack.close()

    @staticmethod
    def missing(_a):
        return None

    def notes(self):
        """Return sentences about what the file asks for and this place does not have."""
        given = {p for h in self.case.hosts for p in h.given} & set(self.ignored)
        left = [v.name for v in self.case.variants if not self.has(v)]
        return ([f"{', '.join(sorted(given))}: not set on {self.name}"] if given else []) + (
            [f"{', '.join(left)}: omitted, because {self.name} have no second processor of another speed"] if left else [])

    def has(self, variant):
        """Return whether a variant can run here."""
        return self.seconds or not variant.second

    def job(self, variant, number):
        """Run the variant once, with all its changes. Return the Sample."""
        options = online(self.case.options(variant), number, variant)
        changes = [c for c in self.case.changes if not variant.steady and c.host < (variant.hosts or len(self.case.hosts))]
        whole_s = None
        if any(c.part is not None for c in changes):
            whole_s = self.sort(variant, options, []).seconds
        return self.sort(variant, options, [(c, c.seconds if c.part is None else whole_s * c.part) for c in changes])

    def argv(self, options, source, out):
        return ["-q", "-f", "--no-fsync", "--direct", "never", "--report", "report", *options, "-o", out, source]


class Virtual(Place):
    name, ignored, seconds = "virtual hosts", ("cores", "mem", "disk", "lat"), True

    @staticmethod
    def missing(_a):
        return hosts.available()

    def start(self):
        second = max(v.second for v in self.case.variants)
        work = self.stack.enter_context(job.work_directory(os.environ.get("TMPDIR", "/tmp")))
        self.hosts = self.stack.enter_context(hosts.Hosts(
            self.case.speeds, rates=[self._rate(h.net) if "net" in h.given else "max" for h in self.case.hosts],
            directory=self.a.dir, second=second, burn=self.a.burn))
        self.input = judge.make_input(BIN, f"{work}/in", self.experiment.records, self.experiment.keys)

    @staticmethod
    def _rate(bits):
        return f"{bits / 1e6:.6g}mbit"

    def _change(self, change):
        if change.what == "speed":
            self.hosts.set_speed(change.host, change.value)
        else:
            self.hosts.set_rate(change.host, self._rate(change.value))

    def sort(self, variant, options, changes):
        ranks = variant.hosts or self.hosts.count
        argv = [f"{BIN}/hetsort", "--threads", "1", *self.argv(options, self.input.path, "out.%r")]
        report = os.path.join(self.hosts.directories[0], "report")
        job.remove(report)
        machine.give_memory(self.input.bytes)
        start_s = self.before_s if changes else 0
        with Changes([(c, s + start_s) for c, s in changes], self._change):
            done, busy = self.hosts.mpirun(ranks, argv, EXCHANGE_THREADS if variant.second else ())
        for change, _ in changes:
            self.hosts.set_speed(change.host, self.case.speeds[change.host])
            self.hosts.set_rate(change.host, self.hosts.rates[change.host])
        validate(self.hosts.directories[:ranks], self.input)
        sample = Sample(machine.read(report), busy)
        self.before_s = done.seconds - sample.seconds
        return sample

    before_s = 0.0  # from the start of mpirun to the start of the sort, in the last job


class Changes:
    """Applies changes after some seconds, for a with statement."""

    def __init__(self, changes, apply):
        self.timers = [threading.Timer(after_s, self._apply, (apply, change)) for change, after_s in changes]
        self.failure = None

    def _apply(self, apply, change):
        try:
            apply(change)
        except job.Failed as e:
            self.failure = e

    def __enter__(self):
        for t in self.timers:
            t.start()

    def __exit__(self, *_):
        for t in self.timers:
            t.cancel()
            t.join()
        if self.failure:
            raise self.failure


class Real(Place):
    """The hosts of a hostfile. --dir is a directory that all of them share."""

    name, ignored = "the hosts of a hostfile", ("cores", "mem", "disk", "net", "lat")

    @staticmethod
    def missing(a):
        if not a.hostfile:
            return "--on hostfile requires --hostfile FILE"
        return None if os.access(a.hostfile, os.R_OK) else f"cannot read '{a.hostfile}'"

    def start(self):
        if self.case.changes:
            raise job.Failed("'at' is for --on cluster and --on hetsim, because the hosts of a hostfile do not change")
        self.work = self.stack.enter_context(job.work_directory(self.a.dir))
        self.input = judge.make_input(BIN, f"{self.work}/in", self.experiment.records, self.experiment.keys)
        fastest = max(self.case.speeds)
        self.slow = [fastest / s for s in self.case.speeds]

    def _run(self, ranks, slow, argv):
        slow = ",".join(f"{k}={f:.6g}" for k, f in enumerate(slow) if f > 1)
        return job.run([hosts.CLUSTER, "run", "--hostfile", os.path.abspath(self.a.hostfile), "-n", str(ranks), *(["--slow", slow] if slow else []),
                        "--", *argv], cwd=self.work)

    def _ticks(self, ranks):
        """Return the idle, stolen and total ticks of each host."""
        text = self._run(ranks, [], ["grep", "^cpu ", hosts.STAT]).out
        return [hosts.ticks_of(line) for line in text.splitlines() if line.startswith("cpu ")]

    def sort(self, variant, options, changes):
        ranks = variant.hosts or len(self.slow)
        before = self._ticks(ranks)
        idle = self._ticks(ranks)
        self._run(ranks, self.slow[:ranks], [f"{BIN}/hetsort", *self.argv(options, self.input.path, f"{self.work}/out.%r")])
        busy = hosts.judged([hosts.percents(a, b) for a, b in zip(before, idle)],
                            [hosts.percents(a, b) for a, b in zip(idle, self._ticks(ranks))], False)
        validate([self.work] * ranks, self.input)
        return Sample(machine.read(f"{self.work}/report"), busy)


class Simulated(Place):
    """hetsim. A job of some thousand records per host stands for the whole one, and always takes the same time."""

    name, ignored, once = "simulated hosts", (), True

    def start(self):
        self.work = self.stack.enter_context(job.work_directory(os.environ.get("TMPDIR", "/tmp")))
        keys = None if self.experiment.keys == "binary" else judge.FLAGS[self.experiment.keys]
        self.simulator = simulation.Simulator(self.work, keys)

    def sort(self, variant, options, changes):
        case, records = self.case, self.experiment.records
        count = variant.hosts or len(case.hosts)
        platform = simulation.Lines(case.speeds[:count], [h.line() for h in case.hosts[:count]] +
                                    [c.line(s) for c, s in changes])
        least, most = REAL_PER_HOST
        per_host = min(-(-records // count), max(least, min(most, REAL_IN_ALL // count)))
        options = [f"--wisdom={self.work}/{o}" if before == "--wisdom" else o
                   for before, o in zip(["", *options], options) if o != "--wisdom"]
        report = self.simulator.sort(platform, records, per_host, [*options, f"--report={self.work}/report"])
        return Sample(machine.read(f"{self.work}/report"), {"disturbed": False}, report.makespan_s)


PLACES = {"cluster": Virtual, "hostfile": Real, "hetsim": Simulated}
