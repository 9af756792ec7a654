#!/usr/bin/env bash
# hetsort --emulate under mpirun: virtual ranks in several processes.
set -u
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
hetsort=$BIN/hetsort
"$BIN/gensort" --no-fsync 20000 in && "$hetsort" -q -o sorted in || exit 1

on() { # on RANKS ARGUMENT... - hetsort over MPI
  local ranks=$1; shift
  run timeout 120 "$ROOT/scripts/mpirun" "$ranks" "$hetsort" "$@"
}

for threads in 0 1 2; do
  on 2 -f -v --speeds 3,2 --emulate 5 --exchange-threads $threads -o out in
  is "2 processes, $threads exchange threads: exit code" "$rc" 0
  ok "2 processes, $threads exchange threads: sorted" cmp -s sorted out
done
ok "the numbers of ranks are told" grep -q '^emulation: 5 virtual ranks: 3 2; 100.0 %' <<<"$err"
ok "and the MPI below" grep -q '5 ranks (.*MPI.*5 virtual ranks on 2' <<<"$err"
on 3 -f --speeds 1,2,3 --emulate best --strategy distribute --timeout 60 -o out in
is "3 processes, the best number: exit code" "$rc" 0
ok "3 processes, the best number: sorted" cmp -s sorted out
on 1 -f --speeds 1 --emulate 3 -o out in
is "1 process: exit code" "$rc" 0
on 2 -f --speeds 30,1 --emulate 4 -o out in
is "refused on all ranks, told once" "$rc/$(grep -c 'no virtual rank for rank 1' <<<"$err")" 2/1
done_testing
