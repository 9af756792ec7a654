# SPDX-License-Identifier: GPL-3.0-or-later
"""The exceptions for failures of the library and of the program hetsort."""


class Error(Exception):
    """A failed sort: status is the number, rank is the rank that failed first, or None, and str() the
    reason."""

    def __init__(self, status, text, rank=None):
        super().__init__(text)
        self.status = status
        self.rank = rank


class InvalidError(Error, ValueError):
    """An argument is invalid, or differs between the ranks."""


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


# The exception for each status of the library.
KINDS = {1: InvalidError, 2: RangeError, 3: NoMemoryError, 4: PeerError}
INVALID, PEER = 1, 4
