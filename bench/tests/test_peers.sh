# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# bench/peers: every sorter that was compiled in sorts, at the sizes where things break.
. "$ROOT/scripts/tap.sh"
peers=$BIN/bench/peers
[ -x "$peers" ] || skip_all "there was no C++ compiler"
"$peers" --list >list
ok "std::sort is always there" grep -q '^std::sort	' list

for n in 0 1 3 10000 10001; do
  "$BIN/gensort" $n "in$n"
  sum[n]=$("$BIN/gensort" -c $n /dev/null 2>&1)
done
head -c 100 in10000 >one
for ((i = 0; i < 1000; i++)); do cat one; done >equal
while IFS=$'\t' read -r peer version; do
  ok "$peer has a version: $version" test -n "$version"
  for n in 1 3 10000 10001; do
    run "$peers" "$peer" "in$n" out
    is "$peer sorts $n records" "$rc/$("$BIN/valsort" out 2>&1 | grep -E '^(Rec|Check|SUCC)' | paste -sd' ')" \
      "0/Records: $n Checksum: ${sum[n]} SUCCESS - all records are in order"
  done
  run "$peers" "$peer" in0 out
  is "$peer sorts nothing" "$rc/$err/$(wc -c <out)" 0//0
  run "$peers" "$peer" equal out
  ok "$peer: all keys equal" cmp -s equal out
  "$BIN/gensort" -s 20000 skewed; "$BIN/hetsort" -q -f -o wanted skewed
  "$peers" "$peer" skewed out
  is "$peer: skewed keys" "$("$BIN/valsort" out 2>&1)" "$("$BIN/valsort" wanted 2>&1)"
done <list

head -c 250 in3 >half
run "$peers" std::sort half out
is "half a record is refused" "$rc/$err" "1/peers: not whole records: 'half'"
run "$peers" std::sort nowhere out
is "no such input" "$rc/$err" "1/peers: cannot open 'nowhere': No such file or directory"
run "$peers" std::sort in3 no/out
is "a missing directory" "$rc/$err" "1/peers: cannot open 'no/out': No such file or directory"
if [ -w /dev/full ]; then
  run "$peers" std::sort in3 /dev/full
  is "a full disk is a failure" "$rc/$err" "1/peers: cannot write '/dev/full': No space left on device"
fi
for bad in '' 'other in3 out' 'std::sort in3'; do
  # shellcheck disable=SC2086  # words
  run "$peers" $bad
  is "usage: peers $bad" "$rc" 2
done
done_testing
