# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# bench/compare: its statistics point by point, and what it says of two recorded measurements.
. "$ROOT/scripts/tap.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
compare=$ROOT/bench/compare data=$ROOT/bench/tests/fixtures

run python3 "$ROOT/bench/tests/stats_points.py"
is "all points of the statistics are good" "$rc/$(grep -c '^not ok' <<<"$out")" 0/0
[ "$rc" -eq 0 ] || grep -v '^ok' <<<"$out"

row() { grep "^$1 " <<<"$out" | tr -s ' '; }
run "$compare" "$data/before.jsonl" "$data/after.jsonl"
is "two measurements compare" "$rc/$err" 0/
is "a head and six commands" "$(wc -l <<<"$out")" 7
is "twice as fast, with the spread" "$(row hetsort)" "hetsort /data 1000 2.000 1.000 0.500 0.429 to 0.579 faster"
is "twice as slow" "$(row steady)" "steady /data 1000 3.000 6.000 2.000 1.903 to 2.103 slower"
is "the same" "$(row cp)" "cp + fsync /data 1000 1.000 1.020 1.020 0.836 to 1.200 within the noise"
is "one sample proves nothing" "$(row once)" "once /data 1000 4.000 2.000 0.500 0.500 to 0.500 too few samples"
is "what B lacks" "$(row gone)" "gone /data 1000 only in A"
is "what A lacks" "$(row new)" "new /data 1000 only in B"
run "$compare" "$data/before.jsonl" "$data/before.jsonl"
is "a file is like itself" "$rc/$(grep -c -e slower -e faster <<<"$out")" 0/0

fails() { # fails NAME WORDS FILE
  run "$compare" "$3" "$data/after.jsonl"
  is "$1" "$rc/${err%%: \'*}" "1/compare: $2"
}
head -n 1 "$data/before.jsonl" >setup
fails "only a setup" "no samples" setup
sed 1d "$data/before.jsonl" >headless
fails "no setup" "not a measurement" headless
echo '{' >broken
fails "broken JSON" "not JSON" broken
: >empty
fails "nothing" "not a measurement" empty
sed 's/"version": 1/"version": 2/' setup >newer
fails "another version" "measured by another version" newer
sed 's/, "seconds": 2.0}/}/' "$data/before.jsonl" >without
run "$compare" without "$data/after.jsonl"
is "a sample without its time" "$rc/$err" "1/compare: a sample without 'seconds': 'without'"
run "$compare" nowhere "$data/after.jsonl"
is "no such file" "$rc/$err" "1/compare: cannot read 'nowhere': No such file or directory"
run "$compare" "$data/before.jsonl"
is "one file is a usage error" "$rc" 2
done_testing
