# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Memory that must not grow with the square of the number of ranks if many ranks share a process.
# shellcheck disable=SC2154  # run sets rc, out, err
. "$ROOT/scripts/tap.sh"
[ -z "${SANITIZER:-}" ] || skip_all "sanitizers take memory of their own for each thread"
"$BIN/gensort" 20000 in.dat 2>/dev/null

number() { grep -o "\"$1\": *[0-9]*" plan.json | head -1 | grep -o '[0-9]*$'; }

# If each rank has files of its own, each rank is a thread: it has a stack and the properties of its host, but almost
# no data about the other ranks.
run "$BIN/hetsort" --explain --ranks 1000 --report plan.json -o out.%r in.dat
is "a plan for 1000 ranks" "$rc/$(grep -c '^1000 ranks (threads)' <<<"$out")" 0/1
peak=$(number process_peak)
planned=$(number planned_bytes)
ok "less than 1 kB per other rank, and 1 MB: $planned bytes" test "$planned" -lt 2000000
ok "it takes less than 120 kB per rank: $peak bytes" test "$peak" -lt 120000000

# Enough ranks that counters of blocks share cache lines: every rank sends to every other one.
"$BIN/hetsort" -q --no-fsync -o wanted.dat in.dat
for threads in 0 2; do
  run "$BIN/hetsort" --no-fsync --ranks 150 --exchange-threads "$threads" -f -o sorted.dat in.dat
  is "150 ranks, $threads threads each for the exchange" "$rc/$err" 0/
  ok "150 ranks, $threads threads: the output of one rank" cmp -s sorted.dat wanted.dat
done

# Otherwise rank 0 plans for all ranks, as each would. Times are not compared, because they contain the start.
plan() {
  "$BIN/hetsort" --explain "$@" in.dat 2>&1 | sed -E 's/ +[0-9.]+( +[a-z]+)?$/\1/; s/[0-9.]+ s, at//'
  echo "status ${PIPESTATUS[0]}"
}
as_each() {
  local one each
  one=$(plan "$@" -o out.dat)
  each=$(plan "$@" -o out.%r)
  is "each rank makes the same plan: $*" "$one" "$each"
}
as_each --ranks 4 --memory 100M # memory in use changes from one job to the next
as_each --ranks 16 --memory 64M
as_each --ranks 9 --memory 30M --strategy distribute
as_each --ranks 3 --memory 1M
as_each --ranks 7 --speeds 1,1,0.5,0.5,1,1,3 --memory 14M
as_each --ranks 3 --speeds 1,1,30 --memory 7M --strategy distribute
as_each --ranks 3 --speeds 1,1,30 --memory 9M --strategy distribute
run "$BIN/hetsort" --explain --ranks 4 -o out.dat missing.dat
is "a missing input: one message for all ranks" "$rc/$err" \
  "2/hetsort: cannot open input 'missing.dat': No such file or directory"

run "$BIN/hetsort" --explain --ranks 4000 --memory 64K --report plan.json -o out.dat in.dat
peak=$(number process_peak)
is "4000 ranks lack memory" "$rc/$(grep -cE '^hetsort: not enough memory .*, for 4000 ranks\); (they need|use) ' <<<"$err")" 4/1
ok "4000 ranks lack memory: less than 12 kB per rank: $peak bytes" test "$peak" -lt 48000000
run "$BIN/hetsort" --explain --ranks 65536 --memory 64K -o out.dat in.dat
is "65536 ranks lack memory: one line" \
  "$rc/$(grep -cE '^hetsort: not enough memory .*, for 65536 ranks\); (they need|use) ' <<<"$err")/$(wc -l <<<"$err")" 4/1/1

# Unequal ranks are planned one by one, but the least memory is searched only for the ranks that need the most. The limit is
# processor time: a search for each rank takes 10 s, one search half a second.
awk 'BEGIN { for (i = 0; i < 65536; i++) print 1 + i * 40503 % 65536 / 65536 }' >speeds
truncate -s 1000000000000 long.dat
run bash -c 'ulimit -t 5; exec "$@"' - "$BIN/hetsort" --explain --ranks 65536 --speeds speeds --plan equal -o out.dat long.dat
is "65536 unequal ranks in 5 s of processor time" "$rc/$(grep -oE ', for 65536 ranks\); (they need|use)' <<<"$err")" "4/, for 65536 ranks); they need"
as_each --ranks 7 --speeds 3,1,2,7,0.5,1.1,5 --memory 64K
done_testing
