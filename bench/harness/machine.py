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
    """The file's text; empty where it cannot be read."""
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
    """Those this process may run on."""
    return len(os.sched_getaffinity(0))


def _cores(cpuinfo):
    pairs = set(zip(re.findall(r"^physical id\s*: (\d+)", cpuinfo, re.M),
                    re.findall(r"^core id\s*: (\d+)", cpuinfo, re.M)))
    return len(pairs) or None


def cgroup_limit_bytes():
    """The least memory limit of the groups this process is in (version 1 and 2), or None."""
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
    """The mount that path is on: its type, device and options."""
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
    if best["type"] is None:  # below chroot(8) there may be no line for the root
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


# Of the input: an output, the records in memory, and what sorts them.
FRESH_PER_INPUT = 3
TOUCH = """import mmap, sys
populate = getattr(mmap, "MAP_POPULATE", 0x8000)
mmap.mmap(-1, int(sys.argv[1]), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | populate)"""


def give_memory(input_bytes):
    """Use once, and free, as much memory as a sort of so large an input takes; returns how much. The host
    of a virtual machine takes back what lies free for some seconds, and who uses it next waits for the host
    several times as long as copying takes: which command that is would be chance. A process of its own
    does it, as the peak of who starts a command counts as the command's."""
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
    """Compiler and flags of this build, and the versions of all programs that take part."""
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
