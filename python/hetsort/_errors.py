# SPDX-License-Identifier: GPL-3.0-or-later
"""What becomes of failures, of the library and of the program."""


class Error(Exception):
    """A sort that failed: status is the number, rank the rank that failed first if it is known, str()
    the reason."""

    def __init__(self, status, text, rank=None):
        super().__init__(text)
        self.status = status
        self.rank = rank


class InvalidError(Error, ValueError):
    """An argument makes no sense, or differs between the ranks."""


class RangeError(Error, ValueError):
    """Too many records for a rank or an array."""


class NoMemoryError(Error, MemoryError):
    """Out of memory."""


class PeerError(Error):
    """Another rank failed, or MPI did."""


class JobError(Error):
    """The program failed: status is its exit status, report what it has told in JSON, or None."""

    def __init__(self, status, text, rank=None, report=None):
        super().__init__(status, text, rank)
        self.report = report


# By the library's status.
KINDS = {1: InvalidError, 2: RangeError, 3: NoMemoryError, 4: PeerError}
INVALID, PEER = 1, 4
