#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# --resume with another number of ranks than before. In whatever phase the job was killed, the next one continues with
# the complete runs, its output equals the output of a stable sort, and the records of these runs are not read again.
# The test takes some numbers of ranks; with HETSORT_LONG=1 it takes all.
# shellcheck disable=SC2086,SC2317  # several words; functions are called through others
set -u
. "$ROOT/scripts/tap.sh"
. "$ROOT/sort/phases/tests/checkpoints.sh"
records=60000
hetsort=$BIN/failpoints/hetsort
begin_with $records
"$BIN/hetsort" -s --key 0,1 --unique -o expected.unique in

sort_() { run timeout -s KILL 120 "$hetsort" -s --key 0,1 --no-fsync --report report --workdir store "$@" in; }
not_read() { sed -n 's/^ *"bytes_not_read": \([0-9]*\).*/\1/p' report | awk '{ n += $1 } END { print n + 0 }'; }
runs_used() { sed -n 's/^ *"runs": \([0-9]*\).*/\1/p' report | awk '{ n += $1 } END { print n + 0 }'; }
killed() { # killed POINT ARGUMENT... - a job that ends there
  local point=$1; shift
  rm -rf store out out.* .hetsort-*
  HETSORT_FAIL=kill@$point sort_ "$@"
  [ "$rc" -eq 137 ] || echo "# was not killed: $rc, $err"
}
left() { find . -name '.hetsort-*' -o -path './store/*' | sort | paste -sd' '; }
continues() { # continues NAME ARGUMENT... - the next job succeeds, and leaves no file
  local name=$1; shift
  sort_ --resume "$@" -o out
  is "$name: continues" "$rc/$err/$(cmp out expected 2>&1)/$(left)" "0///"
}
few() { [ -n "${HETSORT_LONG:-}" ] || [ $((turn++ % 4)) -eq 0 ]; }
complete_runs() { # count runs with a checkpoint, whose head is written last and begins with these bytes
  grep -l -a hesrun04 store/hetsort-rank*.run* 2>/dev/null | wc -l | tr -d ' '
}

# killed in every phase, resumed by other ranks
turn=0
for was in 1 3 4; do
  for phase in describe plan read checkpoint sample split merge exchange write sync commit; do
    case $was/$phase in 1/sample | 1/split | 1/exchange) continue ;; esac
    for is in 1 $((was - 1)) $((was + 1)) $((2 * was)); do
      if [ $is -lt 1 ] || [ $is -eq $was ]; then continue; fi
      few || continue
      killed $phase:$((was / 2)) --ranks $was -o out
      there=$(complete_runs)
      continues "killed in $phase, $was ranks, then $is" --ranks $is
      case $phase in
        describe | plan) is "killed in $phase, $was ranks, then $is: bytes not read again" "$(not_read)" 0 ;;
        read | checkpoint) is "killed in $phase, $was ranks, then $is: runs used" "$(runs_used)" "$there" ;;
        *) is "killed in $phase, $was ranks, then $is: bytes not read again, merged before" "$(not_read)/$(merged)" \
          "$((records * 100))/$([ $phase = commit ] && echo "done" || echo no)" ;;
      esac
    done
  done
done

# killed again and again
for chain in "4 3 2" "2 5 1" "3 6 4" "1 4 7"; do
  # shellcheck disable=SC2086
  set -- $chain
  killed checkpoint:0 --ranks $1 -o out
  HETSORT_FAIL=kill@sample:0 sort_ --resume --ranks $2 -o out
  was=$rc
  there=$(complete_runs)
  continues "killed with $1 ranks, then with $2, then $3" --ranks $3
  is "killed with $1 ranks, then with $2, then $3: runs used" "$was/$(runs_used)" "137/$there"
  killed merge:0 --ranks $1 -o out
  HETSORT_FAIL=kill@write:0 sort_ --resume --ranks $2 -o out
  continues "killed in merge with $1 ranks, in write with $2, then $3" --ranks $3
  is "killed in merge with $1 ranks, in write with $2, then $3: bytes not read again" "$(not_read)" $((records * 100))
done

# other shares, keys that must not be mixed, and dropped records
killed merge:1 --ranks 3 -o out
continues "other speeds" --ranks 5 --speeds 1,2,3,4,5
is "other speeds: bytes not read again" "$(not_read)" $((records * 100))
for is in 1 2 5; do
  killed merge:1 --ranks 3 --unique -o out
  sort_ --resume --unique --ranks $is -o out
  is "--unique, 3 ranks, then $is" "$rc/$(cmp out expected.unique)/$(left)" 0//
  killed commit:1 --ranks 3 --unique -o out
  sort_ --resume --unique --ranks $is -o out
  is "--unique, complete by 3 ranks, then $is" "$rc/$(cmp out expected.unique)/$(merged)/$(left)" "0//done/"
  killed commit:1 --ranks 3 --top 777 -o out
  sort_ --resume --top 777 --ranks $is -o out
  is "--top, complete by 3 ranks, then $is" "$rc/$(cmp out <(head -c 77700 expected))/$(merged)/$(left)" "0//done/"
done

# only damaged or missing runs are read again
lacks() { # lacks NAME COMMAND... - a job of 4 ranks, resumed by 3
  local name=$1; shift
  killed merge:0 --ranks 4 -o out
  "$@"
  case $* in
    *.json) # a run that no state notes stays
      sort_ --resume --ranks 3 -o out
      is "$name: continues" "$rc/$(cmp out expected)/$(left | sed 's/[0-9]//g')/$(grep -c "stays, because no state says that hetsort made it" <<<"$err")" \
        0//./store/hetsort-rank.run/1 ;;
    *) continues "$name" --ranks 3 ;;
  esac
  ok "$name: some records are read again, and not all" test "$(not_read)" -lt $((records * 100)) -a "$(not_read)" -ge $((records * 70))
}
first_run() { printf '%s\n' store/hetsort-rank2.run* | head -n 1; }
no_run() { rm "$(first_run)"; }
lacks "a missing run" no_run
no_runs() { rm store/hetsort-rank3.run*; }
lacks "missing runs of a rank" no_runs
lacks "a missing state" rm store/hetsort-rank3.json
lacks "a missing state of a rank of this job" rm store/hetsort-rank1.json
cut() { truncate -s -1 "$(first_run)"; }
lacks "a run cut" cut
killed merge:0 --ranks 4 -o out
flip "$(first_run)" 1000
sort_ --resume --ranks 2 -o out
is "a bit of a record: found" "$rc/$(ls out 2>/dev/null)/$(grep -c "is damaged; use --resume to write it again" <<<"$err")" 3//1
continues "a bit of a record" --ranks 3

# memory for fewer runs than exist, and disks
killed merge:0 --ranks 8 --memory 2G -o out
continues "less memory" --ranks 1 --memory 20M --threads 1

# the complete output: one file for all is divided again, parts are merged again
killed commit:0 --ranks 3 -o out
flip .hetsort-*.tmp $((records * 50))
continues "a complete output that was changed" --ranks 2
is "a complete output that was changed: merged again" "$(merged)/$(not_read)" "no/$((records * 100))"
killed commit:0 --ranks 3 -o out
rm store/hetsort-rank2.json
sort_ --resume --ranks 2 -o out
is "a complete output with a missing state: merged again, and the run of that rank stays" \
  "$rc/$(cmp out expected)/$(merged)/$(left)" 0//no/./store/hetsort-rank2.run0
for is in 2 5; do
  killed commit:0 --ranks 4 -o out.%r
  sort_ --resume --ranks $is -o out.%r
  is "complete parts of 4 ranks, then $is" "$rc/$(cat out.[0-9] | cmp - expected)/$(find . -name 'out.[0-9]' | wc -l)/$(merged)/$(left)" \
    "0//$is/no/"
done

# parts of ranks that no longer exist, before there was a state; the same without --workdir
for is in 1 2; do
  killed plan:2 --ranks 4 -o out.%r
  there=$(find . -name '.hetsort-*-out.[0-9].lock' | wc -l)
  sort_ --resume --ranks $is -o out.%r
  is "killed in plan with 4 ranks, then $is: no lock of a part stays" \
    "$rc/$(cat out.[0-9] | cmp - expected)/$there/$(left)" 0//4/
  rm -rf store out.*
  HETSORT_FAIL=kill@sync:0 run "$hetsort" -s --key 0,1 --ranks 4 -o out.%r in
  there=$(find . -name '.hetsort-*-out.[0-9].tmp' | wc -l)
  run "$hetsort" -s --key 0,1 --ranks $is -o out.%r in
  is "without --workdir, 4 ranks, then $is: no part and no lock stays" "$rc/$(cat out.[0-9] | cmp - expected)/$there/$(left)" 0//4/
done

# the job before has succeeded
for is in 1 2 6; do
  rm -rf store out out.*
  "$BIN/hetsort" --ranks 4 --workdir store -o out in
  run "$BIN/hetsort" --resume --workdir store --ranks $is -o out in
  is "already complete by 4 ranks, then $is" "$rc/$err/$(ls -A store)" \
    "0/hetsort: note: output 'out' is already complete: nothing was sorted/"
done

# states of another sort are refused, and stay
killed merge:1 --ranks 4 -o out
refuses() { # refuses NAME WORDS ARGUMENT...
  local name=$1 words=$2 before; shift 2
  before=$(ls store)
  run "$hetsort" --workdir store "$@"
  is "$name: refused" "$rc/$(ls store)/$(grep -c -m 1 -F -e "$words" <<<"$err")" "2/$before/1"
}
refuses "without --resume" "holds a sort that has not ended" -s --key 0,1 --ranks 2 -o out in
refuses "another key" "with the key '0,1', not of 100 with '0,2'" -s --key 0,2 --resume --ranks 2 -o out in
refuses "--unique" "belongs to a sort with" -s --key 0,1 --unique --resume --ranks 6 -o out in
refuses "another input" "was replaced by another file since state" -s --key 0,1 --resume --ranks 2 -o out expected
rm store/hetsort-rank0.json
refuses "a state of a rank that no longer exists" "holds a sort that has not ended" -s --key 0,1 --ranks 1 -o out in
mv store other
killed merge:1 --ranks 4 -o out
cp other/hetsort-rank3.json store
refuses "states of two sorts" "are of different sorts" -s --key 0,1 --resume --ranks 2 -o out in

# a job of more ranks that still runs
rm -rf store other
HETSORT_FAIL=stop@merge:0 "$hetsort" -s --key 0,1 --workdir store --ranks 4 -o out in &
pid=$!
await stopped $pid
run "$hetsort" -s --key 0,1 --resume --workdir store --ranks 2 -o out2 in
is "a job that still runs" "$rc/$(grep -c -m 1 "is being made by another job, 'process $pid" <<<"$err")" 2/1
kill -KILL $pid; wait $pid 2>/dev/null
"$hetsort" --clean out store
is "--clean" "$(left)" ""

# few records
for n in 0 1 5; do
  head -c $((n * 100)) in >few
  for ranks in "3 1" "1 3" "2 4"; do
    rm -rf store few.out
    HETSORT_FAIL=kill@merge:0 run "$hetsort" --workdir store --ranks ${ranks% *} -o few.out few
    run "$hetsort" --resume --workdir store --ranks ${ranks#* } -o few.out few
    "$BIN/hetsort" -f -o few.wanted few
    is "$n records, ranks $ranks" "$rc/$(cmp few.out few.wanted)/$(ls -A store)" "0//"
  done
done
done_testing
