# SPDX-License-Identifier: GPL-3.0-or-later
"""What the lines of hetsort --progress say of the time that is left, and how wrong that was."""

import re


def told(text):
    """(seconds since the start, seconds left) of each line that has both."""
    found = re.findall(r", (?:(\d+):)?(\d+):(\d\d), (?:(\d+):)?(\d+):(\d\d) left", text)
    return [tuple(int(h or 0) * 3600 + int(m) * 60 + int(s) for h, m, s in (f[:3], f[3:])) for f in found]


def errors(lines, total_s, parts):
    """By what part of the time left the first line at or after each part of the job was wrong; None where there is none."""
    at = [next(((e, left) for e, left in lines if part * total_s <= e < total_s), None) for part in parts]
    return [line and (line[1] - (total_s - line[0])) / (total_s - line[0]) for line in at]
