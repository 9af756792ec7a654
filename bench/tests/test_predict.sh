# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# bench/predict on small inputs: memory and time of each case, predicted and taken. That the memory is within a
# third holds on any machine (a merge from disk leaves a part of little memory unused); times hold on one that does nothing else.
. "$ROOT/scripts/tap.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
mkdir work
run "$ROOT/bench/predict" --repeat 1 --dir work --options=--no-fsync --json predict.jsonl \
  20000 "20000 --ranks 3" "200000 --memory 12M" "60000 --ranks 2 --strategy distribute"
is "a run succeeds" "$rc/$err" 0/
is "no files remain" "$(ls work)" ""
python3 - predict.jsonl >facts <<'PY'
import json, sys
s = [x for x in (json.loads(line) for line in open(sys.argv[1])) if x["type"] == "summary"]
print(len(s))
print(all(0 < t for x in s for t in x["seconds"]))
for x in s:
    planned, held = x["memory_bytes"]
    print(x["command"], "" if 0.75 <= planned / held <= 1.34 else f"{planned} planned, {held} held")
PY
is "four cases, memory within a third" "$(sed 's/ *$//' facts)" "4
True
20000
20000 --ranks 3
200000 --memory 12M
60000 --ranks 2 --strategy distribute"
run "$ROOT/bench/predict" --dir work "10 --frobnicate"
is "a case that hetsort refuses: status, work" "$rc/$(ls work)" 1/
done_testing
