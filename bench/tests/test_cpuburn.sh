# shellcheck shell=bash disable=SC2016,SC2317  # functions called through ok
# SPDX-License-Identifier: GPL-3.0-or-later
# cpuburn: usage errors, exit status, and processor time used. Nothing of it may remain, however it or its parent
# ends. No test depends on the wall clock: shares are shares of processor time. HETSORT_LONG=1 tests more factors.
. "$ROOT/scripts/tap.sh"
burn=$BIN/cpuburn
[ -x "$burn" ] || skip_all "cpuburn is built on Linux only"

refused() { # refused MESSAGE OPTION... - check a usage error
  local what=$1; shift
  run "$burn" "$@"
  is "refused: $*" "$rc" 2
  ok "the message gives the reason: $*" grep -q -e "$what" <<<"$err"
}
refused 'factor is missing'
for f in 0.99 51 nan '' 2x; do refused "not '$f'" "--factor=$f"; done
for c in x 1- 3-1 '0,' ',0' 99999 -1; do refused "not '$c'" --factor=2 "--cpus=$c"; done
refused 'CPU 1023' --factor=2 --cpus=1023
refused 'exclude each other' --factor=2 --fifo --nice
refused 'slows a COMMAND' --factor=2 --cgroup
refused "not '499'" --factor=2 --period=499
refused "unknown or ambiguous option '--no-such-option'" --no-such-option
refused "unknown or ambiguous option '--fatcor' (did you mean --factor?)" --fatcor 2
refused "unknown or ambiguous option '-x'" --factor=2 -xq
refused "option '--factor' takes an argument" --factor
refused "option '--quiet=3' takes no argument" --factor=2 --quiet=3
run sh -c '"$0" --help >/dev/full' "$burn"
is "help that cannot be written" "$rc" 1

for words in --factor= --factor=2\ --cpus= --; do
  # shellcheck disable=SC2086  # one word, or two
  run "$burn" ${words}$'\e[31m\n%s%n'
  is "words with control bytes are refused: $words" "$rc" 2
  is "control bytes are printed with escapes: $words" "$(grep -c '\\x1b\[31m\\x0a%s%n' <<<"$err")/$(tr -d ' -~' <<<"$err")" 1/
done

field() { sed -n "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p" "$2"; }
# Other programs with real-time priority outrank the burner and reduce its share.
rival() { # rival - return whether another process has a real-time class (1 or 2); ignores kernel threads (flag 0x200000)
  cat /proc/[0-9]*/task/*/stat 2>/dev/null |
    awk '{sub(/^.*\) /, ""); if (($39 == 1 || $39 == 2) && int($7 / 2097152) % 2 == 0) found = 1} END {exit !found}'
}
ticks() { awk -v c="cpu$cpu" '$1 == c {for (i = 2; i <= 9; i++) all += $i; print all, $9}' /proc/stat; }
stolen() { # stolen TICKS - return whether a host machine took more than a thirtieth of the CPU's time since then
  awk -v was="$1" -v is="$(ticks)" 'BEGIN {split(was, a); split(is, b); exit !((b[2] - a[2]) * 30 > b[1] - a[1])}'
}
kept_off() { # kept_off FACTOR TICKS - return whether too little was burnt, and another program or machine can be the cause
  [ -n "$share" ] && ! above "$share" "$1" && { rival || stolen "$2"; }
}
near() { awk -v x="$1" -v y="$2" 'BEGIN {exit !(x > 0.95 * y && x < 1.05 * y)}'; }
above() { awk -v x="$1" -v y="$2" 'BEGIN {exit !(x >= 1.05 * y)}'; }
cpu=$(awk -F '[:\t,-]+' '/^Cpus_allowed_list/ {print $2}' /proc/self/status)

# Other programs and a host machine can keep a burner off its CPU, so it may burn less than its share, but never
# more. So one try of five must reach the factor, and none may exceed it.
fast=(-q --no-calibration --cpus="$cpu")
burnt_share() { # burnt_share FACTOR
  local try
  share=''
  for try in 1 2 3 4 5; do
    "$burn" "${fast[@]}" --factor="$1" --seconds=1 --json=report || return
    share=$(field by_cpu report)
    ! near "$share" "$1" || return 0
    ! above "$share" "$1" || return 1
    echo "# factor $1, try $try: $share"
  done
  return 1
}
factors=1.5
[ -z "${HETSORT_LONG:-}" ] || factors="1 1.5 2 4"
for f in $factors; do
  run "$burn" "${fast[@]}" --factor="$f" --seconds=0.1 --json=report
  is "factor $f: a burn for a time succeeds" "$rc" 0
  is "factor $f: it ends by the limit" "$(field ended_by report)" limit
  how=$(field how report)
  case $how in
    SCHED_FIFO)
      begun=$(ticks)
      burnt_share "$f"; rc=$?
      if [ $rc != 0 ] && kept_off "$f" "$begun"; then
        ok "factor $f: # SKIP another real-time program, or a host machine, takes the CPU: $share" true
      else
        is "factor $f: it uses its share of processor time: $share" "$rc" 0
      fi ;;
    *) ok "factor $f: without a real-time right it reports $how" test -n "$how" ;;
  esac
done

# A program of higher priority keeps the burner off the CPU for a quarter of a second. It takes that time back.
kept_away() {
  local try
  share=''
  for try in 1 2 3 4 5; do
    { sleep 0.5; timeout 0.25 chrt -f 50 taskset -c "$cpu" sh -c 'while :; do :; done'; } &
    "$burn" "${fast[@]}" --factor=2 --seconds=2 --json=report
    wait
    share=$(field by_cpu report)
    ! near "$share" 2 || return 0
    ! above "$share" 2 || return 1
    echo "# kept away, try $try: $share"
  done
  return 1
}
if [ -n "${HETSORT_LONG:-}" ] && [ "$how" = SCHED_FIFO ] && chrt -f 50 true 2>/dev/null; then
  begun=$(ticks)
  kept_away; rc=$?
  if [ $rc != 0 ] && kept_off 2 "$begun"; then
    ok "kept away: # SKIP another real-time program, or a host machine, takes the CPU: $share" true
  else
    is "it takes lost time back: $share of 2" "$rc" 0
  fi
fi

# With calibration, the reference loop is measured, and the message fits the measurement.
run "$burn" --cpus="$cpu" --factor=1.5 --seconds=0.2 --json=report
is "a calibrated burn succeeds" "$rc" 0
ok "it prints the factor reached" grep -q 'calibrated to [0-9.]* by' <<<"$err"
ok "the reference loop ran" grep -q '"calibration":\[{"left":0.666667,"by_cpu":[0-9.]*,"by_clock":[0-9.]*,' report

run "$burn" "${fast[@]}" --factor=2 --json=report -- sh -c 'exit 7'
is "the exit status of the command is returned" "$rc" 7
is "the exit status is in the report" "$(field status report)" 7
run "$burn" "${fast[@]}" --factor=2 -- sh -c 'kill -9 $$'
is "the status of a killed command is returned" "$rc" 137
run "$burn" "${fast[@]}" --factor=2 -- ./no-such-command
is "a command that does not exist" "$rc" 127
run "$burn" "${fast[@]}" --factor=2 --json=/nowhere/report -- true
is "a report that cannot be written is a failure" "$rc" 1
run "$burn" "${fast[@]}" --factor=2 -- awk '/^Cpus_allowed_list/ {print $2}' /proc/self/status
is "the command is bound to the CPUs" "$out" "$cpu"
run "$burn" "${fast[@]}" --factor=2 --seconds=0.1 --json=report -- sleep 1000
is "a command is ended at the end of the time" "$rc" 124

"$burn" "${fast[@]}" --factor=2 --json=report -- \
  sh -c 'trap "echo stopped >said; exit" TERM; echo $$ >up; while :; do sleep 0.02; done' &
pid=$!
ok "a command starts" await test -s up
kill -TERM $pid; wait $pid; rc=$?
is "SIGTERM: the exit status" "$rc" 143
is "SIGTERM: the command receives it" "$(cat said)" stopped
is "SIGTERM: the report names it" "$(field ended_by report)" SIGTERM

# Calibration takes a second. A signal during it must end the program before it starts a command.
"$burn" -q --factor=2 --json=report & pid=$!
sleep 0.2; kill -INT $pid; kill -TERM $pid; wait $pid; rc=$?
ok "a signal while it calibrates" test "$rc" -gt 128

rm -f up
bash -c '"$1" -q --no-calibration --factor=2 -- sh -c "echo \$\$ >up; exec sleep 1000" & echo $! >burn.pid; wait' bash "$burn" &
pid=$!
await test -s up
kill -9 $pid; wait $pid 2>/dev/null
ok "kill -9 of the parent ends cpuburn" await gone "$(cat burn.pid)"
ok "kill -9 of the parent ends the command" await gone "$(cat up)"

rm -f up
"$burn" "${fast[@]}" --factor=2 -- sh -c 'echo $$ >up; exec sleep 1000' & pid=$!
await test -s up
kill -9 $pid; wait $pid 2>/dev/null
ok "kill -9 of cpuburn ends its command" await gone "$(cat up)"

groups() { find /sys/fs/cgroup -maxdepth 6 -type d -name "cpuburn.$1" 2>/dev/null; }
rm -f up
"$burn" --no-calibration --factor=2 --cgroup -- sh -c 'echo $$ >up; exec sleep 1000' 2>said & pid=$!
await test -s up
if [ -n "$(groups $pid)" ]; then
  group=$(groups $pid)
  ok "the command is in a group" grep -q -x "$(cat up)" "$group/cgroup.procs"
  kill -9 $pid; wait $pid 2>/dev/null
  ok "kill -9 ends the processes of the group" await gone "$(cat up)"
  for ((i = 0; i < 100; i++)); do [ -d "$group" ] || break; sleep 0.05; done
  is "kill -9 removes the group" "$(groups $pid)" ""
  run "$burn" "${fast[@]}" --factor=2 --cgroup --json=report -- true
  is "the factor of a quota is unknown without calibration" "$(field reached report)" null
  is "with a quota: the command succeeds" "$rc" 0
  is "the report names the quota" "$(field how report)" quota
else
  wait $pid; rc=$?
  is "no right to make a group: refused" "$rc" 2
  ok "no right to make a group: the message" grep -q 'control group' said
fi

# A machine has CPU numbers beyond a cpu_set_t. cpuburn must use the CPUs that exist.
if [ "${SANITIZER:-coverage}" = coverage ]; then # preloading does not work with sanitizers
  cat >large.c <<'C'
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *set)
{
	(void)pid;
	if (bytes < 512)
		return errno = EINVAL, -1;
	memset(set, 0, bytes);
	return CPU_SET_S(4000, bytes, set), 0;
}
static int only_4000(size_t bytes, const cpu_set_t *set)
{
	return bytes >= 512 && CPU_COUNT_S(bytes, set) == 1 && CPU_ISSET_S(4000, bytes, set) ? 0 : EINVAL;
}
int sched_setaffinity(pid_t pid, size_t bytes, const cpu_set_t *set)
{
	(void)pid;
	return (errno = only_4000(bytes, set)) ? -1 : 0;
}
int pthread_setaffinity_np(pthread_t thread, size_t bytes, const cpu_set_t *set)
{
	(void)thread;
	return only_4000(bytes, set);
}
C
  "${CC:-cc}" -D_GNU_SOURCE -O1 -shared -fPIC -o large.so large.c || exit 1
  large() { run env LD_PRELOAD="$PWD/large.so" "$burn" --factor=1.5 --seconds=0.2 --json=report "$@"; }
  large --no-calibration -- true
  is "CPU 4000: it burns and starts its command" "$rc" 0
  large --cpus=4000
  is "CPU 4000: it measures" "$rc" 0
  large --cpus=3999
  is "CPU 3999 does not exist" "$rc $err" "2 cpuburn: CPU 3999 does not exist, or this process may not use it"
fi

# Root without CAP_SYS_NICE has no more right than others.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
  run setpriv --bounding-set=-sys_nice "$burn" --no-calibration --cpus="$cpu" --factor=2 --seconds=0.1 --json=report
  is "without a right to priority it burns" "$rc" 0
  ok "it explains the missing right" grep -q 'higher priority than other programs' <<<"$err"
  is "the missing right is in the report" "$(field how report)" 'no priority'
  run setpriv --bounding-set=-sys_nice "$burn" --no-calibration --cpus="$cpu" --factor=2 --fifo --seconds=0.1
  is "--fifo without the right is refused" "$rc" 2
fi
done_testing
