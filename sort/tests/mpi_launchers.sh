#!/usr/bin/env bash
# shellcheck disable=SC2016  # shells of the ranks expand
# SPDX-License-Identifier: GPL-3.0-or-later
# The program, hetsort.sort_file() of Python and the library under mpirun: in ranks of one job, in ranks that sort by
# themselves, in one rank of several, and in a job within a job. Nothing hangs, and nothing fails without a message.
# test_launchers.sh has the rows without mpirun.
set -u
. "$ROOT/scripts/tap.sh"
# shellcheck source=python/tests/python_help.sh
. "$ROOT/python/tests/python_help.sh"
cd "$TEST_TMP" || exit 1
hetsort=$BIN/hetsort mpirun=$ROOT/scripts/mpirun
"$BIN/gensort" --no-fsync 1000 in && "$hetsort" -o sorted in || exit 1
# in a script: $rank, $hetsort
cat >of_rank <<'SH'
#!/bin/sh
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}
eval "$1"
SH
chmod +x of_rank
export hetsort
on() { run timeout 120 "$mpirun" "$@"; } # on RANKS COMMAND...
printed() { grep -c -e "$1" <<<"$err"; }

# --- the program
for ranks in 1 2; do
  for launcher in auto mpi; do
    on $ranks "$hetsort" --launcher=$launcher --force -o out in
    is "$ranks ranks, --launcher=$launcher" "$rc/$(cmp sorted out 2>&1)" 0/
  done
done
if [ "${SANITIZER:-coverage}" = coverage ] && ! mpich; then # whose ranks have no such connection
  on 2 env LD_PRELOAD="$OBJ/mpi-shim.so" HETSORT_SHIM_SOCKETS="$PWD/sockets" "$hetsort" --force -o out in
  is "no message to the launcher is held back" "$rc/$(sort sockets | uniq -c | tr -s ' ')" "0/ 2 at once"
fi
on 2 ./of_rank 'exec "$hetsort" --launcher=none --ranks=$((rank + 1)) --report=r.$rank -o own.$rank in'
is "each rank by itself" "$rc/$(cmp sorted own.0 2>&1)/$(cmp sorted own.1 2>&1)" 0//
is "each rank by itself: its ranks are threads" "$(grep -h -c '"pid"' r.0 r.1 | paste -sd,)" 1,2
on 2 ./of_rank 'if [ $rank = 1 ]; then "$hetsort" --launcher=none -o one in || exit; fi; exec "$hetsort" -o both in'
is "a rank sorts by itself, and then with the others" "$rc/$(cmp sorted one 2>&1)/$(cmp sorted both 2>&1)" 0//

# --- ranks with different options: the message names the way to sort without the others
differ() { # differ NAME SCRIPT
  rm -f new.*
  on 2 ./of_rank "$2"
  is "$1: exit code" "$rc" 5
  is "$1: the message" "$(printed '^hetsort: rank 1 .*other options than rank 0; if .* use --launcher=none')" 1
  ok "$1: no output" test ! -e new.0 -a ! -e new.1
}
differ "a farm of sorts" 'exec "$hetsort" -o new.$rank in'
differ "a farm of checks" 'if [ $rank = 0 ]; then exec "$hetsort" --check in; else exec "$hetsort" --check sorted; fi'
differ "a sort and a check" 'if [ $rank = 0 ]; then exec "$hetsort" -o new.0 in; else exec "$hetsort" --check sorted; fi'
differ "a check and a sort" 'if [ $rank = 1 ]; then exec "$hetsort" -o new.0 in; else exec "$hetsort" --check sorted; fi'

# --- one rank of several: it says for whom it waits
waits() { # waits NAME TEST MESSAGE COMMAND OTHER - ranks for which TEST is true run COMMAND, the others OTHER
  timeout 120 "$mpirun" 3 ./of_rank "if [ $2 ]; then echo \$\$ >pid; exec $4; fi; $5" >/dev/null 2>waiting &
  ok "$1: says so" await grep -q -e "$3; to sort without other ranks, use --launcher=none" waiting
  is "$1: once" "$(lines)" 1
  is "$1: naps are exact" "$(cat "/proc/$(<pid)/timerslack_ns" 2>/dev/null || echo 1000)" 1000
  if [[ $4 != *--check* ]]; then # which has no signals
    kill -USR2 "$(<pid)"
    ok "$1: again when a signal asks" await two_lines
  fi
  kill $! && wait $!
}
lines() { grep -c '^hetsort: .* waits for' waiting; }
# shellcheck disable=SC2317  # called by await
two_lines() { [ "$(lines)" = 2 ]; }
few="1 of 3 ranks to start hetsort: 2" most="2 of 3 ranks to start hetsort: 0 2" others=" (1 of 3 on this host have)"
mpich && few="the other 2 ranks of its job to start hetsort" most=$few others=
waits "rank 2 ends without a sort" '$rank != 2' "^hetsort: rank [01] (.*) waits for $few" '"$hetsort" -o new.0 in' :
waits "ranks 0 and 2 do something else" '$rank = 1' "^hetsort: rank 1 (.*) waits for $most" '"$hetsort" --check in' 'exec sleep 600'
waits "more ranks on other hosts" '$rank = 0' "^hetsort: rank 0 (.*) waits for the other 5 ranks of its job to start hetsort$others" \
  'env OMPI_COMM_WORLD_SIZE=6 PMI_SIZE=6 "$hetsort" -o new.0 in' 'exec sleep 600'

# --- one rank fails before it has joined the others, which cannot know why
on 2 ./of_rank 'if [ $rank = 1 ]; then exec "$hetsort" --nosuch; else exec "$hetsort" -o new.0 in; fi'
is "only one rank has a wrong option" "$rc/$(printed "^hetsort: rank 1 ($(hostname)), starting: unknown option '--nosuch'")" 2/1
on 2 ./of_rank 'if [ $rank = 1 ]; then exec "$hetsort" -o out; else sleep 600; fi'
is "only one rank runs hetsort, wrongly" "$rc/$(printed "^hetsort: rank 1 ($(hostname)), starting: no input file is named")" 2/1

# --- variables of a job that has ended
"$mpirun" 2 env >before
while read -r name; do unset "$name"; done < <(sed -n 's/^\(\(PMIX\|PMI\|OMPI_COMM\)_[A-Z_0-9]*\)=.*/\1/p' before)
for rank in 0 1; do
  stale=("OMPI_COMM_WORLD_RANK=$rank" OMPI_COMM_WORLD_SIZE=4)
  mpich && stale=("PMI_RANK=$rank" PMI_SIZE=4)
  run timeout 120 env "${stale[@]}" "$hetsort" -o new.0 in
  ok "stale variables, rank $rank: not sorted, with a message" test "$rc" -ne 0 -a "$rc" -ne 124 -a -n "$err"
  run timeout 120 env "${stale[@]}" "$hetsort" --launcher=none --force -o out in
  is "stale variables, rank $rank: without MPI" "$rc/$err/$(cmp sorted out 2>&1)" 0//
done

# --- Python and the library
python=
if [ -e "$OBJ/libhetsort.so" ] && [ -z "${SANITIZER:-}" ]; then python=$(python_with numpy mpi4py) || python=; fi
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$ROOT/python HETSORT_LIBRARY=$OBJ/libhetsort.so HETSORT_PROGRAM=$hetsort
[ -z "$python" ] || [ "$("$python" -c 'import hetsort._library as l; from mpi4py import MPI; print(
  l.mpi_version() == MPI.Get_library_version().rstrip("\0\n "))')" = True ] || python=
if [ -z "$python" ]; then
  echo "# skipped: no python3 with numpy and mpi4py of this MPI"
  done_testing
fi
program() { # program NAME WANTED COMMAND...
  local name=$1 wanted=$2; shift 2
  run timeout 240 "$@"
  is "Python: $name" "$rc/$(sort <<<"$out" | paste -sd,)" "0/$wanted"
}
client=$ROOT/python/tests/launchers.py good="file True, library True"
for way in plain mpi one; do
  program "$way" "rank 0: 1 rank, $good" "$python" "$client" $way
  program "$way, mpirun with one rank" "rank 0: 1 rank, $good" "$mpirun" 1 "$python" "$client" $way
done
program "two ranks sort" "rank 0: 1 rank, $good,rank 1: 1 rank, $good" "$mpirun" 2 "$python" "$client" mpi
program "one rank of two sorts" "rank 0: 1 rank, $good" "$mpirun" 2 "$python" "$client" one
# the lines of the manual that unset the variables of the first job
sed -n '/^for name in .*env/,/done$/p' "$ROOT/sort/man/hetsort.7" | sed 's/\\-/-/g; s/\\e/\\/g' >inner
ok "the manual's lines are found" grep -q unset inner
echo 'exec "$0" 2 "$hetsort" --force -o inner.out in' >>inner
run timeout 120 "$mpirun" 1 bash -c ". ./inner" "$mpirun"
is "mpirun in a rank, with the manual's lines" "$rc/$(cmp sorted inner.out 2>&1)" 0/
rm -f inner.out
run timeout 120 "$python" -c 'import subprocess, sys; from mpi4py import MPI
sys.exit(subprocess.run(["bash", "-c", ". ./inner", sys.argv[1]]).returncode)' "$mpirun"
is "mpirun in a program without a launcher, with the manual's lines" "$rc/$(cmp sorted inner.out 2>&1)" 0/
program "a job of a program without a launcher" "rank 0: 2 ranks, $good" "$python" "$client" nested "$mpirun" 2
program "a job of each rank" "rank 0: 2 ranks, $good,rank 1: 2 ranks, $good" "$mpirun" 2 "$python" "$client" nested "$mpirun" 2
done_testing
