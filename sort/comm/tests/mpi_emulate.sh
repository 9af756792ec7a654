#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# hetsort --emulate under mpirun: virtual ranks in several processes.
# shellcheck disable=SC2016  # inner shells expand
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
ok "the numbers of virtual ranks are printed" grep -q '^emulation: 5 virtual ranks: 3 2; 100.0 %' <<<"$err"
ok "the name of the MPI is printed" grep -q '5 ranks (.*MPI.*5 virtual ranks on 2' <<<"$err"
on 3 -f --speeds 1,2,3 --emulate best --strategy distribute --timeout 60 -o out in
is "3 processes, the best number: exit code" "$rc" 0
ok "3 processes, the best number: sorted" cmp -s sorted out
on 1 -f --speeds 1 --emulate 3 -o out in
is "1 process: exit code" "$rc" 0
on 2 -f --speeds 30,1 --emulate 4 -o out in
is "too few virtual ranks: refused, one message" "$rc/$(grep -c 'no virtual rank for rank 1' <<<"$err")" 2/1
printf '#!/bin/sh\nexec "%s" --emulate $((3 + ${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}} %% 2)) "$@"\n' "$hetsort" >odd
chmod +x odd
rm -f out
run timeout 120 "$ROOT/scripts/mpirun" 2 ./odd --speeds 1,2 -o out in
is "ranks with different numbers: exit code, output" "$rc/$(ls out 2>/dev/null)" 2/
ok "ranks with different numbers: message" \
  grep -q "^hetsort: rank [01] ($(hostname)), starting: --emulate is not the same on all ranks" <<<"$err"
done_testing
