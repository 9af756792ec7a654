#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# --timeout with ranks that are processes. The other ranks report a rank that is stopped, even if it is rank 0,
# which collects all heartbeats. A rank that sleeps reports itself. HETSORT_LONG=1 tests both ranks in all phases.
set -u
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
# shellcheck source=sort/comm/tests/lost.sh
. "$ROOT/sort/comm/tests/lost.sh"
hetsort=$BIN/failpoints/hetsort
if mpich; then killed=9; else killed=137; fi # the launcher's exit code
"$BIN/gensort" --no-fsync 20000 in && "$BIN/hetsort" -o expected in || exit 1

declare -A doing=([read]=reading [merge]=merging [commit]=finishing)
on() { HETSORT_FAIL=$1 run timeout -s KILL 100 "$ROOT/scripts/mpirun" 3 "$hetsort" "${@:2}" -o out in; }
for rank in 0 2; do
  case $rank${HETSORT_LONG:-} in 0) phases="read commit" ;; 2) phases=merge ;; *) phases="read merge commit" ;; esac
  for phase in $phases; do
    rm -f r.json
    on "delay@$phase:$rank=1.5,stop@$phase:$rank" --timeout 3 --report r.json # long enough for a heartbeat with the phase
    is "stop@$phase:$rank: exit code, output" "$rc/$(ls out 2>/dev/null)" 5/
    ok "stop@$phase:$rank: named" grep -q "^hetsort: rank $rank ($(hostname)), ${doing[$phase]}: no sign of life for" <<<"$err"
    # two ranks report it at the same time; their lines must not be mixed
    whole="hetsort: rank $rank \($(hostname)\), ${doing[$phase]}: no sign of life for [0-9.]+ s, after [0-9]+ pieces? of work"
    is "stop@$phase:$rank: whole lines" "$(grep 'hetsort: rank' <<<"$err" | grep -vxE "$whole")" ""
    if [ $rank != 0 ]; then
      is "stop@$phase:$rank: in the report" "$(lost r.json)" "peer 5, 3 ranks, $rank ($(hostname)) $phase"
    fi
    rm -f .hetsort-*
  done
done
# stopped before MPI has started, and after all work is done but before MPI has ended
cat >stopped <<'END'
#!/bin/sh
[ "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-}}" != 1 ] || kill -STOP $$
exec "$@"
END
chmod +x stopped
run timeout -s KILL 100 "$ROOT/scripts/mpirun" 3 ./stopped "$hetsort" --timeout 2 -o out in
is "stopped before it starts: exit code, output" "$rc/$(ls out 2>/dev/null)" 5/
ok "stopped before it starts: the waiting rank and its step are named" \
  grep -qE "^hetsort: rank [02] \($(hostname)\), joining the other ranks: no [a-z]+ .*for [0-9.]+ s" <<<"$err"
on stop@end:1 --timeout 2
if mpich && [ "$rc" = $killed ]; then rc=5; fi # its launcher may return the code of the stopped rank, which it kills
is "stopped at the end: exit code, output" "$rc/$(cmp -s out expected && echo same)" 5/same
ok "stopped at the end: the waiting rank and its step are named" \
  grep -q "^hetsort: rank [02] ($(hostname)), leaving the other ranks: no progress for" <<<"$err"
is "stopped at the end: no temporary files are left" "$(find . -name '.hetsort-*')" ""
rm out
if [ "${SANITIZER:-coverage}" = coverage ]; then # the shim and the sanitizers replace the same calls
  # no rank can detect it: MPI has ended on all of them
  run timeout -s KILL 100 "$ROOT/scripts/mpirun" 3 env LD_PRELOAD="$OBJ/mpi-shim.so" \
    HETSORT_SHIM=Finalize:1=stop@rank1 "$hetsort" --timeout 2 -o out in
  is "stopped after MPI's end: exit code, output" "$rc/$(cmp -s out expected && echo same)" $killed/same
fi
rm -f out
on delay@merge:1=60 --timeout 2 --report r.json --html p.html
is "a rank that sleeps: exit code, output" "$rc/$(ls out 2>/dev/null)" 5/
ok "a rank that sleeps: named" grep -q "^hetsort: rank 1 ($(hostname)), merging: no progress for" <<<"$err"
is "a rank that sleeps: in the report" "$(lost r.json)" "peer 5, 3 ranks, 1 ($(hostname)) merge"
ok "a rank that sleeps: in the page" grep -q '"message":"no progress for' p.html
rm -f .hetsort-*
for threads in 0 1 2; do
  on "" --timeout 30 -f --exchange-threads $threads
  is "all ranks work, $threads exchange threads: sorted" "$rc/$(cmp -s out expected && echo same)" 0/same
done
rm out
on thread:1@rank1 --timeout 9
is "no thread for heartbeats: exit code, output" "$rc/$(ls out 2>/dev/null)" 4/
ok "no thread for heartbeats: message" grep -q "^hetsort: rank 1 ($(hostname)), starting: cannot start the thread that watches ranks" <<<"$err"
on kill@merge:1 --timeout 30 --report r.json
is "a rank that is killed" "$rc/$(ls out 2>/dev/null)" $killed/
ok "a rank that is killed: the report has the ranks" grep -q '3 ranks, ' <<<"$(lost r.json)"
done_testing
