#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# hetsort --emulate without a launcher: the planner's numbers of virtual ranks, sorted output in every
# mode, refusals, and no hang if a thread cannot be started.
# shellcheck disable=SC2016  # inner shells expand
set -u
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
hetsort=$BIN/hetsort valsort=$BIN/valsort
"$BIN/gensort" --no-fsync 20000 in || exit 1
"$hetsort" -q -o sorted in || exit 1
ratings=0.46,0.65,1.61,1.61

numbers() { sed -n 's/^emulation: .* ranks:\([ 0-9]*\);.*/\1/p' | tr -d '\n'; }
by_planner() { "$BIN/hetplan" emulate --ratings "$ratings" --csv "$@" | awk -F, 'NR > 1 {printf " %s", $2}'; }

for m in 11 13 29; do
  run "$hetsort" --explain --ranks 4 --speeds $ratings --emulate $m in
  is "$m virtual ranks: the same numbers as from hetplan" "$(numbers <<<"$out")" "$(by_planner --processes $m)"
done
run "$hetsort" --explain --ranks 4 --speeds $ratings --emulate best in
is "best: the best number of up to four per rank" "$(numbers <<<"$out")" "$(by_planner --best-upto 16)"
run "$hetsort" --explain --ranks 4 --speeds $ratings --emulate 11 in
ok "the part of the whole speed is printed" grep -q '; 82.6 % of the whole speed$' <<<"$out"
is "equal shares" "$(awk '$1 ~ /^[0-9]+$/ && NF == 7 {print $5}' <<<"$out" | sort -u | paste -sd' ')" "1818 1819"

for mode in "--exchange-threads 0" "--exchange-threads 1" "--strategy distribute" "--max-message 7" "--timeout 60" \
  "--source root" "--stable --adapt"; do
  # shellcheck disable=SC2086  # words
  run timeout 120 "$hetsort" -q -f --ranks 3 --speeds 1,2,3 --emulate 6 $mode -o out in
  is "sorts: $mode" "$rc" 0
  ok "same output: $mode" cmp -s sorted out
done
for i in 0 1 2 3 4; do cp in "part.$i"; done
run "$hetsort" -v --ranks 2 --speeds 3,2 --emulate 5 --report report -o 'out.%r' 'part.%r'
files=(out.?)
is "a file for each virtual rank" "$rc/${#files[@]}" 0/5
ok "the report names them" grep -q '5 virtual ranks on 2' report
is "the output is complete" "$(cat out.? | "$valsort" - 2>&1 | grep -c '^Records: 100000$')" 1

refused() { # refused WHAT ARGUMENT... - exit 2 and a message with WHAT
  local what=$1; shift
  run timeout 60 "$hetsort" -f "$@" -o out in
  is "refused: $what" "$rc/$(grep -c -- "$what" <<<"$err")" 2/1
}
refused "requires --speeds=" --ranks 2 --emulate 4
refused "requires --speeds=" --ranks 2 --speeds auto --emulate 4
refused "--emulate requires --plan=equal" --ranks 2 --speeds 1,2 --plan nlogn --emulate 4
refused "no virtual rank for rank 1" --ranks 2 --speeds 30,1 --emulate 4
refused "at most 22" --ranks 2 --speeds 30,1 --emulate 40
refused "but there are 2 ranks" --ranks 2 --speeds 1,2,3 --emulate 4
for word in 0 -1 many 99999999; do refused "invalid argument" --ranks 2 --speeds 1,2 --emulate $word; done

stopped=0
for n in 1 2 3 4 5 6; do
  HETSORT_FAIL=thread:$n run timeout 60 "$BIN/failpoints/hetsort" -q -f --threads 1 --ranks 2 --speeds 2,1 \
    --emulate 6 -o "kept.$n" in
  case $rc in
    0) ok "without thread $n: sorted" cmp -s sorted "kept.$n" ;;
    *) ok "without thread $n: exit code 4 and no output" test "$rc" = 4 -a ! -e "kept.$n"; stopped=$((stopped + 1)) ;;
  esac
done
is "every thread that is a rank is needed" "$stopped" 5
done_testing
