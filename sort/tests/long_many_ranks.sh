# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# 1000 ranks in one process write the output of one rank; one of 256 simulated hosts stops during the sort.
# shellcheck disable=SC2154  # run sets rc, out, err
. "$ROOT/scripts/tap.sh"
[ -z "${SANITIZER:-}" ] || skip_all "sanitizers take memory of their own for each thread"

"$BIN/gensort" 300000 in.dat 2>/dev/null
"$BIN/hetsort" -q --no-fsync -o wanted.dat in.dat
for strategy in merge distribute; do
  run "$BIN/hetsort" --no-fsync --ranks 1000 --strategy "$strategy" --report report.json -f -o out.dat in.dat
  is "1000 ranks $strategy" "$rc/$err" 0/
  ok "1000 ranks $strategy: the output of one rank" cmp -s out.dat wanted.dat
done
run "$BIN/hetsort" --no-fsync --ranks 1000 -o 'part.%r' in.dat
is "1000 parts" "$rc/$(find . -name 'part.[0-9]*' | wc -l)" 0/1000
run "$BIN/hetsort" --check-manifest part.manifest
is "1000 parts: the manifest matches" "$rc" 0
# shellcheck disable=SC2016  # the inner shell expands it
ok "1000 parts: together they are the output" sh -c 'for i in $(seq 0 999); do cat part.$i; done | cmp -s - wanted.dat'

if [ -x "$BIN/hetsim" ]; then
  printf '256 x net 10G disk 100M/s\nat 500ms host 77 stop\n' >cluster
  run "$BIN/hetsim" -s 10000 cluster --no-fsync --timeout 5 -f -o out.dat in.dat
  is "one of 256 hosts stops" "$rc/$(grep -c '^hetsort: rank 77 (h77), .*: no sign of life' <<<"$err")" 5/1
fi
done_testing
