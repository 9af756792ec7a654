# SPDX-License-Identifier: GPL-3.0-or-later
"""Sorts of files: starts the program hetsort, reads its messages, and ends it if the caller is
interrupted."""
import collections
import errno
import json
import os
import re
import subprocess
import tempfile

from ._errors import INVALID, InvalidError, JobError, MissingFileError, OutputExistsError

Progress = collections.namedtuple("Progress", "phase fraction elapsed_s left_s text")
Progress.__doc__ = """The progress of a sort: phase; fraction, the finished part of the job (0 to 1);
elapsed_s, the seconds since the beginning; left_s, the seconds until the end; and text, the line that the
program printed. fraction and left_s are None if unknown."""

# The exceptions for messages about a file, which quote its name.
_OF_A_FILE = [(re.compile(r"'(.*)' exists"), OutputExistsError),
              (re.compile(r"'(.*)': %s$" % re.escape(os.strerror(errno.ENOENT))), MissingFileError)]
_PEER = 5  # exit status: another rank failed
# Variables with which Open MPI, MPICH and Slurm start the ranks of a job. If the caller is a rank, a launcher that
# inherits them refuses to start another job, or joins the caller's.
_OF_A_RANK = re.compile(r"(PMIX|PMI|PRTE|HYDI|HYDRA)_|MPI_LOCAL|OMPI_(COMM_|UNIVERSE_|MCA_(orte|ess|prte)_?)")
_LINE = re.compile(r"hetsort: ((\w+)(?: \d|, ).*)")
_PERCENT, _LEFT = re.compile(r", job (\d+)%"), re.compile(r", (\d+(?::\d\d)+) left")
_ELAPSED = re.compile(r", (\d+(?::\d\d)+)(?:,|$)")


def _seconds(clock):
    total = 0
    for part in clock.split(":"):
        total = 60 * total + int(part)
    return total


def _progress(line):
    """Convert a line of --progress to Progress. Return None for any other line."""
    said, elapsed = _LINE.fullmatch(line), _ELAPSED.search(line)
    if not said or not elapsed:
        return None
    percent, left = _PERCENT.search(line), _LEFT.search(line)
    return Progress(said[2], int(percent[1]) / 100 if percent else None, _seconds(elapsed[1]),
                    _seconds(left[1]) if left else None, said[1])


def _options(options):
    """Convert keywords to options: record_size=16 is --record-size=16. True is an option without a value, a
    list repeats the option, and None and False omit it."""
    for name, value in options.items():
        name = "--" + name.replace("_", "-")
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                yield name
            elif one is not None and one is not False:
                yield "%s=%s" % (name, os.fspath(one) if isinstance(one, os.PathLike) else one)


def _of_records(dtype, key, order):
    """Return the options for records of a type of numpy, with a key as for arrays."""
    import numpy  # installed, because the caller has a dtype

    from . import _keys

    dtype = numpy.dtype(dtype)
    return {"record_size": dtype.itemsize, "key": _keys.texts(_keys.parts(dtype, key, False, order))}


def _report(text):
    """Return the report in the output of the program, which may begin with other text, or None without a
    report."""
    at = text.find("{\n")
    try:
        return json.loads(text[at:]) if at >= 0 else None
    except ValueError:
        return None


def _error(status, text, rank, report):
    """Return the exception for a message."""
    for sentence, kind in _OF_A_FILE:
        named = sentence.search(text)
        if named:
            return kind(status, text, rank, report, named[1])
    return JobError(status, text, rank, report)


def _failure(status, lines, report):
    """Return the exception for the rank that failed first, not for a rank that ended because of that
    failure."""
    failed = [r for r in (report or {}).get("ranks", []) if r.get("error")]
    failed.sort(key=lambda r: r["error"]["code"] == _PEER)
    if failed:
        return _error(status, failed[0]["error"]["message"], failed[0]["rank"], report)
    said = [line[len("hetsort: "):] for line in lines if line.startswith("hetsort: ")]
    text = (said or lines or ["hetsort ended with status %d" % status])[0]
    rank = re.match(r"rank (\d+)", text)
    return _error(status, text, rank and int(rank[1]), report)


def _environment():
    """Return the environment for a launcher. Unlike the environment of the process, os.environ does not have
    the variables that MPI has set since the start of a program without a launcher."""
    rank = "PMIX_RANK" in os.environ or "PMI_RANK" in os.environ
    return {name: value for name, value in os.environ.items() if not (rank and _OF_A_RANK.match(name))}


def _listen(process, progress):
    """Call progress() for each line of progress, until the program closes its standard error. Return the
    other lines."""
    lines = []
    for line in process.stderr:
        line = line.rstrip("\n")
        now = _progress(line) if progress else None
        if now:
            progress(now)
        else:
            lines.append(line)
    return lines


def _start(command, program, **options):
    try:
        return subprocess.Popen(command, **options)
    except FileNotFoundError as reason:
        if reason.filename != program:
            raise
        raise FileNotFoundError(reason.errno, "the program hetsort is missing: install it, or set HETSORT_PROGRAM "
                                "to its path", program) from None


def sort_file(inputs, output, *, dtype=None, key=None, order=None, progress=None, launcher=(), program=None,
              **options):
    """Sort the records of a file, or of several files as if they were one. Return the report of the program
    as a dict; hetsort(7) describes it.

    dtype     the numpy type of the records; key and order are then as for sort(). Without dtype, key is a text
              in the format of --key, "8,u64,desc", or a list of such texts, and record_size is the record size.
    progress  a function that is called with Progress about once per second. If it raises an exception, the
              sort ends without an output, as after Control-C.
    launcher  the command that starts several ranks: ["mpirun", "-n", "4"]. Without it, one process sorts, with
              --launcher=none, also if the caller is a rank of an MPI program. With it, the job of the
              launcher is separate from the caller's, and the variables of the caller's launcher are unset.
    program   the program; by default HETSORT_PROGRAM, or hetsort in PATH.

    All other keywords are options of the program: threads=4, memory="8G", tmpdir=["/a", "/b"],
    force=True. A failure raises JobError. If a file exists that would be written, this is also a
    FileExistsError, and if a file is missing, a FileNotFoundError."""
    if os.fspath(output) in ("-", b"-"):
        raise InvalidError(INVALID, "the output must be a file")
    if isinstance(launcher, str):
        raise InvalidError(INVALID, 'launcher must be a list, such as ["mpirun", "-n", "4"]')
    inputs = [inputs] if isinstance(inputs, (str, bytes, os.PathLike)) else list(inputs)
    if not inputs:
        raise InvalidError(INVALID, "there is no input")
    options["key"] = key
    if dtype is not None:
        options.update(_of_records(dtype, key, order))
    if progress:
        options["progress"] = 1
    program = program or os.environ.get("HETSORT_PROGRAM", "hetsort")
    command = [*launcher, program, *([] if launcher else ["--launcher=none"]), *_options(options),
               "--report=-", "--output=%s" % os.fsdecode(output), "--", *map(os.fsdecode, inputs)]
    with tempfile.TemporaryFile("w+") as printed, _start(
            command, program, env=_environment() if launcher else None, stdin=subprocess.DEVNULL, stdout=printed,
            stderr=subprocess.PIPE, text=True, errors="replace") as process:
        try:
            lines = _listen(process, progress)
            status = process.wait()
        except BaseException:
            process.terminate()
            process.stderr.close()
            process.wait()
            raise
        printed.seek(0)
        report = _report(printed.read())
    if status or report is None:
        raise _failure(status, lines, report)
    return report
