#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# --skip-header: inputs with bytes before their records are sorted after them, by every way to sort. An input
# that is too short, or does not fit its manifest or kept runs, is refused.
# shellcheck disable=SC2002,SC2016,SC2086  # pipes are meant; inner shells expand; ways are several words
set -u
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
hetsort=$BIN/hetsort killed=$BIN/failpoints/hetsort
"$BIN/gensort" --no-fsync 20000 one && "$BIN/gensort" --no-fsync -b20000 7000 two || exit 1
"$hetsort" --no-fsync -o one.sorted one && "$hetsort" --no-fsync -o both.sorted one two || exit 1
head -c 4099 two >header # no multiple of a record, nor of a block
cat header one >a
{ head -c 4099 one; cat two; } >b
cat header one.sorted >one.expected
cat header both.sorted >both.expected
sort_() { run "$hetsort" --no-fsync --skip-header 4099 "$@"; }
is_sorted() { # is_sorted NAME EXPECTED FILE - and nothing was printed
  is "$1" "$rc/$err/$(cmp "$3" "$2" 2>&1)" 0//
}

# --- one file
for way in "" "--ranks 3" "--ranks 4 --strategy distribute" "--ranks 3 --source root" "--direct always" \
  "--memory 3.4M" "--memory 3.4M --direct always" "--memory 12M --ranks 3" "--memory 12M --ranks 3 --strategy distribute" \
  "--ranks 2 --verify reread"; do
  sort_ $way -f -o out a
  is_sorted "a file, ${way:-one rank}" one.expected out
done
printf '\223NUMPY\1\0v\0%-117s\n' "{'descr': '<u8', 'fortran_order': False, 'shape': (4,), }" >npy
{ cat npy; printf '\3\0\0\0\0\0\0\0\2\0\0\0\0\0\0\1\1\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0'; } >array.npy
{ cat npy; printf '\1\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\2\0\0\0\0\0\0\1'; } >array.expected
run "$hetsort" --record-size 8 --key 0,u64le --skip-header 128 -o array.out array.npy
is_sorted "an array of numpy" array.expected array.out
"$hetsort" --no-fsync --skip-header 0 -f -o out one
is "of no bytes" "$(cmp out one.sorted 2>&1)" ""
cp header bare && sort_ -o bare.out bare
is_sorted "a header and no record" header bare.out

# --- several files, streams, parts
for ranks in 1 3; do
  sort_ --ranks $ranks -f -o out a b
  is_sorted "two files, $ranks ranks: the first one's header" both.expected out
  sort_ --ranks $ranks -f -o out a - <b
  is_sorted "a file and a stream, $ranks ranks" both.expected out
done
cat a | "$hetsort" --skip-header 4099 >out
is "in a pipe" "$(cmp out one.expected 2>&1)" ""
for _ in 1 2 3 4 5; do cat one; done >five && { cat header; "$hetsort" <five; } >five.expected
cat header five | "$hetsort" --skip-header 4099 --memory 6M --tmpdir . >out
is "in a pipe, more than memory holds" "$(cmp out five.expected 2>&1)" ""
cat a | "$hetsort" --no-fsync --ranks 3 --skip-header 4099 -f -o out -
is "a stream for three ranks" "$(cmp out one.expected 2>&1)" ""
sort_ --ranks 3 -o part.%r a b
is "parts: the first one has the header" "$rc/$(cat part.[0-2] | cmp - both.expected 2>&1)" 0/
run "$hetsort" --check-manifest part.manifest
is "parts: as the manifest says" "$rc/$err" 0/
for ranks in 1 2 3; do
  sort_ --ranks $ranks -f -o out part.%r
  is_sorted "parts as input of $ranks" both.expected out
done
sort_ -f -o out part.manifest
is_sorted "a manifest as input" both.expected out
sort_ -f --manifest whole -o out part.manifest
run "$hetsort" --check-manifest whole
is "manifest of one file" "$rc/$err" 0/
rm part.manifest && cp a own.0 && cp b own.1
sort_ --ranks 2 -f -o out own.%r
is_sorted "files of their own, each with a header" both.expected out

# --- refused
refused() { # refused NAME WORDS COMMAND...
  local name=$1 words=$2; shift 2
  run "$@"
  is "$name: refused" "$rc/$(ls new 2>/dev/null)" 2/
  case $err in *"$words"*) ok "$name: message" true ;; *) is "$name: message" "$err" "...$words..." ;; esac
}
head -c 4098 header >short
refused "shorter than its header" "input 'short' has 4098 bytes, but its header must have 4099 (--skip-header)" \
  "$hetsort" --skip-header 4099 -o new short
refused "a stream shorter than its header" "standard input ends after 4098 bytes, but its header must have 4099" \
  bash -c '"$0" --skip-header 4099 -o new - <short' "$hetsort"
refused "records cut" "after its header, not a multiple of the record size 100: 1 left over" "$hetsort" --skip-header 4098 -o new a
refused "more than memory is for" "must be a size from 0 B to 256 MiB" "$hetsort" --skip-header 257M -o new a
sort_ --ranks 2 -o set.%r a
for header in "" "--skip-header 4098"; do
  refused "parts with another header than '$header'" "states a header of 4099 bytes before its records; use --skip-header=4099" \
    "$hetsort" --ranks 2 $header -o new set.%r
done
refused "a header of the second part" "a part's header is impossible" bash -c \
  'sed "s/\"rank\": 1,/&\"header_bytes\": 8,/" set.manifest >odd.manifest; "$0" -o new odd.manifest' "$hetsort"

# --- resuming, and the comparison at the end
for ranks in 1 3; do
  for point in write:0 commit:0 named:0; do
    rm -rf store out
    run env HETSORT_FAIL=kill@$point "$killed" --ranks $ranks --skip-header 4099 --workdir store -o out a
    is "$ranks ranks, killed in $point" "$rc" 137
    if [ $point = write:0 ]; then
      refused "$ranks ranks, another header than the runs are of" "belongs to a sort with '--skip-header=4099', not with '--skip-header=4199'" \
        "$hetsort" --ranks $ranks --skip-header 4199 --workdir store --resume -o new a
    fi
    sort_ --ranks $ranks --workdir store --resume -o out a
    is_sorted "$ranks ranks, killed in $point: resumed" one.expected out
  done
done
rm -rf store
sort_ --workdir store --resume -o out a
is "an existing output" "$rc/$err/$(cmp one.expected out)" \
  "0/hetsort: note: output 'out' is already complete: nothing was sorted/"
printf x | dd of=out bs=1 seek=7 conv=notrunc status=none
sort_ --workdir store --resume -o out a
is "an output with another header is not used" "$rc" 2
is "nothing is left" "$(find . -name '.hetsort-*')" ""
done_testing
