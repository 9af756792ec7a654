#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Chains of kills: a rank, all ranks or the launcher, at random times, and then at once the same command with
# --resume, and so on. A job that is not killed succeeds, even if processes of an earlier job still exist. A few chains,
# with HETSORT_LONG=1 forty; SEED repeats them as far as timing allows.
# shellcheck disable=SC2086  # nothing, or an option
set -u
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
chains=4 records=200000 trace=''
[ -z "${HETSORT_LONG:-}" ] || chains=40
RANDOM=${SEED:=$$}
echo "# SEED=$SEED"
"$BIN/gensort" --no-fsync $records in && "$BIN/hetsort" -o expected in || exit 1

begin() { # begin ARGUMENT... - a job of three ranks; sets job
  "$ROOT/scripts/mpirun" 3 "$BIN/hetsort" --workdir store "$@" -o "$output" in >said 2>&1 &
  job=$!
}
strike() { # strike - kill some of the job, if it still runs; sets what
  local ranks who
  mapfile -t ranks < <(children_of $job)
  case $((RANDOM % 3)) in
    0) what=rank who=${ranks[RANDOM % (${#ranks[@]} + 1)]:-$job} ;;
    1) what=all who="${ranks[*]:-$job}" ;;
    2) what=launcher who=$job ;;
  esac
  # shellcheck disable=SC2086  # several
  kill -KILL $who 2>/dev/null
}
ended() { # ended SECONDS - wait for the job; a launcher whose rank was killed while it started may not end by itself
  local i
  for ((i = 0; i < $1 * 10; i++)); do
    if gone $job; then break; fi
    sleep 0.1
  done
  if ! gone $job; then trace+=" (launcher hung)"; kill -KILL $job; fi
  wait $job
}
sorted() { case $output in *%r) cat out.[0-2] ;; *) cat out ;; esac 2>&1 | cmp - expected 2>&1; }

chain() { # chain - one to three kills, and the end
  local kills=$((RANDOM % 3 + 1)) k resume='' trace=''
  rm -rf store out* .hetsort-*
  for ((k = 0; k < kills; k++)); do
    begin $resume
    sleep "$(awk -v m="$whole_s" -v r=$RANDOM 'BEGIN { print m * r / 32768 }')"
    strike
    trace+=" $what"
    ended 60 && break
    resume=--resume
  done 2>/dev/null
  begin --resume
  ended 300
  is "chain of$trace, $output: ends well" "$?/$(sorted)/$(ls -A store)" 0//
  [ $tap_bad -eq 0 ] || sed 's/^/#   /' said
}

output=out
from=$EPOCHREALTIME
begin
ended 300
is "without a kill" "$?/$(sorted)" 0/
whole_s=$(awk -v a="$from" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }')
for ((i = 0; i < chains; i++)); do
  output=$([ $((i % 2)) -eq 0 ] && echo out || echo out.%r)
  chain
done
done_testing
