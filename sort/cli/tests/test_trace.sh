#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# --trace writes a valid trace: of one rank, of several, of runs on disk, and of jobs that fail or are interrupted. It is
# never large.
set -u
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
hetsort=$BIN/hetsort
"$BIN/gensort" --no-fsync 50000 in && "$hetsort" -o expected in || exit 1

have_python=yes
command -v python3 >/dev/null || { have_python=no; echo "# skipped: the contents of traces: python3 is not installed"; }
findings() { [ $have_python = no ] || python3 "$ROOT/sort/cli/tests/check_trace.py" "$@"; } # of a trace, ARGUMENT...
traced() { # traced NAME RANKS "SPAN..." ARGUMENT... - a sort that succeeds
  local name=$1 ranks=$2 spans=$3; shift 3
  rm -f trace
  run "$hetsort" --no-fsync --trace trace -f -o out "$@" in
  is "$name: sorted" "$rc/$err/$(cmp out expected 2>&1)" 0//
  # shellcheck disable=SC2086  # several words
  is "$name: a trace" "$(findings trace "$ranks" $spans 2>&1)" ""
}
traced "one rank" 1 "describe plan read sort merge gather write sync commit"
traced "one thread" 1 "read sort merge gather write" --threads 1
traced "three ranks" 3 "read sort split merge send write wait" --ranks 3
traced "three ranks, the main thread moves blocks" 3 "send" --ranks 3 --exchange-threads 0
traced "distributing" 2 "read sort send" --ranks 2 --strategy distribute
traced "runs on disk" 1 "read sort gather write merge" --memory 3M
traced "runs on disk, two ranks" 2 "read sort gather write send" --ranks 2 --workdir runs
traced "many ranks" 40 "read merge" --ranks 40
ok "many ranks: no more than 16 MB" test "$(wc -c <trace)" -le 16000000

HETSORT_FAIL=file:1@inwrite run "$BIN/failpoints/hetsort" --ranks 2 --trace failed -f -o out in
is "a job that fails" "$rc/$(findings failed 2 read merge 2>&1)" "3/"
# It has 0.4 s to write everything: a busy machine may need several tries.
for _ in 1 2 3 4 5 6; do
  HETSORT_FAIL=delay@merge:0=600 "$BIN/failpoints/hetsort" --ranks 2 --trace stopped --progress 1 -f -o out in 2>err &
  pid=$!
  await grep -q merge err
  kill -TERM $pid
  wait $pid
  rc=$?
  [ ! -e stopped ] || break
done
is "a job that is interrupted" "$rc/$(findings stopped 2 read merge 2>&1)" "143/"

cp in kept
run "$hetsort" --trace in -f -o out in
is "the input is not replaced" "$rc/$(cmp in kept 2>&1)" 2/
run "$hetsort" --trace out -f -o out in
is "nor the output" "$rc" 2
run "$hetsort" --trace both --report both -f -o out in
is "nor the report" "$rc" 2
run "$hetsort" --trace - -f -o out in
is "nor standard output, which is not a file" "$rc" 2
run "$hetsort" --trace nowhere/trace -f -o out in
is "no directory for it: refused before anything is sorted" "$rc/$err" "2/hetsort: cannot open the directory of 'nowhere/trace': No such file or directory"

run "$hetsort" --no-fsync --ranks 2 --report report -f -o out in
[ $have_python = no ] || is "the report: when phases were, and where" "$(python3 - 2>&1 <<'P'
import json, re
r = json.load(open("report"))
assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", r["started"]) and r["started"] <= r["date"]
assert "MPI" in r["versions"]["build"] and r["versions"]["hetsort"]
for k in r["ranks"]:
    assert k["threads"] >= 1 and re.fullmatch(r"[0-9,-]+", k["processors"]) and isinstance(k["cpu_model"], str)
    t = k["timeline"]
    assert [p["phase"] for p in t if p["phase"] in ("read", "merge", "commit")] == ["read", "merge", "commit"]
    assert all(0 <= p["begin_s"] <= p["end_s"] <= r["total_s"] for p in t)
    assert all(p["end_s"] <= q["begin_s"] for p, q in zip(t, t[1:]))
P
)" ""
run "$hetsort" --version -v
ok "--version -v prints how it was built" grep -q "^Built with .*MPI .*hwloc .*compiler" <<<"$out"
done_testing
