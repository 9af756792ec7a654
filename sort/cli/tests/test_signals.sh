#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Signals in every phase. A call that never returns shows that the end does not wait for it. No file under a final name
# and no temporary file remains, a report is written, and a shell sees a death by the signal.
set -u
. "$ROOT/scripts/tap.sh"
[ "${SANITIZER:-coverage}" = coverage ] || skip_all "the shim and the sanitizers want the same calls"
env --default-signal=INT true 2>/dev/null || skip_all "env of this machine does not set signals"
cd "$TEST_TMP" || exit 1
hetsort=$BIN/hetsort
"$BIN/gensort" --no-fsync 50000 in && "$hetsort" -o expected in || exit 1

left_over() { find . -name '.hetsort-*' -o -name 'out*' | sort | paste -sd' '; }
field() { sed -n "s/^  \"$1\": \"\{0,1\}\([^\",]*\).*/\1/p" report; }

start() { # start CALL ARGUMENT... - hetsort in the background, until it hangs in CALL
  local call=$1; shift
  rm -rf report hanging out*
  timeout -s KILL 60 env "${signals:---default-signal=INT,TERM,HUP,USR1,QUIT,USR2,XCPU,IO,PWR,ALRM,PROF,VTALRM,STKFLT}" HETSORT_SHIM="$call=hang" HETSORT_SHIM_FILE=hanging \
    LD_PRELOAD="$OBJ/shim.so" "$hetsort" --report "${to:-report}" --direct never "$@" <&0 2>err &
  pid=$!
  # shellcheck disable=SC2016
  await eval '[ -e hanging ] || [ ! -d /proc/$pid ]'
  child=$(children_of $pid)
}
end() { wait $pid; rc=$?; rm -f hanging; }

interrupts() { # interrupts SIGNAL CODE CALL ARGUMENT...
  local sig=$1 code=$2 call=$3; shift 3
  start "$call" "$@"
  kill -s "$sig" "$child"
  end
  is "$sig in $call, $*: exit code, left over" "$rc/$(left_over)" "$code/"
  is "$sig in $call, $*: message" "$(cat err)" "hetsort: interrupted by SIG$sig"
  is "$sig in $call, $*: report" "$(field status) $(field exit_code) $(field signal)" "interrupted $code SIG$sig"
}

for mode in "--ranks 1" "--ranks 3" "--ranks 3 --exchange-threads 0" "--ranks 2 --strategy distribute"; do
  for call in read write:2 fsync; do
    # shellcheck disable=SC2086  # the mode is several words
    interrupts TERM 143 $call $mode -o out in
  done
done
interrupts TERM 143 alloc -o out in
interrupts TERM 143 fallocate -o out in
interrupts INT 130 write:3 -o out in
interrupts HUP 129 read:2 --ranks 2 -o out.%r in
ulimit -c 0 # some of these dump core
for sig in QUIT XCPU IO PWR ALRM PROF VTALRM STKFLT; do
  interrupts $sig $((128 + $(kill -l $sig))) write:2 -o out in
done
interrupts TERM 143 fsync:2 --ranks 2 -o out.%r in
"$BIN/gensort" --no-fsync 700000 large && mkdir spill || exit 1
interrupts TERM 143 write:9 --memory 64M --tmpdir spill -o out large
is "interrupted while spilling: nothing left" "$(ls -A spill)" ""
interrupts TERM 143 write:9 --memory 64M --tmpdir spill -o out - <large
is "interrupted while standard input spills: nothing left" "$(ls -A spill)" ""
interrupts TERM 143 write:9 --memory 128M --ranks 2 --strategy distribute --tmpdir spill -o out large
is "interrupted while distributing to the disk: nothing left" "$(ls -A spill)" ""
rm large
mkdir gone
to=gone/report start read -o out in
rm -r gone
kill -s TERM "$child"
end
is "TERM, and the directory of the report is gone: exit code, left over" "$rc/$(left_over)" 143/
is "TERM, and the directory of the report is gone: message" "$(sed 's/: No such.*//' err | paste -sd'|')" \
  "hetsort: interrupted by SIGTERM|hetsort: no report: cannot open the directory of 'gone/report'"

# while files get their final names, a signal comes too late: all of them get their names
start rename:2 --ranks 3 -o out.%r in
kill -s TERM "$child"
rm hanging
end
is "TERM while names are given" "$rc/$(cat out.0 out.1 out.2 | cmp - expected)/$(left_over)" \
  "0//./out.0 ./out.1 ./out.2 ./out.manifest"
is "TERM while names are given: report" "$(field status)" ok

# the job continues to the end of the step
for mode in "--ranks 1" "--ranks 3"; do
  # shellcheck disable=SC2086
  start read $mode -o out in
  kill -s USR1 "$child"
  ok "USR1, $mode: continues to the end of the step" test -d "/proc/$child"
  rm hanging
  end
  is "USR1, $mode: exit code, left over" "$rc/$(left_over)" "$((128 + $(kill -l USR1)))/"
  ok "USR1, $mode: message" grep -q "^hetsort: \(rank [0-2], [a-z]*: \)\?stopped by SIGUSR1" err
  is "USR1, $mode: report" "$(field status) $(field signal)" "interrupted SIGUSR1"
done

# ignored signals stay ignored
signals=--ignore-signal=HUP start read -o out in
kill -s HUP "$child"
rm hanging
end
is "HUP under nohup" "$rc/$(cmp out expected)" 0/
rm -f out

# nobody reads the output of the program
run bash -c '"$0" -v -o out in 2> >(:)' "$hetsort"
is "closed standard error" "$rc/$(cmp out expected)" 0/
rm -f out
bash -c '"$0" -o - in | head -c 100 >part; exit "${PIPESTATUS[0]}"' "$hetsort" 2>err
is "closed standard output: exit code" "$?" 3
ok "closed standard output: message" grep -q "cannot write standard output: Broken pipe" err

# no thread can be started to wait for signals
run env HETSORT_SHIM=thread:1+=EAGAIN LD_PRELOAD="$OBJ/shim.so" "$hetsort" -o out in
is "no thread for signals" "$rc/$(cmp out expected)" 0/
done_testing
