# SPDX-License-Identifier: GPL-3.0-or-later
"""The machine and the programs of a measurement. Nothing is guessed: unreadable values are null."""

import datetime
import json
import os
import platform
import re
import shutil
import sys

from . import job


def read(path):
    """Return the text of a file, or "" if it cannot be read."""
    try:
        with open(path) as f:
            return f.read()
    except OSError:
        return ""


def _field(text, name):
    m = re.search(rf"^{re.escape(name)}\s*[:=]\s*\"?([^\"\n]*)", text, re.M)
    return m.group(1).strip() if m else None


def _kib(text, name):
    value = _field(text, name)
    return int(value.split()[0]) * 1024 if value else None


def processors():
    """Return the number of processors on which this process may run."""
    return len(os.sched_getaffinity(0))


def _cores(cpuinfo):
    pairs = set(zip(re.findall(r"^physical id\s*: (\d+)", cpuinfo, re.M),
                    re.findall(r"^core id\s*: (\d+)", cpuinfo, re.M)))
    return len(pairs) or None


def cgroup_limit_bytes():
    """Return the least memory limit of the control groups of this process (version 1 and 2), or None."""
    limits = []
    for line in read("/proc/self/cgroup").splitlines():
        _, kinds, path = line.split(":", 2)
        base = "/sys/fs/cgroup/memory" if "memory" in kinds.split(",") else "/sys/fs/cgroup"
        for where in {base + path.rstrip("/"), base}:
            for name in ("memory.max", "memory.limit_in_bytes"):
                text = read(f"{where}/{name}").strip()
                if text.isdigit() and int(text) < 1 << 60:
                    limits.append(int(text))
    return min(limits, default=None)


def file_system(path):
    """Return type, device, options and sizes of the file system that contains path."""
    real, best = os.path.realpath(path), {"mount": "", "type": None}
    try:
        st = os.statvfs(path)
    except OSError as e:
        raise job.Failed(f"cannot look at '{path}': {e.strerror}") from e
    for line in read("/proc/self/mountinfo").splitlines():
        left, right = line.split(" - ", 1)
        mount = left.split()[4].replace("\\040", " ")
        inside = real == mount or real.startswith(mount.rstrip("/") + "/")
        if inside and len(mount) >= len(best["mount"]):
            kind, device = right.split()[:2]
            best = {"mount": mount, "type": kind, "device": device, "options": left.split()[5]}
    if best["type"] is None:  # in a chroot, there may be no line for the root
        best["type"] = job.run(["stat", "-f", "-c", "%T", path]).out.strip()
    return {**best, "bytes": st.f_blocks * st.f_frsize, "free_bytes": st.f_bavail * st.f_frsize}


def describe():
    cpu, mem = read("/proc/cpuinfo"), read("/proc/meminfo")
    return {
        "cpu": _field(cpu, "model name"), "mhz": _field(cpu, "cpu MHz"),
        "cores": _cores(cpu), "processors": processors(), "arch": platform.machine(),
        "memory_bytes": _kib(mem, "MemTotal"), "available_bytes": _kib(mem, "MemAvailable"),
        "cgroup_memory_bytes": cgroup_limit_bytes(), "swap_bytes": _kib(mem, "SwapTotal"),
        "kernel": platform.release(), "system": _field(read("/etc/os-release"), "PRETTY_NAME"),
        "load": os.getloadavg()[0],
    }


def memory_bytes():
    """Return the bytes of memory that a process may use."""
    limit = cgroup_limit_bytes()
    available = _kib(read("/proc/meminfo"), "MemAvailable") or 0
    return min(available, limit) if limit else available


# Memory for a sort, in sizes of the input: the records, what sorts them, and the output in the page cache.
FRESH_PER_INPUT = 3
TOUCH = """import mmap, sys
populate = getattr(mmap, "MAP_POPULATE", 0x8000)
mmap.mmap(-1, int(sys.argv[1]), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | populate)"""


def give_memory(input_bytes):
    """Use, and free again, the memory that a sort of an input of this size takes. Return its number of bytes. The
    host of a virtual machine takes back memory that is free for some seconds. The next command that uses this
    memory waits for the host, several times as long as copying takes, and chance would decide which command that
    is. A separate process uses the memory, because the peak memory of a process that starts a command counts as
    the command's."""
    some = min(FRESH_PER_INPUT * input_bytes, memory_bytes() * 8 // 10)
    if some > 0:
        job.run([sys.executable, "-c", TOUCH, str(some)], statuses=None)
    return some


def _version(*argv):
    if not shutil.which(argv[0]):
        return None
    text = job.run(list(argv), statuses=None)
    return (text.out + text.err).strip().split("\n")[0]


def versions(bin_folder):
    """Return compiler and flags of this build, and the versions of all measured programs."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    build = read(f"{bin_folder}/bench/build.json")
    return {
        "hetsort": _version(f"{bin_folder}/hetsort", "--version"),
        "commit": _version("git", "-C", root, "describe", "--always", "--dirty")
        if os.path.exists(f"{root}/.git") else None,
        "build": json.loads(build) if build else None, "mpirun": _version("mpirun", "--version"),
        "sort": _version("sort", "--version"), "duckdb": _version("duckdb", "--version"),
        "python": platform.python_version(),
    }


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
