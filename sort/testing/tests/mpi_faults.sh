#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Faults on ranks that are processes: each ends the whole job with the right exit code and a message that names the rank,
# and the output does not exist. HETSORT_LONG=1 takes more places of each fault.
# shellcheck disable=SC2016  # for sh to expand
set -u
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
hetsort=$BIN/failpoints/hetsort
if mpich; then killed=9; else killed=137; fi # the launcher's exit code
"$BIN/gensort" --no-fsync 20000 in && "$BIN/hetsort" -o expected in || exit 1
host=$(hostname) whole=${HETSORT_LONG:-}

promised() { # promised PLAN CODE WORDS ARGUMENT... - the sort succeeds, or fails as promised
  local plan=$1 code=$2 words=$3; shift 3
  HETSORT_FAIL=$plan run timeout 120 "$ROOT/scripts/mpirun" 3 "$hetsort" "$@" -o out in
  if [ "$rc" = 0 ]; then
    ok "$plan $*: sorted" cmp out expected
  else
    failed=$((failed + 1))
    is "$plan $*: exit code, output" "$rc/$(ls out 2>/dev/null)" "$code/"
    case $err in *"$words"*) ok "$plan $*: message" true ;; *) is "$plan $*: message" "$err" "...$words..." ;; esac
  fi
  rm -f .hetsort-* out
}
failed=0 tried=5
for rank in 0 2; do
  case $rank$whole in 0) places="3 27" ;; 2) places=19 ;; *) places="3 19 27" ;; esac
  case $rank in 0) call=44 ;; *) call=30 ;; esac # while it reads the input
  for n in $places; do
    tried=$((tried + 2))
    promised "alloc:$n@rank$rank" 4 "hetsort: rank $rank ($host), "
    promised "comm:$((3 * n))@rank$rank" 5 "hetsort: rank $rank ($host), "
  done
  tried=$((tried + 1))
  promised "file:$call@rank$rank" 3 "hetsort: rank $rank ($host), "
done
for phase in read split merge commit; do promised kill@$phase:1 $killed ""; done
promised kill@sort:0 $killed "" --strategy distribute
ok "most faults ended the job ($failed of $tried)" test $((failed * 5)) -ge $((tried * 3))
both=0 mixed='' # two ranks fail in one call for different reasons
for call in $(seq 10 24); do
  HETSORT_FAIL=file:$call@rank1,file:$call=ENOSPC@rank2 run timeout 120 "$ROOT/scripts/mpirun" 3 \
    sh -c '"$@"; rc=$?; echo $rc >>codes; exit $rc' sh "$hetsort" -o out in
  [ "$rc" = 0 ] || both=$((both + 1))
  [ "$(sort -u codes | wc -l)" = 1 ] || mixed+="$call: $(tr '\n' ' ' <codes)"
  rm -f .hetsort-* out codes
done
ok "two ranks fail ($both times)" test $both -gt 0
is "two ranks fail: all have the exit code of rank 0" "$mixed" ""
promised differ@version:2 5 "hetsort: rank 2 ($host), opening: it has another version than rank 0: "
for rank in 0 1; do
  HETSORT_FAIL=differ@threads:$rank run timeout 120 "$ROOT/scripts/mpirun" 3 "$hetsort" -v -o out in
  is "an MPI without threads on rank $rank" "$rc/$(cmp -s out expected && echo same)" 0/same
  [ $rank = 1 ] || ok "an MPI without threads on rank $rank: -v reports it" grep -q "main thread only)" <<<"$err"
  rm -f out
done
HETSORT_FAIL=differ@threads:1 run timeout 120 "$ROOT/scripts/mpirun" 3 "$hetsort" --timeout 60 -o out in
is "an MPI without threads: --timeout is refused" "$rc/$(ls out 2>/dev/null)" 4/
ok "an MPI without threads: --timeout: message" grep -q "^hetsort: --timeout needs an MPI that lets threads call it" <<<"$err"
rm -f .hetsort-*
# messages of other ranks are checked: the output is right, or the job ends, at the latest by --timeout
promised lie:8@rank0 5 ", opening: it has another version than rank 0: "
lies="2 25 49 74"
[ -z "$whole" ] || lies="2 9 16 25 33 41 49 58 66 74"
for n in $lies; do
  HETSORT_FAIL=lie:$n@rank1 run timeout 120 "$ROOT/scripts/mpirun" 3 "$hetsort" --timeout 3 -o out in
  case $rc in
    0) is "lie:$n@rank1: harmless" "$(cmp out expected)" "" ;;
    *) is "lie:$n@rank1: ended, with a message" "$((rc < 100))/$(grep -q '^hetsort: rank [0-2] (' <<<"$err" && echo message)" 1/message
      [ ! -e out ] || is "lie:$n@rank1: an output that exists is right" "$(cmp out expected)" "" ;;
  esac
  rm -f .hetsort-* out
done
# the other ranks give names already and are killed: the rank that gives up removes the lock that it shares
flip() { # flip N - a bit of the N-th message that rank 1 receives or sends to rank 0
  HETSORT_FAIL=flip@heard:$1@rank1 run timeout 120 "$ROOT/scripts/mpirun" 3 "$hetsort" -o out in
  lock=$(find . -name '.hetsort-*.lock')
  rm -f .hetsort-* out
}
last=1 none=1000
while [ $((none - last)) -gt 1 ]; do
  n=$(((last + none) / 2)); flip $n
  if [ "$rc" = 0 ]; then none=$n; else last=$n; fi
done
for n in $((last - 12)) $((last - 9)) $((last - 6)); do
  flip $n
  is "flip@heard:$n@rank1: exit code, no lock" "$rc/$lock" 5/
  ok "flip@heard:$n@rank1: it strikes in commit" grep -q ', finishing: ' <<<"$err"
done
HETSORT_FAIL=nonsense run timeout 120 "$ROOT/scripts/mpirun" 3 "$hetsort" -o out in
is "a plan that cannot be read: exit code" "$rc" 2

# Errors that MPI itself reports, on only one rank. The preloaded library and the sanitizers replace the same calls.
[ "${SANITIZER:-coverage}" = coverage ] || done_testing
refused() { # refused CALL:N@rankR WORDS ARGUMENT... - this call of MPI fails
  local plan=$1 words=$2; shift 2
  run timeout 120 "$ROOT/scripts/mpirun" 3 env LD_PRELOAD="$OBJ/mpi-shim.so" HETSORT_SHIM="$plan${apart:-}" "$BIN/hetsort" "$@" -o out in
  is "MPI_$plan: exit code, output" "$rc/$(ls out 2>/dev/null)" 5/
  case $err in *"hetsort: rank ${plan#*@rank} ($host), $words"*) ok "MPI_$plan: message" true ;;
    *) is "MPI_$plan: message" "$err" "...$words..." ;; esac
  rm -f .hetsort-* out
}
refused Init_thread:1@rank1 "starting: cannot start MPI"
refused Comm_set_errhandler:1@rank1 "starting: cannot make MPI return errors"
refused Comm_dup:1@rank0 "starting: cannot set up the MPI communicators"
refused Comm_dup:2@rank2 "starting: cannot set up the MPI communicators"
refused Irecv:1@rank0 "starting: some other ranks cannot be reached"
refused Issend:2@rank1 "starting: some other ranks cannot be reached"
refused Iallgather:1@rank1 "opening: the other ranks cannot be reached any more"
refused Ibcast:1@rank2 ""
refused Ibcast:1=short@rank2 "starting: the other ranks cannot be reached any more" # MPI's own request fails
apart=,memfd:1+=ENOSYS # then blocks are sent by MPI, too
for plan in Iallgather:5@rank0 Issend:5@rank1 Irecv:6@rank2 Test:100@rank1 Get_count:2@rank2 ${whole:+Ibcast:5=short@rank1 Iallgather:4@rank2 Get_count:4@rank0}; do refused "$plan" ""; done
done_testing
