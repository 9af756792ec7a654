#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A job is killed while it makes or replaces a set of parts: before one of its calls on files, or at a random time while
# its ranks are delayed between their renames. Then the set is read, in every way in turn: the result is the whole old
# set or the whole new one, or the set is refused with the command that completes it. At last that command completes it.
#   KILLS: number of kills [300]   SEED: of random numbers
# shellcheck disable=SC2086  # numbers of ranks, options
set -u
. "$ROOT/scripts/tap.sh"
. "$ROOT/sort/io/tests/set_reads.sh"
cd "$TEST_TMP" || exit 1
hetsort=$BIN/hetsort failing=$BIN/failpoints/hetsort
kills=${KILLS:-300} seed=${SEED:-$RANDOM} odd='' between=0
echo "# SEED=$seed KILLS=$kills"
RANDOM=$seed
"$BIN/gensort" --no-fsync 600 in && "$BIN/gensort" --no-fsync -b9000 600 other &&
  "$hetsort" -q -o new in && "$hetsort" -q -o old other || exit 1
sum_old=$(sum_of old) sum_new=$(sum_of new)

prepare() { # prepare OLD NEW
  olds=$1 news=$2 force=--force
  rm -rf before; mkdir before
  if [ $olds -eq 0 ]; then force=''; else "$hetsort" -q --no-fsync --ranks $olds -o before/out.%r other || exit 1; fi
}
at_a_call() { # SIGKILL before call number $call on a file; false if no such call exists
  HETSORT_FAIL="file:$call=kill@incommit" "$failing" -q --no-fsync --ranks $news $force -o d/out.%r in 2>/dev/null
  [ $? -eq 137 ]
}
at_a_time() { # SIGKILL by this test, while ranks sleep before and after their renames
  local r points='' pid
  for ((r = 0; r < news; r++)); do points+="${points:+,}delay@named:$r=0.$((RANDOM % 4))"; done
  HETSORT_FAIL=$points "$failing" -q --no-fsync --ranks $news $force -o d/out.%r in 2>/dev/null & pid=$!
  await eval "is_between || gone $pid"
  sleep "0.$((RANDOM % 4))"
  kill -9 $pid 2>/dev/null
  wait $pid 2>/dev/null
  [ $? -eq 137 ]
}
judge() { # judge HOW - read the set in two ways per kill, all ways in turn
  local way
  ! is_between || between=$((between + 1))
  for way in $turn $((turn + 1)); do
    reads_whole "${ways_to_read[way % ${#ways_to_read[@]}]}" "$olds parts, then $news, $1"
  done
  turn=$((turn + 2))
  run "$hetsort" --clean -q d/out.manifest
  [ "$rc" -eq 0 ] || odd+=" $1: --clean: $rc, $err;"
  run "$hetsort" --clean -q --ranks 5 'd/out.%r'
  [ "$rc" -eq 0 ] || odd+=" $1: --clean of the parts: $rc, $err;"
  reads_whole names "$olds parts, then $news, $1, cleaned"
}

turn=$((RANDOM % ${#ways_to_read[@]})) done_kills=0
sets=("3 3" "5 3" "2 4" "4 1" "0 3")
while [ $done_kills -lt $kills ]; do
  for set in "${sets[@]}"; do
    prepare $set
    for ((call = 1 + RANDOM % 11; done_kills < kills; call += 1 + RANDOM % 11)); do
      rm -rf d; cp -a before d
      at_a_call || break
      done_kills=$((done_kills + 1))
      judge "call $call"
      [ $((done_kills % 3)) -eq 0 ] || continue
      rm -rf d; cp -a before d
      at_a_time || continue
      done_kills=$((done_kills + 1))
      judge "a random time"
    done
  done
done 2>/dev/null
echo "# $done_kills kills, $between of them between two sets; $reads reads: $refusals refused, $mixtures mixtures"
is "$done_kills kills in commits: mixtures" "$mixtures" 0
is "$done_kills kills in commits: the old set, the new one, or the command that completes it" "$odd" ""
ok "$between kills between two sets" test $between -gt $((kills / 4))
ok "$refusals reads were refused" test $refusals -gt 0
done_testing
