# SPDX-License-Identifier: GPL-3.0-or-later
"""The exceptions for failures of the library and of the program hetsort."""
import errno
import os


class Error(Exception):
    """A failed sort: status is the number, rank is the rank that failed first, or None, and str() the
    reason."""

    def __init__(self, status, text, rank=None):
        super().__init__(text)
        self.status = status
        self.rank = rank


class InvalidError(Error, ValueError):
    """An argument is invalid, or differs between the ranks."""


class ObjectsError(InvalidError, TypeError):
    """The records hold objects of Python."""


class RangeError(Error, ValueError):
    """Too many records for a rank or an array."""


class NoMemoryError(Error, MemoryError):
    """Out of memory."""


class PeerError(Error):
    """Another rank failed, or MPI did."""


class JobError(Error):
    """The program hetsort failed: status is its exit status, and report is its report as a dict, or
    None."""

    def __init__(self, status, text, rank=None, report=None):
        super().__init__(status, text, rank)
        self.report = report


class _FileError(JobError):
    """A JobError that is also an OSError, with its errno and filename."""

    def __init__(self, status, text, rank, report, filename):
        super().__init__(status, text, rank, report)
        self.errno = self._errno
        self.strerror = os.strerror(self._errno)
        self.filename = filename

    def __str__(self):
        return self.args[0]


class OutputExistsError(_FileError, FileExistsError):
    """The output, or another file that the program would write, exists."""

    _errno = errno.EEXIST


class MissingFileError(_FileError, FileNotFoundError):
    """An input, or another file or directory, is missing."""

    _errno = errno.ENOENT


# The exception for each status of the library.
KINDS = {1: InvalidError, 2: RangeError, 3: NoMemoryError, 4: PeerError}
INVALID, PEER = 1, 4
