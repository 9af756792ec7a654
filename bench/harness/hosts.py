# SPDX-License-Identifier: GPL-3.0-or-later
"""Virtual hosts of unequal speed (scripts/cluster), and a check whether other programs kept the machine busy."""

import contextlib
import os
import re
import subprocess
import threading
import time

from . import job, machine

CLUSTER = os.path.join(os.path.dirname(__file__), "..", "..", "scripts", "cluster")
STAT = "/proc/stat"
IDLE_PERCENT = 2   # if the CPUs are idle for less, hosts with shares of nine tenths of them got less than these
MOST_OF_ALL = 0.91
LOOK_S, BEFORE_PERCENT = 0.3, 85
STOLEN_PERCENT = 15
LEAST_SHARE = 0.0999
MOVE_S = 0.02


def fair_share(speeds, second=0):
    """Return the CPU share of a host of speed 1, if all hosts together leave a tenth of the CPUs unused. Each host
    has a second CPU that is `second` times as fast as its first."""
    return min(1.0, 0.9 * machine.processors() / sum(speeds) / (1 + second))


def ticks_of(line):
    """Return the ticks of all CPUs of a host, from the first line of its /proc/stat: idle, stolen by an underlying machine,
    and all."""
    t = [int(v) for v in line.split()[1:9]]
    return t[3] + t[4], t[7], sum(t)


def percents(then, now):
    """Return the percentages of idle and of stolen time between two ticks."""
    idle, stolen, total = (b - a for a, b in zip(then, now))
    return (100 * idle / total, 100 * stolen / total) if total > 0 else (100.0, 0.0)


def judged(before, during, has_slack):
    """Return the percentages of idle time before and during a run, and of stolen time, and whether other programs disturbed
    it, from the percents() of each machine. Before a run, no host is active; during it, some CPU time is unused if the shares
    of the hosts leave slack."""
    idle_before, idle, stolen = min(p[0] for p in before), min(p[0] for p in during), max(p[1] for p in during)
    disturbed = idle_before < BEFORE_PERCENT or stolen > STOLEN_PERCENT or (has_slack and idle < IDLE_PERCENT)
    return {"idle_before_percent": round(idle_before, 1), "idle_percent": round(idle, 1), "stolen_percent": round(stolen, 1),
            "disturbed": bool(disturbed)}


def _ticks():
    return ticks_of(machine.read(STAT))


class Watch:
    """Detects other programs on this machine, before and during a run."""

    def __init__(self):
        then = _ticks()
        time.sleep(LOOK_S)
        self.then = _ticks()
        self.before = percents(then, self.then)

    def end(self, has_slack):
        return judged([self.before], [percents(self.then, _ticks())], has_slack)


def available():
    """Return why virtual hosts are not available here, or None."""
    if os.geteuid() != 0:
        return "that takes root"
    said = job.run([CLUSTER, "doctor"], statuses=None)
    missing = re.findall(r"^missing (.*)$", said.out, re.M)
    if said.status != 0 or any("Open MPI" in m for m in missing):
        return "; ".join(missing) or "scripts/cluster doctor fails"
    return None


class Mover(threading.Thread):
    """Moves threads with certain names to the hosts' second CPUs, as soon as they appear."""

    def __init__(self, cpus, names):
        super().__init__(daemon=True)
        self.cpus, self.names = cpus, names  # (file of the threads of the first CPU, of the second CPU)
        self.over, self.moved = threading.Event(), 0

    def _move(self, thread, second):
        with contextlib.suppress(OSError):  # the thread has ended
            with open(f"/proc/{thread}/comm") as f:
                if f.read().strip() not in self.names:
                    return
            with open(second, "w") as f:
                f.write(thread)
            self.moved += 1

    def run(self):
        while not self.over.wait(MOVE_S):
            for first, second in self.cpus:
                with open(first) as f:
                    threads = f.read().split()
                for thread in threads:
                    self._move(thread, second)

    def end(self):
        self.over.set()
        self.join()


class Hosts:
    """Hosts n0, n1, ... for a with statement. A host has the CPU share of the fastest host, multiplied by its
    speed. Each host has a second CPU that is `second` times as fast as its first, for threads that a run names. With `burn`,
    all hosts have equal shares, and cpuburn uses up a part of the share of slow hosts while a program runs."""

    def __init__(self, speeds, cpu=None, rates=None, directory="/dev/shm", second=0, burn=False):
        self.factors = [max(speeds) / s for s in speeds] if burn else None
        self.speeds, self.count, self.second = [1.0] * len(speeds) if burn else list(speeds), len(speeds), second
        processors = machine.processors()
        self.cpu = cpu or fair_share(self.speeds, second)
        if self.cpu * min(self.speeds) < LEAST_SHARE:
            raise job.Failed(f"a host of speed {min(self.speeds):.3g} would have {self.cpu * min(self.speeds):.3g}"
                             f" of a CPU: less than {LEAST_SHARE} cannot be kept in periods of 10 ms")
        self.rates = rates or ["max"] * self.count
        self.directory, self.id = directory, None
        self.has_slack = self.cpu * sum(self.speeds) * (1 + second) <= MOST_OF_ALL * processors

    def _cluster(self, *words, **more):
        return job.run([CLUSTER, *(["--id", self.id] if self.id else []), *words], **more)

    def __enter__(self):
        job.leave_on_signals()
        up = self._cluster("up", str(self.count), "--cpu", f"{self.cpu:.4f}",
                           env={**os.environ, "TMPDIR": self.directory})
        self.id = up.out.strip()
        try:
            self.directories = [self._cluster("directory", f"n{k}").out.strip() for k in range(self.count)]
            for k in range(self.count):
                self.set_speed(k, self.speeds[k])
                self.set_rate(k, self.rates[k])
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.id:
            subprocess.run([CLUSTER, "down", self.id], check=False)
            self.id = None

    def set_speed(self, k, speed):
        """Set the speed of host k from now on, even while a program runs there."""
        self._cluster("cpu", f"n{k}", f"{self.cpu * speed:.4f}")

    def _second_cpus(self):
        return [self._cluster("second", f"n{k}", f"{self.cpu * self.speeds[k] * self.second:.4f}").out.split()
                for k in range(self.count)]

    def set_rate(self, k, rate):
        if rate != "max" or self.rates[k] != "max":
            self._cluster("rate", f"n{k}", rate)
        self.rates[k] = rate

    def limit_buffers(self, most_bytes):
        """Limit the buffers of all sockets from now on, so that a send ends only when the link has carried nearly
        all of it."""
        for k in range(self.count):
            for which in ("wmem", "rmem"):
                self._cluster("exec", f"n{k}", "sh", "-c",
                              f"echo 4096 65536 {most_bytes} >/proc/sys/net/ipv4/tcp_{which}")

    def mpirun_argv(self, ranks, argv):
        """Return the command for one rank on each of the first hosts, in the directory of the host."""
        if self.factors:
            argv = [CLUSTER, "rank", "--share", f"{self.cpu:.4f}", ",".join(f"{f:.6g}" for f in self.factors), *argv]
        return [CLUSTER, "--id", self.id, "mpirun", "-n", str(ranks),
                "--wdir", f"/run/hetsort-cluster/{self.id}/local", *argv]

    def mpirun(self, ranks, argv, on_second=()):
        """Run argv on the hosts, with the named threads on the second CPUs. Return (job.Done, result of
        Watch.end())."""
        mover = Mover(self._second_cpus() if on_second else [], on_second)
        watch = Watch()
        mover.start()
        try:
            done = job.run(self.mpirun_argv(ranks, argv))
        finally:
            mover.end()
        if on_second and not mover.moved:
            raise job.Failed(f"no thread named {' or '.join(on_second)} was seen")
        return done, watch.end(self.has_slack)
