#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Ranks of an MPI job are ended from outside: the whole job ends, and no file has its final name. The exit code of the
# launcher is not judged.
# shellcheck disable=SC2016,SC2317  # conditions for await; functions are called through ok
set -u
. "$ROOT/scripts/tap.sh"
[ "${SANITIZER:-coverage}" = coverage ] || skip_all "the shim and the sanitizers want the same calls"
cd "$TEST_TMP" || exit 1
hetsort=$BIN/hetsort
"$BIN/gensort" --no-fsync 50000 in || exit 1
cat >rank <<END
#!/bin/sh
# prints its number, and hangs in the call that it is given
r=\${OMPI_COMM_WORLD_RANK:-\${PMI_RANK:-0}}
echo \$\$ >pid.\$r
exec env HETSORT_SHIM="\$HANG=hang" HETSORT_SHIM_FILE="$PWD/hanging.\$r" LD_PRELOAD="$OBJ/shim.so" "$hetsort" --report report "\$@"
END
chmod +x rank

field() { sed -n "s/^  \"$1\": \"\{0,1\}\([^\",]*\).*/\1/p" report; }

left_over() { # left_over NAME OUTPUT - the other ranks have removed the job's files; MPICH kills them before they can
  ! mpich || "$hetsort" -q --clean --ranks 3 "$2" 2>/dev/null
  is "$1" "$(find . -name '.hetsort-*')" ""
}

start() { # start CALL ARGUMENT... - three ranks, until rank 0 hangs in CALL
  local call=$1; shift
  rm -rf report hanging.* pid.* out* .hetsort-*
  HANG=$call timeout -s KILL 300 "$ROOT/scripts/mpirun" 3 ./rank --direct never "$@" >said 2>&1 &
  job=$!
  await eval '[ -e hanging.0 ] || [ ! -d /proc/$job ]'
}
ends() { # ends NAME - the job ends by itself, with a failure, and has not named its output
  wait $job; rc=$?
  mpich || ok "$1: ends and fails" test "$rc" -ne 0 # MPICH's launcher may return 0 when it is asked to end
  is "$1: no final name" "$(find . -name 'out*')" ""
  for i in 0 1 2; do ok "$1: rank $i is gone" await gone "$(cat "pid.$i")"; done
}

# Open MPI 4.1 kills the ranks a second after it has sent them SIGTERM, or when the first one has ended:
# a busy machine may need several tries until all ranks have used that time. The hanging calls are of the job and not
# of MPI: before rank 0 knows which files the job reads, no report is written.
told_all=0
for call in fallocate fsync truncate fsync:2 fallocate fsync; do
  start $call -o out in
  kill -s TERM "$(children_of $job)"
  ends "TERM to the launcher in $call"
  [ "$(field status) $(field signal)/$(find . -name '.hetsort-*')" = "interrupted SIGTERM/" ] && told_all=$((told_all + 1))
  [ $told_all -lt 3 ] || break
done
ok "TERM to the launcher: report, and nothing temporary ($told_all times)" test $told_all -ge 3
# a signal to only one rank: it removes the files of the job, even if the launcher kills the others at once
for sig in TERM HUP INT ALRM; do
  start fsync -o out in
  await eval '[ -e hanging.2 ] || [ ! -d /proc/$job ]'
  kill -s STOP "$(cat pid.0)"
  kill -s $sig "$(cat pid.2)"
  await gone "$(cat pid.2)"
  # The launcher may have woken rank 0 by now, which then writes its report.
  is "$sig to rank 2: nothing temporary, though rank 0 stands still" \
    "$(find . -name '.hetsort-*' ! -name '*-report.tmp')" ""
  ends "$sig to rank 2"
  is "$sig to rank 2: message" "$(grep "^hetsort: rank" said)" "hetsort: rank 2 ($(hostname)): interrupted by SIG$sig"
done
start create:2 -o out in # rank 0 has its lock, and cannot remove it now
is "before the output exists, the lock exists" "$(find . -name '.hetsort-*.lock' | wc -l)" 1
kill -s TERM "$(cat pid.1)"
await gone "$(cat pid.1)"
is "TERM to rank 1 then: no lock" "$(find . -name '.hetsort-*')" ""
rm hanging.0
ends "TERM to rank 1 then"
start fsync -o out in
kill -s KILL "$(cat pid.0)"
ends "KILL of rank 0"
left_over "KILL of rank 0: the others remove its files" out
start fsync -o out in
kill -s TERM "$(cat pid.0)"
ends "TERM to rank 0"
is "TERM to rank 0: message" "$(grep ^hetsort: said)" "hetsort: rank 0 ($(hostname)): interrupted by SIGTERM"
is "TERM to rank 0: report" "$(field status) $(field signal)" "interrupted SIGTERM"
is "TERM to rank 0: nothing temporary" "$(find . -name '.hetsort-*')" ""
start fsync -o out.%r in
kill -s KILL "$(cat pid.2)"
ends "KILL of rank 2"
left_over "KILL of rank 2: the others remove its files" out.%r
start fsync -o out.%r in
kill -s KILL "$(children_of $job)"
await gone "$(cat pid.0)" "$(cat pid.1)" "$(cat pid.2)"
ends "KILL of the launcher"
left_over "KILL of the launcher: nothing temporary" out.%r
done_testing
