# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# bench/simulated on a small input: a sort on virtual hosts and the same sort on simulated hosts.
# shellcheck disable=SC2154  # run sets rc, out, err
. "$ROOT/scripts/tap.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
[ -x "$BIN/hetsim" ] || skip_all "no hetsim here"
[ -z "${SANITIZER:-}" ] || skip_all "sanitizers do not follow coroutines"
mkdir work
run "$ROOT/bench/simulated" --repeat 1 --dir work -n 2 --cpu 0.2 --slow 1 --json simulated.jsonl 10000 "10000 --speeds=1,.5"
case $err in *'no virtual hosts'*) skip_all "${err#*: }" ;; esac
is "a run succeeds" "$rc/$err" 0/
is "no files remain" "$(ls work)" ""
ok "what links carry is measured: not more than their rate, and more than nothing" \
  awk -v mbit="$(sed -n 's/.*"carried_mbit": \([0-9.]*\).*/\1/p' simulated.jsonl)" 'BEGIN { exit !(mbit > 1 && mbit < 440) }'
is "two cases, both timed" "$(grep -c '"simulated_s": [0-9.e-]*, "real_s": \[[0-9.e-]*\]' simulated.jsonl)" 2
run "$ROOT/bench/simulated" --repeat 1 --dir work -n 2 --cpu 0.2 --given-rate "10 --frobnicate"
is "a case that hetsort refuses: status, work" "$rc/$(ls work)" 1/
done_testing
