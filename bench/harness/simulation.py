# SPDX-License-Identifier: GPL-3.0-or-later
"""Clusters for hetsim, the report of hetsim on a sort, and lower bounds for the time of every sort on a cluster."""

import array
import json
import math
import random
import sys

from . import job

RECORD_BYTES = 100
ON_WIRE = 1514 / 1448  # bytes on the wire per byte of data, with packet headers: hetsim(1)
SORT_S, MERGE_S, COPY_S, FILE_S = 4e-9, 0.45e-9, 0.35e-9, 0.66e-9  # hetsim(1), rates of a processor of speed 1
READING = 1 / 8  # of FILE_S


class Cluster:
    """A cluster. The second half of its hosts has speeds[1], the others speeds[0]. Its processors take `slower` times the
    seconds of hetsim's rates."""

    def __init__(self, hosts, net_gbit, speeds=(1, 1), disk=1e9, cores=1, slower=1, changes=()):
        self.speed = [speeds[0]] * (hosts - hosts // 2) + [speeds[1]] * (hosts // 2)
        self.net_gbit, self.disk, self.cores, self.slower, self.changes = net_gbit, disk, cores, slower, changes

    def write(self, path):
        rates = " ".join(f"{name} {1e9 * s * self.slower:.6f}ns"
                         for name, s in (("sort", SORT_S), ("merge", MERGE_S), ("copy", COPY_S), ("file", FILE_S)))
        with open(path, "w") as f:
            f.write(f"rates {rates}\n")
            for speed in sorted(set(self.speed), reverse=True):
                f.write(f"{self.speed.count(speed)} x speed {speed:.6f} cores {self.cores} disk {self.disk / 1e6:.0f}M/s "
                        f"net {self.net_gbit * 1000:.0f}M lat 20us mem 64G\n")
            f.write("".join(f"{line}\n" for line in self.changes))

    def user_options(self):
        """Return the options of a user: speeds relative to hetsim's rates, and the rates of links in MB/s."""
        return ["--speeds", ",".join(f"{s / self.slower:.6f}" for s in self.speed),
                "--links", ",".join([f"{self.net_gbit * 125:g}"] * len(self.speed))]

    def passes(self, records):
        """Return the least seconds that processors, disks and links need, each with the shares that are best for it: before
        the splitters are known, and after. In each pass, the busiest of the three is a lower bound."""
        p, total = len(self.speed), records * RECORD_BYTES
        passed_on = 1 - max(self.speed) / sum(self.speed)  # the fastest host's records stay there
        cpu = self.slower / (sum(self.speed) * self.cores)
        sort = SORT_S * records * math.log(max(records / p, 2))
        gather = MERGE_S / 2 + COPY_S
        disk = total / p / self.disk
        return ({"processors": (sort + (COPY_S + READING * FILE_S) * total) * cpu, "disk": disk},
                {"processors": (gather * (1 + passed_on) + COPY_S + FILE_S) * total * cpu, "disk": disk,
                 "link": total / p * (p - 1) / p * ON_WIRE / (self.net_gbit * 1e9 / 8)})

    def bound_s(self, records):
        """Return the lower bound of both passes, and its name: the busiest of processors, disks and links."""
        first, second = self.passes(records)
        return max((first.get(k, 0) + s, k) for k, s in second.items())


class Lines:
    """A cluster from lines of a platform, with the speeds of its hosts."""

    def __init__(self, speed, lines):
        self.speed, self.lines = speed, lines

    def write(self, path):
        with open(path, "w") as f:
            f.write("".join(f"{line}\n" for line in self.lines))


class Report:
    """The report of hetsim --json --hosts. Phases, memory and use are missing if the job failed."""

    def __init__(self, text, status, real_s, peak_rss_bytes):
        self.status, self.real_s, self.peak_rss_bytes = status, real_s, peak_rss_bytes
        try:
            report = json.loads(text)
        except ValueError:
            raise job.Failed("hetsim did not report") from None
        self.makespan_s = report["makespan_s"]
        self.mem_bytes = report.get("rank_memory_bytes", 0)
        hosts = [list(use.values()) for use in report.get("use", [])]  # % of processors, disk, link out, link in
        self.use = {"mean": [sum(column) / len(hosts) for column in zip(*hosts)], "most": [max(column) for column in zip(*hosts)]}
        # name -> seconds, collective calls, their seconds, bytes, messages, their bytes
        self.phase = {name: list(values.values()) for name, values in report.get("phases", {}).items()}

    def seconds(self, *names):
        """Return the seconds of phases: of the slowest rank, and of collective calls after the last rank's call."""
        return sum(self.phase[n][0] + self.phase[n][2] for n in names)


GOLDEN = (math.sqrt(5) - 1) / 2
KEY_BYTES = 8  # of the 10 bytes of a key; the other bytes of a record are 0


def spread_evenly(path, hosts, per_host):
    """Write records whose keys are spread as evenly as the keys of a million times more records. If the range of keys is
    divided into n equal parts, any n adjacent records of the file have about one key in each part. So this holds for any
    division of the file among ranks.

    The j-th key is the fractional part of j times the golden ratio (a Kronecker sequence), plus a random number below
    1/per_host to avoid a lattice."""
    rng = random.Random(1)
    with open(path, "wb") as f:
        for first in range(0, hosts * per_host, per_host):
            keys = array.array("Q", (int((j * GOLDEN + rng.random() / per_host) % 1 * 2**64)
                                     for j in range(first, first + per_host)))
            if sys.byteorder == "little":
                keys.byteswap()
            bytes_of = keys.tobytes()
            part = bytearray(per_host * RECORD_BYTES)
            for i in range(KEY_BYTES):
                part[i::RECORD_BYTES] = bytes_of[i::KEY_BYTES]
            f.write(part)


class Simulator:
    """Runs hetsim in a directory, in which inputs remain for the next sort. Keys are spread evenly, unless `keys` has the
    options of gensort."""

    def __init__(self, directory, keys=None):
        self.directory, self.keys, self.made = directory, keys, set()

    def _input(self, hosts, per_host):
        path = f"{self.directory}/in-{hosts}-{per_host}"
        if path not in self.made:
            if self.keys is None:
                spread_evenly(path, hosts, per_host)
            else:
                job.run([f"{job.BIN}/gensort", *self.keys, "--no-fsync", str(hosts * per_host), path])
            self.made.add(path)
        return path

    def sort(self, cluster, records, per_host, options=(), statuses=(0,)):
        """Simulate a sort of `records` records; per_host records are really sorted for each host. Return the Report."""
        hosts = len(cluster.speed)
        platform, out = f"{self.directory}/platform", f"{self.directory}/out"
        source = self._input(hosts, per_host)
        cluster.write(platform)
        done = job.run([f"{job.BIN}/hetsim", "--json", "--hosts", "-s", f"{records / (hosts * per_host):.6f}", platform, "--no-fsync", "-q",
                        "-f", "-o", out, *options, source], statuses)
        job.remove(out)
        return Report(done.out, done.status, done.seconds, done.peak_rss_bytes)
