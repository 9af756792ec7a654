# SPDX-License-Identifier: GPL-3.0-or-later
"""check_trace.py FILE RANKS [NAME...] - check whether FILE is a trace of RANKS ranks. Its events are of the kinds X, M and
C with whole numbers of microseconds; spans of a thread lie in each other or apart; every rank and every
thread has a name; counters of bytes do not fall; and the spans NAME exist. Prints what is wrong."""
import json
import sys

file, ranks, names = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
wrong = []


def expect(true, what):
    if not true:
        wrong.append(what)


def whole(event, key):
    return type(event.get(key)) is int and event[key] >= 0


def check_schema(e):
    expect(e.get("ph") in ("X", "M", "C"), f"kind of {e}")
    expect(whole(e, "pid") and e["pid"] < ranks, f"pid of {e}")
    expect(isinstance(e.get("name"), str) and e["name"] != "", f"name of {e}")
    if e["ph"] == "X":
        expect(whole(e, "tid") and whole(e, "ts") and whole(e, "dur"), f"times of {e}")
        busy = e.get("args", {}).get("busy_us", 0)
        expect(type(busy) is int and busy <= e["dur"], f"busy time of {e}")
    if e["ph"] == "C":
        expect(whole(e, "ts") and whole(e["args"], "bytes"), f"counter {e}")


def check_nesting(spans):
    """Spans of one thread, in the order of their begin, longer ones first: each ends before what is around it."""
    around = []
    for e in sorted(spans, key=lambda e: (e["ts"], -e["dur"])):
        end = e["ts"] + e["dur"]
        while around and around[-1]["ts"] + around[-1]["dur"] <= e["ts"]:
            around.pop()
        if around:
            expect(end <= around[-1]["ts"] + around[-1]["dur"], f"{e} overlaps {around[-1]}")
        around.append(e)
    # spans of a thread do not overlap; only phases contain others
    expect(len(around) <= 2, f"{len(around)} spans in each other")


with open(file, encoding="ascii") as f:
    events = json.load(f)["traceEvents"]
for event in events:
    check_schema(event)
if not wrong:
    threads, counters = {}, {}
    for e in events:
        if e["ph"] == "X":
            threads.setdefault((e["pid"], e["tid"]), []).append(e)
        elif e["ph"] == "C":
            counters.setdefault((e["pid"], e["name"]), []).append(e)
    for spans in threads.values():
        check_nesting(spans)
    named = {e["pid"] for e in events if e["name"] == "process_name"}
    expect(named == set(range(ranks)), f"ranks {named}")
    lanes = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
    expect(set(threads) <= lanes, f"threads without a name: {set(threads) - lanes}")
    for r in range(ranks):
        expect((r, 0) in threads, f"no span of rank {r}'s main thread")
        for name in ("bytes read", "bytes written", "bytes sent", "memory held"):
            at = counters.get((r, name), [])
            expect(at, f"rank {r} does not count {name}")
            expect(all(a["ts"] <= b["ts"] for a, b in zip(at, at[1:])), f"rank {r}, {name}: times")
            if name != "memory held":
                values = [e["args"]["bytes"] for e in at]
                expect(values == sorted(values), f"rank {r}, {name} falls")
    there = {e["name"] for e in events if e["ph"] == "X"}
    expect(set(names) <= there, f"no span {set(names) - there} among {there}")
print("\n".join(wrong[:10]))
sys.exit(bool(wrong))
