#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# --timeout with ranks that are threads: a rank without progress is named, and the job ends with exit
# code 5. Ranks that are slow but make progress do not end the job.
set -u
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
# shellcheck source=sort/comm/tests/lost.sh
. "$ROOT/sort/comm/tests/lost.sh"
hetsort=$BIN/failpoints/hetsort
"$BIN/gensort" --no-fsync 20000 in && "$BIN/hetsort" -o expected in || exit 1

for where in read:1 merge:0 write:1 commit:2; do
  rm -f r.json p.html
  HETSORT_FAIL=delay@$where=60 run timeout -s KILL 50 "$hetsort" --ranks 3 --timeout 1 --report r.json --html p.html -o out in
  is "a rank that sleeps, $where: exit code, output" "$rc/$(ls out 2>/dev/null)" 5/
  case ${where%:*} in read) doing=reading ;; commit) doing=finishing ;; *) doing=merging ;; esac
  case $doing in merging) at=merge ;; *) at=${where%:*} ;; esac
  is "a rank that sleeps, $where: the report names it" "$(lost r.json)" "peer 5, 3 ranks, ${where#*:} ($(hostname)) $at"
  ok "a rank that sleeps, $where: there is a page" grep -q '"message":"no progress for' p.html
  ok "a rank that sleeps, $where: named" grep -q "^hetsort: rank ${where#*:} ($(hostname)), $doing: no progress for" <<<"$err"
done
rm -f r.json
HETSORT_FAIL=comm:60@rank1 run timeout -s KILL 50 "$hetsort" --ranks 3 --report r.json -o out in
is "a rank that cannot reach the others is in the report" "$rc $(lost r.json | sed 's/ [a-z]*$//')" "5 peer 5, 3 ranks, 1 ($(hostname))"
for where in start end; do
  HETSORT_FAIL=delay@$where:1=60 run timeout -s KILL 50 "$hetsort" --ranks 3 --timeout 1 -f -o out in
  is "a rank that sleeps, $where: exit code" "$rc" 5
  ok "a rank that sleeps, $where: named" grep -q "^hetsort: rank 0 ($(hostname)), [a-z]*ing the other ranks: no progress for" <<<"$err"
  is "a rank that sleeps, $where: no temporary files are left" "$(find . -name '.hetsort-*')" ""
  case $where in start) is "a rank that sleeps, start: no output" "$(ls out 2>/dev/null)" "" ;;
    end) is "a rank that sleeps, end: the output is complete" "$(cmp out expected)" "" ;; esac
done
rm -f out
HETSORT_FAIL=delay@read:0=60 run timeout -s KILL 50 "$hetsort" --timeout 1 -o out in
is "a single rank that sleeps" "$rc/$(ls out 2>/dev/null)" 5/
is "a single rank that sleeps: no temporary files are left" "$(find . -name '.hetsort-*')" ""
if [ "${SANITIZER:-coverage}" = coverage ]; then # the shim and the sanitizers replace the same calls
  for ranks in 1 3; do
    HETSORT_FAIL=delay@merge:0=60 HETSORT_SHIM=unlink=hang HETSORT_SHIM_FILE=hanging LD_PRELOAD="$OBJ/shim.so" \
      run timeout -s KILL 30 "$hetsort" --ranks $ranks --timeout 1 -o out in
    is "a file system that hangs when files are removed, $ranks ranks: the job ends" "$rc/$(ls out hanging 2>/dev/null)" 5/hanging
    is "a file system that hangs, $ranks ranks: one message, which names the rank" \
      "$(grep -c "merging: no progress for" <<<"$err")/$(grep -c . <<<"$err")" 1/1
    rm -f hanging .hetsort-*
  done
fi
# Wrong messages while ranks divide, connect and exchange: no rank waits for ever for a block that no rank has.
"$BIN/gensort" --no-fsync 900 few || exit 1
hung=""
for lie in {30..60}@rank{0..7}; do
  HETSORT_FAIL=lie:$lie run timeout -s KILL 20 "$hetsort" --ranks 8 --timeout 1 -o out few
  [ "$rc" != 137 ] || hung+=" $lie"
  rm -f out .hetsort-*
done
is "wrong messages of many ranks: the job ends" "$hung" ""
HETSORT_FAIL=delay@read:1=1,delay@merge:2=1,delay@commit:0=1 run "$hetsort" --ranks 3 --timeout 10 -o out in
is "slow ranks do not end the job" "$rc/$err/$(cmp -s out expected && echo same)" 0//same
rm -f out
for i in 1 2 3 4 5 6; do
  "$hetsort" --ranks 4 --exchange-threads $((i % 3)) --timeout 20 -f -o out in || break
done
is "all ranks work: sorted" "$i/$(cmp -s out expected && echo same)" 6/same
run "$hetsort" --timeout x -o new in
is "not a number" "$rc" 2
HETSORT_FAIL=thread:2 run "$hetsort" --ranks 3 --timeout 9 -o new in
is "no thread for --timeout" "$rc/$err" "4/hetsort: cannot start thread for --timeout: Resource temporarily unavailable"
# ThreadSanitizer has a thread of its own, and _exit() waits there until standard error is written.
[ "${SANITIZER:-}" != tsan ] || done_testing
# Ranks that are threads of one process need no thread of their own to be watched.
HETSORT_FAIL=delay@read:0=60 "$hetsort" --ranks 3 --threads 1 --timeout 30 -o new in 2>err &
pid=$!
await grep -q -s "^Threads:.5$" "/proc/$pid/status"
is "threads: three for ranks, one for signals, one for the watchdog" \
  "$(cat "/proc/$pid/task/"*/comm 2>/dev/null | sort | uniq -c | awk '{ printf "%s %s,", $1, $2 }')" "5 hetsort,"
kill -TERM $pid; wait $pid
# A line that standard error does not accept is dropped, because the watching thread must not wait for it.
mkfifo full
sleep 60 <>full &
reader=$!
{ timeout 2 dd if=/dev/zero of=full bs=1024 oflag=append conv=notrunc status=none || :; } 3<>full
HETSORT_FAIL=delay@merge:0=60 timeout -s KILL 50 "$hetsort" --ranks 3 --progress 1 --timeout 4 -o late in 2>full && rc=0 || rc=$?
kill $reader; wait $reader 2>/dev/null
is "standard error is full: the watchdog ends the job" "$rc/$(ls late 2>/dev/null)" 5/
done_testing
