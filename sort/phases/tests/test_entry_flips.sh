#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A bit of an entry flips while records are sorted: before or after entries are sorted, merged or sent, in memory, in
# runs on disk and over several ranks. Keys have 256 values and appear many times, so a wrong key is mostly another
# record's key. A flip is caught (the job fails), harmless (the output is right) or silent (it is wrong with status 0).
# HETSORT_LONG=1: 500 flips for each of the selections, without it a sample. SEED repeats a draw.
# shellcheck disable=SC2086  # ways are several words
set -u
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
failing=$BIN/failpoints/hetsort
flips=60 && [ -n "${HETSORT_LONG:-}" ] && flips=500
RANDOM=${SEED:=$$}
echo "# SEED=$SEED"
# 6000 lines of 16 bytes: two hexadecimal digits as the key, then a number
awk 'BEGIN { for (i = 0; i < 6000; i++) printf "%02x %011d.\n", (i * i * 7 + i) % 256, i }' >in
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24; do cat in; done |
  awk '{ printf "%s %011d.\n", $1, NR }' >many
for file in in many; do
  LC_ALL=C sort -s -k1,1 $file >$file.all
  awk '!seen[$1]++' $file.all >$file.unique
  head -n 1000 $file.all >$file.top
  head -n 100 $file.unique >$file.both
done
head -n 3000 in.all >sorted.1 && tail -n 3000 in.all >sorted.2
for select in all unique top both; do cp in.$select sorted.$select; done
sets=(
  "in 6 --threads=2"
  "in 12 --threads=2 --ranks=3"
  "in 8 --threads=1 --ranks=3 --strategy=distribute"
  "many 12 --threads=2 --memory=4M --tmpdir=."
  "many 24 --threads=1 --ranks=2 --memory=24M --tmpdir=."
  "many 24 --threads=1 --ranks=2 --memory=24M --tmpdir=. --strategy=distribute"
  "sorted 1 --threads=2 --merge"
)
strike() { # strike SELECT OPTION... - flip one bit in a job, and count the result
  local select=$1; shift
  local file ways many place input
  read -r file many ways <<<"${sets[RANDOM % ${#sets[@]}]}"
  place=$((1 + RANDOM % many))=$((RANDOM << 15 | RANDOM))
  input=$file && [ $file = sorted ] && input="sorted.1 sorted.2"
  rm -f out
  run env HETSORT_FAIL=flip@entries:$place "$failing" --no-fsync --record-size 16 --key 0,2 $ways "$@" -o out $input
  if [ "$rc" -ne 0 ] && [ -e out ]; then silent=$((silent + 1)); echo "# $place $ways $*: status $rc and an output"
  elif [ "$rc" -gt 128 ]; then crashed=$((crashed + 1))
  elif [ "$rc" -ne 0 ]; then
    caught=$((caught + 1))
    [ -n "$err" ] || { silent=$((silent + 1)); echo "# $place $ways $*: no message"; }
  elif cmp -s out $file.$select; then harmless=$((harmless + 1))
  else silent=$((silent + 1)); echo "# $place $ways $*: the output is wrong with status 0"
  fi
}
flip_in() { # flip_in SELECT OPTION...
  local caught=0 harmless=0 silent=0 crashed=0 i
  for ((i = 0; i < flips; i++)); do strike "$@"; done
  echo "# $1: $flips flips: $caught caught, $harmless harmless, $crashed died of a signal, $silent silent"
  ok "$1: flips were caught" test $caught -gt 0
  is "$1: silent flips" $silent 0
}
for set in "${sets[@]}"; do
  read -r file _ ways <<<"$set"
  input=$file && [ $file = sorted ] && input="sorted.1 sorted.2"
  run "$failing" --no-fsync --record-size 16 --key 0,2 $ways -u -f -o out $input
  is "without a flip: $ways" "$rc/$err/$(cmp out $file.unique 2>&1)" 0//
done
flip_in unique --unique
flip_in top --top=1000
flip_in both --unique --top=100
flip_in all
done_testing
