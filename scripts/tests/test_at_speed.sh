# shellcheck shell=bash disable=SC2016,SC2317  # programs for sh; functions called through ok
# SPDX-License-Identifier: GPL-3.0-or-later
# scripts/at-speed: which processors and how much of their time each rank gets, and that it is stopped and continued.
. "$ROOT/scripts/tap.sh"
at_speed=$ROOT/scripts/at-speed

run "$at_speed" --how 1,x
is "a word that is not a speed is refused" "$rc $out" "1 fewer processors than there are speeds, or no speeds: '1,x'"
run "$at_speed" --how 1,,1
is "nor is nothing one" "$rc" 1
run "$at_speed" 1,1 true
is "without a launcher there is no rank" "$rc $err" "1 at-speed: no rank: this is for mpirun to start"
run "$at_speed" 1
is "nothing to do" "$rc" 2

# placement SPEEDS PROCESSORS, as at-speed has it
eval "$(sed -n '/^placement()/,/^}/p' "$at_speed")"
is "two processors, two speeds" "$(placement 1,1,0.667,0.667 0,1)" $'1 1.000\n1 1.000\n0 0.667\n0 0.667'
is "more processors than ranks: each speed gets one per rank" "$(placement 2,1,1,1 2,4,6,8,9,11)" $'9,11 1.000\n2,4,6,8 0.750\n2,4,6,8 0.750\n2,4,6,8 0.750'
is "shares make up for what cannot be divided" "$(placement 1,1,1,0.5 0,1)" $'1 1.000\n1 1.000\n1 1.000\n0 0.167'
is "all equal" "$(placement 1,1 0,1,2)" $'0,1,2 1.000\n0,1,2 1.000'
is "fewer processors than speeds" "$(placement 1,2,3 0,1; echo $?)" 1

cpu=$(awk -F '[:\t,-]+' '/^Cpus_allowed_list/ {print $2}' /proc/self/status)
command -v taskset >/dev/null || { echo "# omitted: taskset is not installed"; done_testing; }
run taskset -c "$cpu" "$at_speed" --how 1,0.5
is "one processor cannot have two speeds" "$rc" 1
run env PMI_RANK=1 taskset -c "$cpu" "$at_speed" 1,1 awk '/^Cpus_allowed_list/ {print $2}' /proc/self/status
is "a rank is bound to its processors" "$rc" 0
run env PMI_RANK=2 "$at_speed" 1,1 true
is "a rank too many" "$rc" 1
run env OMPI_COMM_WORLD_RANK=0 "$at_speed" 1 sh -c 'exit 7'
is "the status is the program's" "$rc" 7
if ! "$at_speed" --how 1,0.1 >/dev/null; then echo "# omitted: one processor"; done_testing; fi

PMI_RANK=1 "$at_speed" 1,0.1 sh -c 'echo up >up; while :; do :; done' & pid=$!
await test -s up
stopped() { [ "$(state_of "$pid")" = T ]; }
continues() { case $(state_of "$pid") in R | S) ;; *) false ;; esac; }
for k in 1 2 3; do
  ok "it is stopped, $k" await stopped
  ok "and continues, $k" await continues
done
brake=$(children_of $pid)
ok "it has a brake" test -n "$brake"
kill -9 $pid; wait $pid 2>/dev/null
# shellcheck disable=SC2086  # one word each
ok "the brake ends with it" await gone $brake
done_testing
