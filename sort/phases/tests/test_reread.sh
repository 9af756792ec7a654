#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# --verify=reread finds changes of the output after it was passed to the system, and before it gets its name.
# shellcheck disable=SC2086  # modes are several words
set -u
. "$ROOT/scripts/tap.sh"
. "$ROOT/sort/phases/tests/checkpoints.sh"
hetsort=$BIN/failpoints/hetsort
begin_with 30000

changed() { # changed BYTE ARGUMENT... - a bit of the output flips after it was written; sets rc and err
  local at=$1 pid; shift
  HETSORT_FAIL=stop@sync:0 "$hetsort" -s --key 0,1 --verify reread "$@" in 2>err &
  pid=$!
  await stopped $pid
  flip "$(find . -maxdepth 1 -name '.hetsort-*.tmp' | sort | tail -n 1)" "$at"
  kill -CONT $pid
  wait $pid
  rc=$? err=$(<err)
}
for mode in "-o out" "--ranks 3 -o out" "--ranks 3 -o out.%r" "--ranks 3 --strategy distribute -o out" \
  "--memory 24M --tmpdir . -o out" "--no-fsync --direct always -o out"; do
  rm -f out*
  run "$hetsort" -s --key 0,1 --verify reread $mode in
  is "$mode: as it was" "$rc/$err/$(cat out out.? 2>/dev/null | cmp - expected)" 0//
  rm -f out*
  changed -50 $mode
  is "$mode: a bit of a record: exit code, left over" "$rc/$(find . -name '.hetsort-*' -o -name 'out*')" 1/
  ok "$mode: a bit of a record: message" grep -q "the output's checksum .* is not the input's" <<<"$err"
done
changed 0 -o out
is "a bit of the first key: exit code, left over" "$rc/$(find . -name '.hetsort-*' -o -name 'out*')" 1/
run "$hetsort" -s --key 0,1 --verify reread -o - in
is "standard output is not read again" "$rc" 0
run "$hetsort" --verify all -o out in
is "another word is refused" "$rc/$(ls out 2>/dev/null)" 2/
done_testing
