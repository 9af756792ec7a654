# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes and their costs, caches, and a temporary directory."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

BIN = os.environ.get("BIN") or os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "bin"))
DROP_CACHES = "/proc/sys/vm/drop_caches"


class Failed(Exception):
    """A failure that ends a measurement, as a sentence."""


class Done:
    """The result and the costs of one command. peak_rss_bytes is the memory of the largest process: of the
    command, or of a child that it has waited for. It is at least the memory of this interpreter, about 15 MB. It
    includes pages of mapped files. written_bytes are those for disks, of all processes that were waited for."""

    def __init__(self, status, seconds, usage, out, err):
        self.status = status
        self.seconds = seconds
        self.cpu_s = usage.ru_utime + usage.ru_stime
        self.peak_rss_bytes = usage.ru_maxrss * 1024
        self.written_bytes = usage.ru_oublock * 512
        self.out, self.err = out, err


def _wait(child):
    """Call wait4, and do not leave without the child."""
    try:
        _, status, usage = os.wait4(child.pid, 0)
    except BaseException:
        child.terminate()
        child.wait()
        raise
    child.returncode = os.waitstatus_to_exitcode(status)
    return usage


def run(argv, statuses=(0,), cwd=None, env=None):
    """Run argv and wait. Raise Failed, with the last line of its output, unless its status is one of
    `statuses`."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.monotonic()
        try:
            child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=cwd,
                                     env=env)
        except OSError as e:
            raise Failed(f"cannot run '{argv[0]}': {e.strerror}") from e
        usage = _wait(child)
        seconds = time.monotonic() - start
        said = []
        for f in (out, err):
            f.seek(0)
            said.append(f.read().decode(errors="replace"))
    done = Done(child.returncode, seconds, usage, *said)
    if statuses is not None and done.status not in statuses:
        lines = (done.err.strip() or done.out.strip() or "without a word").splitlines()
        words = " ".join([w for w in lines if w.strip("- ")][-4:] if lines[-1].startswith("---") else lines[-1:])  # mpirun's frames
        raise Failed(f"'{' '.join(argv)}' ended with status {done.status}: {words}")
    return done


def cold():
    """Drop all files from memory. Return "cold", or "warm" if this user may not do so."""
    os.sync()
    try:
        with open(DROP_CACHES, "w") as f:
            f.write("3\n")
    except OSError:
        return "warm"
    return "cold"


def cache_of(file_system, warm):
    """Return a function to call before each command of a measurement on this file system. It prepares the
    caches, and returns their state."""
    if file_system["type"] in ("tmpfs", "ramfs"):
        return lambda: "in memory"
    return (lambda: "warm") if warm else cold


def leave_on_signals():
    """Let a signal that ends the program close open resources first."""
    def leave(number, _):
        raise SystemExit(128 + number)
    for s in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(s, leave)


@contextlib.contextmanager
def work_directory(parent):
    """Make a new directory below parent for a with statement. It is removed at the end, even after a signal."""
    leave_on_signals()
    try:
        path = tempfile.mkdtemp(prefix="hetsort-bench.", dir=parent)
    except OSError as e:
        raise Failed(f"cannot make a directory in '{parent}': {e.strerror}") from e
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def remove(*paths):
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            os.remove(path)


def start(name, main):
    """Run main() as the program `name`: on failure, print a sentence and exit with status 1."""
    try:
        main()
        sys.stdout.flush()
    except Failed as e:
        print(f"{name}: {e}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
