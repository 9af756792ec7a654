# SPDX-License-Identifier: GPL-3.0-or-later
"""The remaining time that hetsort --progress predicted, read from its report, and the errors of the prediction."""

import re

from . import stats


def predictions(report):
    """Return (seconds since the start, predicted seconds left) for each prediction."""
    return [(p["at_s"], p["left_s"]) for p in report.get("progress", [])]


def errors(moments, total_s, parts):
    """Return the relative error of the first prediction at or after each part of the job, or None without one."""
    at = [next(((e, left) for e, left in moments if part * total_s <= e < total_s), None) for part in parts]
    return [m and (m[1] - (total_s - m[0])) / (total_s - m[0]) for m in at]


def stages(report):
    """Return {stage: (seconds planned, seconds taken)}, the means over all ranks."""
    ranks, sums = report["ranks"], {}
    for name, s in (item for r in ranks for item in r["stages"].items()):
        planned_s, taken_s = sums.get(name, (0, 0))
        sums[name] = planned_s + s["planned_s"] / len(ranks), taken_s + s["taken_s"] / len(ranks)
    return sums


def percent(values):
    """Return the median as text, and if there are several values, the smallest and the largest."""
    known = [100 * v for v in values if v is not None]
    if not known:
        return "-"
    ends = f" ({min(known):+.0f} to {max(known):+.0f})" if len(known) > 1 else ""
    return f"{stats.median(known):+.0f} %{ends}"


def longer(case, times):
    """Return the case with its number of records and its memory multiplied by times."""
    records, *own = case.split(" ", 1)
    own = [re.sub(r"(?<=--memory )(\d+)", lambda m: str(round(times * int(m[1]))), o) for o in own]
    return " ".join([str(round(times * int(records) / 1e5) * 100000 if times > 1 else int(records)), *own])
