# SPDX-License-Identifier: GPL-3.0-or-later
"""scatter: end times of all processors for each way to scatter from one root ([S0] figures 2 to 4, [S2]).

Seven hosts with the speeds and bandwidths, in proportion, of the machines in [S0]; the root is the first.
bench/scatter_client scatters items, and every rank computes its own:
  uniform     MPI_Scatterv, equal shares
  speed       shares only by speed
  farm        master and workers, chunks on request
  balanced    all ranks end together, served by decreasing bandwidth
  ascending   all ranks end together, served by increasing bandwidth
Costs are the medians of some jobs before, and all plans use them. The end times are compared with the model of
[S0], in which the root has one port, for the same costs."""

import json
import os

from harness import chart, hosts, job, stats
from trials.trial import SUMMARY, summary_cells

CLIENT = f"{job.BIN}/bench/scatter_client"
# Name, speed, Mbit/s, by the seconds in [S0] to compute a ray (.009288 .009365 .004629 ...) and to send it.
PLATFORM = [("dinadan", 0.428, None), ("caseb", 0.859, 400), ("pellinore", 0.425, 357), ("sekhmet", 0.814, 235),
            ("seven", 0.246, 190), ("leda", 0.411, 113), ("merlin", 1.0, 49)]
VARIANTS = {"uniform": "scatterv", "speed": "speed", "farm": "farm", "balanced": "balanced",
            "ascending": "ascending"}
PAPER = {"uniform": (259, 853), "balanced": (405, 430), "ascending": (437, 486)}  # earliest, latest end
FULL = {"items": 3000, "item_bytes": 20000, "work": 1800000, "measured": 5, "repeat": 5}
QUICK = {"items": 600, "item_bytes": 20000, "work": 1500000, "measured": 2, "repeat": 1}
# Small buffers give the root one port: with TCP's default buffers of some MB, it would send to several at once.
BUFFER_BYTES = 256 << 10
COSTS = ("compute_startup_s", "compute_item_s", "link_startup_s", "link_item_s")


def affine(startup, item, n):
    return startup + item * n if n else 0.0


def model(ranks, costs):
    """Return {rank: predicted end}, for ranks served in the order in which their items arrived, the root last."""
    served = sorted((r for r in ranks if r["rank"]), key=lambda r: r["arrived_s"])
    port, ends = 0.0, {}
    for r in [*served, ranks[0]]:
        c = costs[r["rank"]]
        if r["rank"]:
            port += affine(c["link_startup_s"], c["link_item_s"], r["items"])
        ends[r["rank"]] = port + affine(c["compute_startup_s"], c["compute_item_s"], r["items"])
    return ends


def client(t, h, name, *costs):
    done, busy = h.mpirun(h.count, [CLIENT, VARIANTS[name], str(t.a.items), str(t.a.item_bytes),
                                    str(t.a.work), *costs])
    ranks = sorted((json.loads(line) for line in done.out.splitlines() if line.startswith("{")),
                   key=lambda r: r["rank"])
    if len(ranks) != h.count or sum(r["items"] for r in ranks) != t.a.items:
        raise job.Failed(f"scatter_client {name}: {sum(r['items'] for r in ranks)} items computed, not {t.a.items}")
    return ranks, busy


def measured_costs(t, h):
    """Return the costs of each rank, medians of a few uniform jobs: the time to compute an item, and the time in
    which an item arrives after the items of the previous rank. Whole jobs are measured, because CPU quotas and
    links with token buckets only show their rates after some time."""
    every = [client(t, h, "uniform")[0] for _ in range(t.a.measured)]
    for ranks in every:
        before_s = 0.0
        for r in [*ranks[1:], ranks[0]]:
            r["compute_startup_s"], r["link_startup_s"] = 0.0, 0.0
            r["compute_item_s"] = (r["end_s"] - r["arrived_s"]) / r["items"]
            r["link_item_s"] = max(r["arrived_s"] - before_s, 0.0) / r["items"] if r["rank"] else 0.0
            before_s = max(before_s, r["arrived_s"])
    costs = [{c: stats.median([ranks[k][c] for ranks in every]) for c in COSTS} for k in range(h.count)]
    t.log.line("costs", experiment=t.name, costs=costs)
    return costs


def same_results(runs):
    sums = {ranks[0]["sum"] for some in runs.values() for ranks in some}
    if len(sums) != 1:
        raise job.Failed(f"scatter_client: results differ: {', '.join(sorted(sums))}")


def panel(name, ranks):
    """Draw for each rank of one run when its items have arrived, and when they have been computed."""
    order = sorted((r for r in ranks if r["rank"]), key=lambda r: r["arrived_s"]) + [ranks[0]]
    p = chart.Panel(name, "processors as they are served, the root last", "seconds", better="lower")
    p.ticks([PLATFORM[r["rank"]][0] for r in order], rotate=35)
    p.floating("until items arrive", [(i, 0, r["arrived_s"]) for i, r in enumerate(order) if r["items"]], color=5)
    p.floating("computing", [(i, r["arrived_s"], r["end_s"]) for i, r in enumerate(order) if r["items"]], color=0)
    return p


def overview(t, predicted):
    """Draw the latest end of each variant, measured, by the model and in [S0], each relative to uniform shares."""
    p = chart.Panel("latest end", "", "relative to uniform", better="lower")
    p.ticks(list(VARIANTS))
    p.bars("measured", [(i, *t.ratio((v,), ("uniform",))) for i, v in enumerate(VARIANTS)], at=-0.26, width=0.26)
    p.bars("model", [(i, *[predicted[v] / predicted["uniform"]] * 3) for i, v in enumerate(VARIANTS) if v != "farm"],
           width=0.26, color=4)
    p.bars("paper", [(i, *[PAPER[v][1] / PAPER["uniform"][1]] * 3) for i, v in enumerate(VARIANTS) if v in PAPER],
           at=0.26, width=0.26, color=5)
    return p


def run(t):
    speeds = [s for _, s, _ in PLATFORM]
    rates = ["max"] + [f"{mbit}mbit" for _, _, mbit in PLATFORM[1:]]
    runs = {}
    with hosts.Hosts(speeds, rates=rates, directory=t.a.dir) as h, \
            job.work_directory(os.environ.get("TMPDIR", "/tmp")) as work:
        h.limit_buffers(BUFFER_BYTES)
        costs = measured_costs(t, h)
        with open(f"{work}/costs", "w") as f:
            f.writelines(" ".join(f"{c[name]:.12g}" for name in COSTS) + "\n" for c in costs)
        for number in range(t.a.repeat):
            for name in VARIANTS:
                ranks, busy = client(t, h, name, f"{work}/costs")
                t.sample((name,), number, max(r["end_s"] for r in ranks), ranks=ranks, **busy)
                runs.setdefault(name, []).append(ranks)
    same_results(runs)
    rows, predicted = [], {}
    for name, some in runs.items():
        middle = sorted(some, key=lambda ranks: max(r["end_s"] for r in ranks))[len(some) // 2]
        ends = model(middle, costs)
        predicted[name] = max(ends.values())
        first = stats.median([min(r["end_s"] for r in ranks) for ranks in some])
        sums = t.figure((name,), earliest_s=first, predicted_latest_s=None if name == "farm" else predicted[name],
                        predicted_earliest_s=None if name == "farm" else min(ends.values()), paper=PAPER.get(name))
        rows.append([name, *summary_cells(sums), f"{first:.2f}", *(
            [None, None] if name == "farm" else [f"{min(ends.values()):.2f}", f"{predicted[name]:.2f}"]),
            "{} / {}".format(*PAPER[name]) if name in PAPER else None])
        t.panels.append(panel(name, middle))
    top = 1.25 * max(r["end_s"] for some in runs.values() for ranks in some for r in ranks)
    for p in t.panels:
        p.y_range = (0, top)
    t.panels.insert(0, overview(t, predicted))
    t.table(["latest end, s", *SUMMARY, "earliest", "model: earliest", "latest", "paper: both"], rows)
    gains(t, predicted)
    return f"End times of {len(PLATFORM)} processors, {t.a.items} items of {t.a.item_bytes} bytes"


def gains(t, predicted):
    for name, paper in (("balanced", 853 / 430), ("ascending", 853 / 486)):
        gain, model_gain = t.ratio(("uniform",), (name,)), predicted["uniform"] / predicted[name]
        t.log.line("figure", experiment=t.name, command=f"uniform over {name}", ratio=gain, model=model_gain,
                   paper=paper)
        t.notes.append(f"uniform over {name}: {gain[0]:.3f} ({gain[1]:.3f} to {gain[2]:.3f}), by the model"
                       f" {model_gain:.3f} ({100 * (gain[0] / model_gain - 1):+.1f} %), in the paper {paper:.3f}")
        t.expect(f"gain of {name} over uniform, as part of the model's", gain[0] / model_gain, 0.85, 1.15)
    t.expect("gain of balanced over uniform", t.ratio(("uniform",), ("balanced",))[0], 1.4, 3)
