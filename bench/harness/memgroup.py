# SPDX-License-Identifier: GPL-3.0-or-later
"""A control group that limits the memory of its processes, including the page cache (versions 1 and 2)."""

import contextlib
import os
import signal
import time

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
    """A control group with a memory limit, and no swap. The caller removes its directory."""

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
        """Return the command that runs argv in the group."""
        return ["sh", "-c", 'echo $$ >"$0" && exec "$@"', f"{self.path}/cgroup.procs", *argv]

    def peak_bytes(self):
        """Return the peak memory of the group, or None. It includes the page cache, so it reaches the limit if
        large files are written."""
        text = machine.read(f"{self.path}/{self.peak_file}").strip()
        return int(text) if text else None

    def end(self):
        """Kill what is left in the group, and remove it."""
        for pid in machine.read(f"{self.path}/cgroup.procs").split():
            with contextlib.suppress(OSError):
                os.kill(int(pid), signal.SIGKILL)
        for _ in range(100):
            with contextlib.suppress(OSError):
                os.rmdir(self.path)
                return
            time.sleep(0.05)


@contextlib.contextmanager
def group(limit_bytes):
    """Make a Group for a with statement, or None if this user may not make groups."""
    try:
        g = Group(limit_bytes)
    except OSError:
        yield None
        return
    try:
        yield g
    finally:
        g.end()


def in_address_space(argv, limit_bytes):
    """Return the command that runs argv with a limit of its address space: without page cache, with mapped files."""
    return ["sh", "-c", 'ulimit -v "$0" && exec "$@"', str(limit_bytes >> 10), *argv]


def run(argv, limit_bytes, statuses=(0,), otherwise=None):
    """Call job.run() for argv in a Group. Return its result, and the peak memory of the group. Without a group,
    the peak is None, and otherwise(argv, limit_bytes) is called for the command, if it is given."""
    with group(limit_bytes) as g:
        if not g and otherwise:
            argv = otherwise(argv, limit_bytes)
        done = job.run(g.inside(argv) if g else argv, statuses)
        return done, g and g.peak_bytes()
