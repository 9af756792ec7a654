# SPDX-License-Identifier: GPL-3.0-or-later
"""A control group that bounds the memory of what runs in it, page cache and all (versions 1 and 2)."""

import contextlib
import os

from . import job, machine

ROOT = "/sys/fs/cgroup"
# version 1 and 2: directory, limit, limit of swap (or of memory and swap), peak
V1 = (f"{ROOT}/memory", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes",
      "memory.max_usage_in_bytes")
V2 = (ROOT, "memory.max", "memory.swap.max", "memory.peak")


def _write(path, text):
    with open(path, "w") as f:
        f.write(str(text))


class Group:
    """A group of its own, that outlives what runs in it until remove()."""

    def __init__(self, limit_bytes):
        version1 = os.path.isdir(V1[0])
        base, limit, swap, self.peak_file = V1 if version1 else V2
        self.path = f"{base}/hetsort-bench.{os.getpid()}"
        os.mkdir(self.path)
        try:
            _write(f"{self.path}/{limit}", limit_bytes)
            if os.path.exists(f"{self.path}/{swap}"):
                _write(f"{self.path}/{swap}", limit_bytes if version1 else 0)
        except OSError:
            os.rmdir(self.path)
            raise

    def inside(self, argv):
        """argv, run within the group."""
        return ["sh", "-c", 'echo $$ >"$0" && exec "$@"', f"{self.path}/cgroup.procs", *argv]

    def peak_bytes(self):
        """Page cache counts: a program that writes files fills what it may."""
        text = machine.read(f"{self.path}/{self.peak_file}").strip()
        return int(text) if text else None


@contextlib.contextmanager
def group(limit_bytes):
    """A Group, or None where this user can make none."""
    try:
        g = Group(limit_bytes)
    except OSError:
        yield None
        return
    try:
        yield g
    finally:
        with contextlib.suppress(OSError):
            os.rmdir(g.path)


def run(argv, limit_bytes, statuses=(0,)):
    """Run job.run within such a group. Return its result, and the peak of the group (None without a group)."""
    with group(limit_bytes) as g:
        done = job.run(g.inside(argv) if g else argv, statuses)
        return done, g and g.peak_bytes()
