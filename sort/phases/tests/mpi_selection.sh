#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# --skip-header, --skip-trailer, --records, --unique with --count, --top and --partition-only with ranks that are processes: the same as with one rank.
# shellcheck disable=SC2086  # ways are several words
set -u
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
"$BIN/gensort" --no-fsync 30001 in || exit 1
for way in "--key 0,2 -u --count 50,u64 --skip-header 100" "--key 0,1 -u --top 99 --strategy distribute" "--top 20000 --source root" \
  "--skip-header 100 --records 29000" "--skip-trailer 1234500"; do
  run "$BIN/hetsort" --no-fsync ${way/--source root/} -f -o one in
  is "$way: one rank" "$rc/$err" 0/
  run timeout 120 "$ROOT/scripts/mpirun" 3 "$BIN/hetsort" --no-fsync $way -f -o out in
  is "$way: three processes" "$rc/$(cmp out one 2>&1)" 0/
done
run "$BIN/hetsort" --no-fsync -q -s -o sorted in
for way in "" "--memory 12M" "--speeds 1,3,2"; do
  run timeout 120 "$ROOT/scripts/mpirun" 3 "$BIN/hetsort" --no-fsync $way --order-out order -f in
  is "--order-out $way: three processes" "$rc/$(wc -c <order)" 0/240008
  run timeout 120 "$ROOT/scripts/mpirun" 3 "$BIN/hetsort" --no-fsync $way --apply order -f -o out in
  is "--apply $way: three processes" "$rc/$(cmp out sorted 2>&1)" 0/
  run timeout 120 "$ROOT/scripts/mpirun" 3 "$BIN/hetsort" --no-fsync $way --append 8 --number 100,u64be --key 100,8 --top 1000 -f -o out in
  is "--number $way: three processes" "$rc/$("$BIN/hetsort" --record-size 108 --key 100,8 --unique -q -o - out | wc -c)" 0/108000
done
run timeout 120 "$ROOT/scripts/mpirun" 3 "$BIN/hetsort" --no-fsync --partition-only -o part.%r in
is "--partition-only: three processes" "$rc" 0
run "$BIN/hetsort" --check-manifest part.manifest
is "--partition-only: the manifest is right" "$rc/$err" 0/
done_testing
