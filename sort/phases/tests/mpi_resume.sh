#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# --resume with ranks that are processes: each rank is killed in each phase, the launcher ends the others, and
# the next job continues with the complete runs of all ranks.
set -u
. "$ROOT/scripts/tap.sh"
. "$ROOT/sort/phases/tests/checkpoints.sh"
bytes=20000000
hetsort=$BIN/failpoints/hetsort
begin_with $((bytes / 100))

job() { # job PLAN ARGUMENT... - three ranks
  local plan=$1; shift
  HETSORT_FAIL=$plan run timeout -s KILL 120 "$ROOT/scripts/mpirun" 3 "$hetsort" -s --key 0,1 --report report \
    --workdir store "$@" -o out in
}
not_read() { sed -n 's/^ *"bytes_not_read": \([0-9]*\).*/\1/p' report | awk '{ n += $1 } END { print n + 0 }'; }
continues() { # continues NAME
  job '' --resume
  is "$1: continues" "$rc/$(cmp out expected)/$(ls -A store)/$(find . -name '.hetsort-*')" "0///"
}

ranks=(1) # all of them in check-long
if [ -n "${HETSORT_LONG:-}" ]; then ranks=(0 1 2); fi
for rank in "${ranks[@]}"; do
  for phase in plan read checkpoint sample exchange merge sync commit; do
    rm -rf store out
    job "kill@$phase:$rank"
    ok "rank $rank killed in $phase: the job fails" test "$rc" -ne 0 -a ! -e out
    continues "rank $rank killed in $phase"
    case $phase in
      plan | read | checkpoint) ;; # what the others had done until they were ended differs
      *)
        is "rank $rank killed in $phase: bytes not read again" "$(not_read)" $bytes
        is "rank $rank killed in $phase: merged again" "$(merged)" "$([ "$phase" = commit ] && echo "done" || echo no)" ;;
    esac
  done
done

# a complete output that has changed in the part of one rank
rm -rf store out
job kill@commit:0
for f in .hetsort-*.tmp; do printf x | dd of="$f" bs=1 seek=$((bytes / 2)) conv=notrunc status=none; done
continues "a byte of the complete output changed"
is "a byte of the complete output changed: merged again" "$(merged)" no

# SIGUSR1 to the launcher, which passes it on
rm -rf store out
HETSORT_FAIL=delay@checkpoint:1=2 "$ROOT/scripts/mpirun" 3 "$hetsort" -s --key 0,1 --workdir store -o out in 2>err &
job=$!
# shellcheck disable=SC2016
await eval 'has_checkpoint 1 || [ ! -d /proc/$job ]'
kill -s USR1 $job
wait $job
ok "USR1: the job fails" test $? -ne 0 -a ! -e out
ok "USR1: message" grep -q "stopped by SIGUSR1; --resume continues from here" err
continues "USR1"
ok "USR1: some bytes are not read again" test "$(not_read)" -gt 0

# another number of ranks
rm -rf store out
job kill@merge:1
run timeout -s KILL 120 "$ROOT/scripts/mpirun" 2 "$hetsort" -s --key 0,1 --report report --resume --workdir store -o out in
is "other ranks: continue" "$rc/$(cmp out expected)/$(not_read)/$(ls -A store)" "0//$bytes/"
done_testing
