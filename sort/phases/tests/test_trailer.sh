#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# --skip-trailer and --records: inputs with bytes after their records are sorted before them, by every way to sort, and
# checked. An input that is too short or too long, or does not fit its manifest or kept runs, is refused.
# shellcheck disable=SC2002,SC2016,SC2086  # pipes are meant; inner shells expand; ways are several words
set -u
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
hetsort=$BIN/hetsort killed=$BIN/failpoints/hetsort
"$BIN/gensort" --no-fsync 20000 one && "$BIN/gensort" --no-fsync -b20000 20000 two || exit 1
"$hetsort" --no-fsync -o one.sorted one && "$hetsort" --no-fsync -o both.sorted one two || exit 1
"$hetsort" --no-fsync -o two.sorted two || exit 1
head -c 4099 two >header && tail -c 3000 one >trailer # a trailer of 30 records is the hardest to see
cat header one trailer >a
{ head -c 4099 one; cat two; tail -c 3000 two; } >b
cat header one.sorted trailer >one.expected
{ cat header both.sorted; tail -c 3000 two; } >both.expected
cat header one.sorted trailer >m.1 && { head -c 4099 one; cat two.sorted; tail -c 3000 two; } >m.2
by_size="--skip-header 4099 --skip-trailer 3000" by_count="--skip-header 4099 --records 20000"
sort_() { run "$hetsort" --no-fsync "$@"; }
is_sorted() { # is_sorted NAME EXPECTED FILE - and nothing was printed
  is "$1" "$rc/$err/$(cmp "$3" "$2" 2>&1)" 0//
}
for what in "$by_size" "$by_count" "$by_count --skip-trailer 3000"; do
  for way in "" "--ranks 3" "--ranks 4 --strategy distribute" "--ranks 3 --source root" "--direct always" \
    "--memory 3.4M" "--memory 12M --ranks 3" "--ranks 2 --verify reread"; do
    sort_ $what $way -f -o out a
    is_sorted "a file, $what, ${way:-one rank}" one.expected out
  done
  for ranks in 1 3; do
    sort_ $what --ranks $ranks -f -o out a b
    is_sorted "two files, $what, $ranks ranks: the last one's trailer" both.expected out
    sort_ $what --ranks $ranks -f -o out a - <b
    is_sorted "a file and a stream, $what, $ranks ranks" both.expected out
    sort_ $what --ranks $ranks -f -o out - < <(cat a)
    is_sorted "a stream, $what, $ranks ranks" one.expected out
    sort_ $what --ranks $ranks --merge -f -o out m.1 m.2
    is_sorted "--merge, $what, $ranks ranks" both.expected out
    sort_ $what --ranks $ranks --top 777 -f -o out a
    is "--top, $what, $ranks ranks" "$rc/$err/$(cat header <(head -c 77700 one.sorted) trailer | cmp - out 2>&1)" 0//
    run "$hetsort" --check $what --ranks $ranks one.expected
    is "--check, $what, $ranks ranks" "$rc/$err" 0/
    run "$hetsort" --check $what --ranks $ranks a
    is "--check finds disorder, $what, $ranks ranks" "$rc" 1
  done
  is "in a pipe, $what" "$(cat a | "$hetsort" $what | cmp - one.expected 2>&1)" ""
  run "$hetsort" --check --checksum $what - < <(cat one.expected)
  is "--check of a stream, $what" "$rc/$err/$(printf %s "$out" | sed -n "s/^records: *//p")" 0//20000
  run "$hetsort" --explain $what -o new a
  is "--explain, $what" "$rc/$(ls new 2>/dev/null)" 0/
done
"$hetsort" --no-fsync --skip-trailer 0 -f -o out one
is "of no bytes" "$(cmp out one.sorted 2>&1)" ""
cat header trailer >bare && sort_ $by_size -o bare.out bare
is_sorted "header, trailer and no record" bare bare.out
sort_ --record-size 10 --key 0,4 --unique --skip-trailer 3 -f -o out <(printf 'bbbb......aaaa.,.,.,bbbb------end')
is "--unique before a trailer" "$rc/$(cat out)" "0/aaaa.,.,.,bbbb......end"

# --- parts
for what in "$by_size" "$by_count"; do
  sort_ $what --ranks 3 -f -o part.%r a b
  is "parts, $what: the first one has the header, the last one the trailer" "$rc/$(cat part.[0-2] | cmp - both.expected 2>&1)" 0/
  run "$hetsort" --check-manifest part.manifest
  is "parts, $what: as the manifest says" "$rc/$err/$(grep -c '"trailer_bytes": 3000' part.manifest)" 0//1
done
for ranks in 1 2 3; do
  for what in "$by_size" "--skip-header 4099 --records 40000"; do
    sort_ $what --ranks $ranks -f -o out part.%r
    is_sorted "parts as input of $ranks, $what" both.expected out
    run "$hetsort" --check $what --ranks $ranks part.%r
    is "parts checked by $ranks, $what" "$rc/$err" 0/
  done
done
sort_ $by_size -f --manifest whole -o out part.manifest
is_sorted "a manifest as input" both.expected out
run "$hetsort" --check-manifest whole
is "manifest of one file" "$rc/$err/$(grep -c '"trailer_bytes": 3000' whole)" 0//1
printf x >>part.2
run "$hetsort" --check-manifest part.manifest
is "another size of the last part is found" "$rc" 1
rm part.manifest && cp a own.0 && cp b own.1
for what in "$by_size" "$by_count"; do
  sort_ $what --ranks 2 -f -o out own.%r
  is_sorted "files of their own, $what" both.expected out
  sort_ $what --ranks 2 -f -o again.%r own.%r
  is "from parts to parts, $what" "$rc/$err/$(cat again.[01] | cmp - both.expected 2>&1)" 0//
done

# --- refused
refused() { # refused NAME WORDS COMMAND...
  local name=$1 words=$2; shift 2
  run "$@"
  is "$name: refused" "$rc/$(ls new 2>/dev/null)" 2/
  case $err in *"$words"*) ok "$name: message" true ;; *) is "$name: message" "$err" "...$words..." ;; esac
}
head -c 2999 header >short
refused "shorter than its trailer" "input 'short' has 2999 bytes, but its trailer must have 3000 (--skip-trailer)" \
  "$hetsort" --skip-trailer 3000 -o new short
refused "header and trailer overlap" "'short' has 999 bytes after its header, but its trailer must have 1000" \
  "$hetsort" --skip-header 2000 --skip-trailer 1000 -o new short
refused "a stream shorter than its trailer" "standard input has 2999 bytes, but its trailer must have 3000" \
  bash -c 'cat short | "$0" --skip-trailer 3000 -o new -' "$hetsort"
refused "records cut" "after its header and before its trailer, not a multiple of the record size 100: 99 left over" \
  "$hetsort" --skip-header 4099 --skip-trailer 3001 -o new a
refused "too few records" "input 'a' has 20030 records of 100 bytes, not the 20031 of --records" \
  "$hetsort" --skip-header 4099 --records 20031 -o new a
refused "too few in a stream" "has 20030 records of 100 bytes, not the 20031 of --records" \
  bash -c 'cat a | "$0" --skip-header 4099 --records 20031 -o new -' "$hetsort"
refused "more than can be" "not the 9223372036854775807 of --records" "$hetsort" --records 9223372036854775807 -o new a
refused "another trailer after the records" "input 'a' has 3000 bytes after its 20000 records; use --skip-trailer=3000" \
  "$hetsort" $by_count --skip-trailer 2900 -o new a
refused "none" "must be a whole number from 1 to 9223372036854775807" "$hetsort" --records 0 -o new a
refused "more than memory is for" "must be a size from 0 B to 256 MiB" "$hetsort" --skip-trailer 257M -o new a
head -c 1000 one >huge && truncate -s 300M huge
refused "too many bytes follow for a trailer" "314571800 bytes after its 10 records, but a trailer has at most 268435456" \
  "$hetsort" --records 10 -o new huge
rm huge
for words in "ends within its trailer:--skip-trailer 3000 - <short" \
  "ends after 20030 records, before the 20031 of --records:--skip-header 4099 --records 20031 - <one.expected" \
  "has 3000 bytes after its 20000 records; use --skip-trailer=3000:$by_count --skip-trailer 100 - <one.expected"; do
  refused "--check of a stream: ${words#*:}" "${words%%:*}" bash -c "cat ${words##*<} | \"\$0\" --check ${words#*:}" "$hetsort"
done
sort_ $by_size --ranks 2 -o set.%r a
for trailer in "" "--skip-trailer 2900"; do
  refused "parts with another trailer than '$trailer'" "states a trailer of 3000 bytes after its records; use --skip-trailer=3000" \
    "$hetsort" --ranks 2 --skip-header 4099 $trailer -o new set.%r
done
refused "parts of another number of records" "states 20000 records; use --records=20000" \
  "$hetsort" --ranks 2 --skip-header 4099 --records 19999 -o new set.%r
refused "a trailer of the first part" "a part's trailer is impossible" bash -c \
  'sed "s/\"rank\": 0,/&\"trailer_bytes\": 8,/" set.manifest >odd.manifest; "$0" --skip-header 4099 -o new odd.manifest' "$hetsort"

# --- resuming, and the comparison at the end
for ranks in 1 3; do
  for point in write:0 commit:0 named:0; do
    rm -rf store out
    run env HETSORT_FAIL=kill@$point "$killed" --ranks $ranks $by_count --workdir store -o out a
    is "$ranks ranks, killed in $point" "$rc" 137
    if [ $point = write:0 ]; then
      refused "$ranks ranks, other options than the runs are of" "'--skip-header=4099 --records=20000', not with '--skip-header=4099 --skip-trailer=3000'" \
        "$hetsort" --ranks $ranks $by_size --workdir store --resume -o new a
    fi
    sort_ $by_count --ranks $ranks --workdir store --resume -o out a
    is_sorted "$ranks ranks, killed in $point: resumed" one.expected out
  done
done
rm -rf store
sort_ $by_size --workdir store --resume -o out a
is "an existing output" "$rc/$err/$(cmp one.expected out)" \
  "0/hetsort: note: output 'out' is already complete: nothing was sorted/"
printf x | dd of=out bs=1 seek=$(($(wc -c <out) - 7)) conv=notrunc status=none
sort_ $by_size --workdir store --resume -o out a
is "an output with another trailer is not used" "$rc" 2
is "nothing is left" "$(find . -name '.hetsort-*')" ""
done_testing
