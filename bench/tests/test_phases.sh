# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# bench/phases and bench/floor on small inputs: every phase of the report is next to its bound.
. "$ROOT/scripts/tap.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
phases=$ROOT/bench/phases floor=$BIN/bench/floor

for kind in copy keys gather; do
  for threads in 1 2 5; do
    run "$floor" $kind 10000 $threads
    ok "$kind by $threads: takes time" awk -v s="$out" 'BEGIN {exit !(s > 0)}'
  done
  run "$floor" $kind 70 3 10
  is "$kind: seven records of ten bytes on three threads" "$rc/$err" 0/
  run "$floor" $kind 100 5
  is "$kind: more threads than records" "$rc/$err" 0/
done
for bad in 'copy 0 1' 'copy 100 0' 'copy 100 257' 'copy 10 1' 'copy 100 1 9' 'copy x 1' 'other 100 1' copy; do
  # shellcheck disable=SC2086  # words
  run "$floor" $bad
  is "usage: floor $bad" "$rc" 2
done

mkdir work
run "$phases" --records 2000 --repeat 3 --dir work --warm --json phases.jsonl
is "a run succeeds" "$rc/$err" 0/
"$BIN/gensort" 10 data; "$BIN/hetsort" --report report -o sorted data
sed -n '/"phases_s"/,/}/s/^ *"\([a-z]*\)": [0-9.e-]*,*$/\1/p' report | sort -u >wanted
ok "the report has phases" test "$(wc -l <wanted)" -gt 5
while read -r phase; do
  is "three samples and a row of: $phase" \
    "$(grep '"sample"' phases.jsonl | grep -c "\"command\": \"$phase\"")/$(grep -c "^$phase  " <<<"$out")" 3/1
done <wanted
row() { awk -v name="$1" 'index($0, name "  ") == 1' <<<"$out" | tr -s ' '; }
for phase in read sort exchange merge 'read + sort' 'write + sync' 'exchange to sync' 'in all'; do
  ok "a bound of: $phase" grep -q -E ' [0-9.]+ [0-9.]+x ' <<<"$(row "$phase")"
done
is "the whole is bounded by reading plus writing" "$(row 'in all' | grep -c 'reading plus writing$')" 1
is "plan has no bound" "$(row plan | grep -c 'x')" 0
python3 - phases.jsonl <<'PY' >facts
import json, sys
lines = [json.loads(x) for x in open(sys.argv[1])]
by = {}
for x in lines:
    if x["type"] == "sample":
        by.setdefault(x["command"], []).append(x["seconds"])
mid = {k: sorted(v)[1] for k, v in by.items()}
ends = {x["phase"]: x for x in lines if x["type"] == "phase"}
print(ends["sort"]["bound_s"] == mid["keys"], ends["merge"]["bound_s"] == mid["gather"],
      ends["exchange"]["bound_s"] == mid["copy"], ends["write + sync"]["bound_s"] == ends["exchange to sync"]["bound_s"])
print(ends["read"]["bound_s"] == min(mid[k] for k in mid if k.startswith("dd ") and " read" in k))
print(ends["read + sort"]["seconds"]["max"] >= max(by["read"]))
print(abs(ends["in all"]["bound_s"] - ends["read"]["bound_s"] - ends["exchange to sync"]["bound_s"]) < 1e-12)
PY
is "bounds are medians, the better way's" "$(cat facts)" "True True True True
True
True
True"
is "no files remain" "$(ls work)" ""

cat >wrong <<'SH'
#!/usr/bin/env bash
"$BIN/hetsort" "$@" || exit
while [ "$1" != -o ]; do shift; done
truncate -s -100 "$2"
SH
chmod +x wrong
run "$phases" --records 2000 --repeat 1 --dir work --warm -- "$PWD/wrong"
is "a wrong output ends the run" "$rc/$err" "1/phases: hetsort: the output has 1999 records, the input 2000"
run "$phases" --records 2000 --repeat 1 --dir work --warm -- "$BIN/hetsort" --ranks 3
is "other options are measured" "$rc/$(grep -c -e '--ranks 3; input warm' <<<"$out")" 0/1
run "$phases" --records 0
is "usage: no records" "$rc" 2
done_testing
