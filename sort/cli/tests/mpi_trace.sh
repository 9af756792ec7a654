#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Ranks in other processes report their part of a trace, and their progress.
set -u
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
mpirun=$ROOT/scripts/mpirun
"$BIN/gensort" --no-fsync 50000 in && "$BIN/hetsort" -o expected in || exit 1

run "$mpirun" 4 "$BIN/hetsort" --no-fsync --trace trace -o out in
is "four processes: sorted" "$rc/$(cmp out expected 2>&1)" 0/
! command -v python3 >/dev/null ||
  is "four processes: a trace" "$(python3 "$ROOT/sort/cli/tests/check_trace.py" trace 4 read sort merge send wait 2>&1)" ""

# The allocation that fails is the first one after the sort that only the trace needs.
for n in $(seq 40); do
  HETSORT_FAIL=alloc:$n@rank1@incommit run "$mpirun" 2 "$BIN/failpoints/hetsort" --no-fsync --trace trace -f -o out in
  ! grep -q "writing the trace without ranks of other processes: another rank has no memory for it" <<<"$err" || break
done
is "a rank without memory for its trace: said, and sorted all the same" "$n/$rc/$(cmp out expected 2>&1)" "$((n < 40 ? n : 0))/0/"

HETSORT_FAIL=delay@merge:1=4 run "$mpirun" 2 "$BIN/failpoints/hetsort" --no-fsync --progress 1 -f -o out in
is "progress: sorted" "$rc/$(cmp out expected 2>&1)" 0/
ok "progress: the slow rank of another process is printed" \
  grep -q -E "^hetsort: merge [0-9.]+ of 5.00 MB [0-9]+%, job .* left, slowest 1 " <<<"$err"
done_testing
