# SPDX-License-Identifier: GPL-3.0-or-later
"""balance: balancing by nothing, by the operating system, by process emulation ([S2] table 2), and by shares.

The CPUs of this machine, half of them slowed by cpuburn, run hetsort. With equal shares for all ranks:
  none        one process on each CPU, bound to it
  os          several processes for each CPU, not bound: the system moves them between CPUs
  emulation   on each CPU the number of processes that `hetplan emulate` gives for its speed, bound to it
  virtual     one process on each CPU, bound to it, with the same number of virtual ranks (hetsort --emulate)
and with unequal ones:
  planned     one process on each CPU, bound to it, with shares by n ln n
In all variants, a rank has one thread. [S2] sorts keys of 10 printable characters: --keys ascii. For four
processors, its figures and hetplan's are printed: the part of the speed of all processors that equal processes reach."""

import json
import os

from harness import chart, hosts, job, judge, machine
from trials.trial import SUMMARY, summary_cells

MPIRUN = os.path.join(os.path.dirname(__file__), "..", "..", "scripts", "mpirun")
PAPER_RATINGS = (0.46, 0.65, 1.61, 1.61)
PAPER = {10: 93.0, 11: 82.6, 13: 96.7}  # number of processes -> per cent of the speed of all processors
FULL = {"factor": 1.5, "records": 4000000, "most": 8, "repeat": 5, "keys": "ascii"}
QUICK = {"factor": 2.0, "records": 1000000, "most": 6, "repeat": 2, "keys": "ascii"}
# Bind rank i to the i-th CPU of the list.
BOUND = """IFS=, read -r -a cpu <<<"$1"; shift
exec taskset -c "${cpu[${OMPI_COMM_WORLD_RANK:-$PMI_RANK}]}" "$@\""""


def joined(speeds):
    return ",".join(f"{s:.9g}" for s in speeds)


def emulation(speeds, *how):
    """Return the number of processes for each CPU, by hetplan, and their speed as a part of the speed of all CPUs."""
    said = json.loads(job.run([f"{job.BIN}/hetplan", "emulate", "--ratings", joined(speeds), *how, "--json"]).out)
    counts = [int(v) for v in said["counts"]]
    return counts, sum(counts) / (max(c / s for c, s in zip(counts, speeds)) * sum(speeds))


def compare_with_paper(t):
    """Note the numbers of processes of [S2] and of hetplan."""
    for total, percent in PAPER.items():
        counts, part = emulation(PAPER_RATINGS, "--processes", str(total))
        t.log.line("figure", experiment=t.name, command=f"[S2], {total} processes", counts=counts, part=part, paper=percent / 100)
        t.note(f"ratings {joined(PAPER_RATINGS)}, {total} processes: {joined(counts)}, {100 * part:.1f} % of the speed of all"
               f" processors; [S2]: {percent} %")
        t.expect(f"{total} processes, per cent of the speed, over [S2]", 100 * part / percent, 0.999, 1.001)


def command(processes, bound, options, work):
    sort = [f"{job.BIN}/hetsort", "-q", "-f", "--no-fsync", *options, "--threads", "1", "--report",
            f"{work}/report", "-o", f"{work}/out", f"{work}/in"]
    bind = ["--bind-to", "none"] if "Open MPI" in (machine.versions(job.BIN)["mpirun"] or "") else []
    if bound:
        sort = ["bash", "-c", BOUND, "bash", ",".join(map(str, bound)), *sort]
    return [MPIRUN, str(processes), *bind, *sort]


def variants(cpus, speeds, most):
    """Return {name: (number of processes, their CPUs or None, options, theoretical part of the speed of all
    CPUs)}."""
    counts, part = emulation(speeds, "--best-upto", str(most))
    alike, given = ["--plan", "equal"], ["--speeds", joined(speeds)]
    return {"none": (len(cpus), cpus, alike, min(speeds) * len(speeds) / sum(speeds)),
            "os": (sum(counts), None, alike, 1.0),
            "emulation": (sum(counts), [c for c, n in zip(cpus, counts) for _ in range(n)], alike, part),
            "virtual": (len(cpus), cpus, [*given, "--emulate", str(sum(counts))], part),
            "planned": (len(cpus), cpus, [*given, "--plan", "nlogn"], 1.0)}


def measure(t, todo, slow):
    with job.work_directory(t.a.dir) as work:
        source = judge.make_input(job.BIN, f"{work}/in", t.a.records, t.a.keys)
        for number in range(t.a.repeat):
            for name, (processes, bound, options, part) in todo.items():
                watch = hosts.Watch()
                job.run([f"{job.BIN}/cpuburn", "-q", "--no-calibration", "--factor", str(t.a.factor), "--cpus",
                         ",".join(map(str, slow)), "--", *command(processes, bound, options, work)])
                busy = watch.end(False)
                judge.sorted_output(f"hetsort, {name}", job.BIN, f"{work}/out", source)
                with open(f"{work}/report") as f:
                    t.sample((name,), number, json.load(f)["total_s"], processes=processes, part_in_theory=part,
                             **busy)


def run(t):
    compare_with_paper(t)
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        t.note("omitted: balance needs two CPUs")
        return "Ways to balance equal processes"
    slow = cpus[len(cpus) - len(cpus) // 2:]
    speeds = [1 / t.a.factor if c in slow else 1.0 for c in cpus]
    todo = variants(cpus, speeds, t.a.most)
    measure(t, todo, slow)
    rows, bars = [], []
    for i, (name, (processes, _, _, part)) in enumerate(todo.items()):
        ratio, theory = t.ratio((name,), ("none",)), todo["none"][3] / part
        sums = t.figure((name,), processes=processes, to_none=ratio, theory=theory)
        rows.append([f"{name}, {processes} processes", *summary_cells(sums), f"{ratio[0]:.3f}", f"{theory:.3f}"])
        bars.append((i, *ratio, theory))
    t.table(["", *SUMMARY, "to none", "theory"], rows)
    p = chart.Panel(f"{len(slow)} of {len(cpus)} CPUs slowed by {t.a.factor:g}", "", "makespan / no balancing",
                    better="lower")
    p.ticks(list(todo))
    p.bars("measured", [b[:4] for b in bars], at=-0.18)
    p.bars("in theory", [(b[0], b[4], b[4], b[4]) for b in bars], at=0.18, color=5, ideal=True)
    t.panels.append(p)
    t.expect("emulation over none", bars[2][1], 0.5, 1.1)
    return f"Ways to balance equal processes, {t.a.records} records"
