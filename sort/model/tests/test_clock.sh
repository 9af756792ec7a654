#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The wall clock jumps by an hour, back and forth, at each reading. Nothing is measured or decided by it.
# Only the dates of reports and wisdom come from it.
# shellcheck disable=SC2016  # awk expands
set -u
. "$ROOT/scripts/tap.sh"
[ "${SANITIZER:-coverage}" = coverage ] || skip_all "the shim and the sanitizers replace the same calls"
env --default-signal=INT true 2>/dev/null || skip_all "env of this machine does not set signals"
cd "$TEST_TMP" || exit 1
hetsort=$BIN/hetsort
"$BIN/gensort" --no-fsync 20000 in && "$hetsort" -o expected in || exit 1

skewed() { run timeout -s KILL 100 env HETSORT_SHIM=clock=3600 LD_PRELOAD="$OBJ/shim.so" "$@"; }
skewed bash -c 'printf "%(%s)T " -1; printf "%(%s)T" -1'
ok "the clock does jump" test $((${out#* } - ${out% *})) -lt -3000 -o $((${out#* } - ${out% *})) -gt 3000
for mode in "" "--ranks 3" "--ranks 3 --timeout 30" "--ranks 2 --speeds auto" "--ranks 3 --adapt" \
  "--ranks 2 --source root --scatter balanced"; do
  # shellcheck disable=SC2086  # the mode is several words
  skewed "$hetsort" $mode --report report -o out in
  is "sorted, '$mode'" "$rc/$err/$(cmp out expected)" 0//
  ok "times are sound, '$mode'" awk '/_s": -/ {bad = 1} /"total_s"/ {sub(",", "", $2); t = $2} END {exit bad || t < 0 || t > 90}' report
  rm -f out
done
for i in 1 2 3; do
  skewed "$hetsort" --ranks 2 --plan online --wisdom book -o out in
  is "learning, run $i" "$rc/$(cmp out expected)" 0/
  rm -f out
done

# Send a signal while a thread creates a file on a file system that hangs. The program waits half a second for it.
rm -f hanging
env --default-signal=TERM HETSORT_SHIM=create=hang,clock=3600 HETSORT_SHIM_FILE=hanging LD_PRELOAD="$OBJ/shim.so" "$hetsort" -o out in 2>err &
pid=$!
await eval '[ -e hanging ] || [ ! -d /proc/$pid ]'
kill -TERM $pid
ok "SIGTERM while the wall clock jumps: it ends" await gone $pid
gone $pid || kill -KILL $pid
wait $pid
is "SIGTERM while the wall clock jumps: by the signal" "$?" 143
rm -f hanging
done_testing
