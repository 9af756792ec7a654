#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# --check: sorted files pass, for each kind of key. Each disorder is found at its place, also where the records of two threads
# meet, where a part ends, and in a pipe. Reports and manifests have the same count and checksum.
set -u
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
hetsort=$BIN/hetsort gensort=$BIN/gensort

checks() { # checks NAME CODE WORDS ARGUMENT... - check the status and the message
  local name=$1 code=$2 words=$3; shift 3
  run "$hetsort" --check "$@"
  is "$name: status" "$rc" "$code"
  case $err in *"$words"*) ok "$name: message" true ;; *) is "$name: message" "$err" "...$words..." ;; esac
}
key_of() { # key_of FILE RECORD - print the key of a record of 100 bytes, in hex
  od -An -v -tx1 -j$(($2 * 100)) -N10 "$1" | tr -d ' \n'
}

# --- each kind of key: a sorted file passes by its key, and not by another
"$gensort" --no-fsync 4000 noise || exit 1
while read -r key other; do
  rm -f out
  # shellcheck disable=SC2086 # words of a command line
  "$hetsort" --no-fsync --record-size 16 ${key//;/ --key } -o out noise
  # shellcheck disable=SC2086
  checks "sorted by $key" 0 "" --record-size 16 ${key//;/ --key } out
  # shellcheck disable=SC2086
  checks "$key, by $other" 1 "is out of order" --record-size 16 ${other//;/ --key } out
done <<'END'
;3,5 ;4,5
;0,u8 ;1,u8
;8,u16 ;8,u16be
;8,u32 ;8,u32be
;1,u64 ;1,u64be
;0,i8 ;0,u8
;8,i16be ;8,u16be
;5,i32 ;5,u32
;8,i64 ;8,i64,desc
;0,f32 ;0,u32
;8,f64,desc ;8,f64
;15,u8;8,u32,desc ;15,u8;8,u32
;0,3,desc;4,f32;9,i16 ;0,3,desc;4,i32;9,i16
END
checks "--reverse" 1 "is out of order" -r --record-size 16 --key 15,u8 --key 8,u32,desc out
record() { printf "%b" "$@"; } # doubles, the most significant byte first
nan='\x7f\xf8\0\0\0\0\0\0' minus_nan='\xff\xf8\0\0\0\0\0\0' minus_0='\x80\0\0\0\0\0\0\0' zero='\0\0\0\0\0\0\0\0'
minus_1='\xbf\xf0\0\0\0\0\0\0' inf='\x7f\xf0\0\0\0\0\0\0'
record $minus_nan $minus_1 $minus_0 $zero $inf $nan >floats
checks "NaN and -0" 0 "" --record-size 8 --key 0,f64be floats
record $zero $minus_0 >floats
checks "-0 after +0" 1 \
  "record 1 of 'floats' is out of order: its key 8000000000000000 comes before the 0000000000000000 of record 0" \
  --record-size 8 --key 0,f64be floats
record $nan $inf >floats
checks "a NaN before the infinite" 1 "record 1 of" --record-size 8 --key 0,f64be floats
record $minus_1 $zero $minus_0 $zero $inf $minus_nan $nan $minus_nan >floats
checks "nan-last" 0 "" --record-size 8 --key 0,f64be,nan-last floats
checks "nan-last: -0 equals +0" 1 "record 2 of" --record-size 8 --key 0,f64be,nan-last -u floats
record $inf $minus_0 $zero $minus_1 $minus_nan $nan >floats
checks "nan-last in descending order" 0 "" --record-size 8 --key 0,f64be,nan-last,desc floats
record $nan $inf >floats
checks "nan-last: a NaN before the infinite" 1 "record 1 of" --record-size 8 --key 0,f64be,nan-last,desc floats
record $inf $minus_1 $minus_1 $nan $nan $inf $nan $nan >floats
checks "nan-last: complex numbers" 0 "" --record-size 16 --key 0,c128be,nan-last floats
record $minus_1 $nan $inf $minus_1 >floats
checks "complex numbers in total order" 0 "" --record-size 16 --key 0,c128be floats
checks "nan-last: an imaginary NaN before a number" 1 "record 1 of" --record-size 16 --key 0,c128be,nan-last floats
record $zero $minus_0 >floats
checks "nan-last: NaT before a number" 0 "" --record-size 8 --key 0,i64be,nan-last floats
record $minus_0 $zero >floats
checks "nan-last: NaT after a number" 1 "record 1 of" --record-size 8 --key 0,i64be,nan-last floats

# --- places: the chunks of 4 threads meet after 5120 records of 100 bytes, past the page cache after 40960
"$gensort" --no-fsync 130000 in && "$hetsort" --no-fsync -o sorted in || exit 1
swap() { # swap RECORD - exchange it and the next one, in a copy
  cp sorted swapped
  dd if=sorted of=swapped bs=100 skip="$1" seek=$(($1 + 1)) count=1 conv=notrunc status=none
  dd if=sorted of=swapped bs=100 skip=$(($1 + 1)) seek="$1" count=1 conv=notrunc status=none
}
checks "in order" 0 "" --threads 4 sorted
for at in 0 1 5118 5119 5120 40958 40959 40960 77777 81919 122879 122880 129998; do
  swap $at
  checks "records $at and the next exchanged" 1 "hetsort: record $((at + 1)) of 'swapped' is out of order: its key \
$(key_of sorted $at) comes before the $(key_of sorted $((at + 1))) of record $at" --threads 4 swapped
done
swap 50000 && mv swapped sorted.2 && cp sorted.2 twice && swap 10 && head -c 2000 swapped | dd of=twice conv=notrunc status=none
checks "the first of two" 1 "record 11 of 'twice'" --threads 4 twice
checks "in a pipe" 1 "record 50001 of standard input" - <sorted.2
checks "in a pipe without a name" 1 "record 50001 of standard input" < <(cat sorted.2)
run "$hetsort" -c sorted
is "-c" "$rc $err" "0 "
run "$hetsort" -C sorted.2
is "-C says nothing" "$rc $err$out" "1 "
run "$hetsort" -C missing
is "-C: a file that it cannot read" "$rc $err" "2 hetsort: cannot open input 'missing': No such file or directory"
run "$hetsort" -v -c sorted
is "-v" "$rc $err" "0 hetsort: 130000 records: in order"

{ printf 'a header'; cat sorted; } >with-header
{ printf 'a header'; cat sorted.2; } >with-header.2
checks "--skip-header" 0 "" --skip-header 8 with-header
checks "--skip-header: a disorder" 1 "record 50001 of 'with-header.2'" --skip-header 8 with-header.2
checks "--skip-header: in a pipe" 1 "record 50001 of standard input" --skip-header 8 < <(cat with-header.2)
checks "--skip-header: a pipe that is shorter" 2 "standard input ends within its header" --skip-header 99999999 < <(cat with-header)
rm with-header*

# --- few records
: >empty
checks "no records" 0 "" empty
head -c 100 sorted >one
checks "one record" 0 "" one empty one
cat one one one >equal
run "$hetsort" --check --checksum equal one
is "equal keys" "$rc $(tail -n 1 <<<"$out")" "0 equal keys: 3"
head -c 250 sorted >partial
checks "a partial record" 2 "'partial' has 250 bytes, not a multiple of the record size 100: 50 left over" partial
checks "a partial record in a pipe" 2 "standard input ends with a partial record of 50 bytes" < <(cat partial)

# --- sets of parts
"$hetsort" --no-fsync --ranks 3 --report report --manifest set -o p.%r in
first=$(grep -o '"checksum": "[0-9a-f]*"' report | head -n 1 | cut -d'"' -f4)
wanted="records: 130000"$'\n'"checksum: $first"$'\n'"equal keys: 0"
run "$hetsort" -c --checksum sorted
is "the checksum equals the checksum in the report" "$rc $out" "0 $wanted"
run "$hetsort" -c --checksum sorted.2
is "--checksum continues after a disorder" "$rc $out" "1 $wanted"
run "$hetsort" -c --checksum p.%r
is "parts without a manifest" "$rc $out" "0 $wanted"
run "$hetsort" -c --checksum set
is "parts of a manifest" "$rc $out" "0 $wanted"
"$hetsort" --no-fsync --ranks 2 --record-size 50 --key 8,u16,desc --key 3,i32be --manifest fields -o f.%r in
run "$hetsort" -c fields
is "the manifest gives size and key" "$rc $err" "0 "
checks "but options count" 2 "has records of 50 bytes, not 100" --key 8,u16 fields
mv f.0 f.2 && mv f.1 f.0 && mv f.2 f.1 # of one size
checks "parts of a manifest that are not in order" 1 "record 0 of 'f.1' is out of order" fields
mv set p.manifest
run "$hetsort" -c --checksum p.%r
is "parts with a manifest" "$rc $out" "0 $wanted"
run "$hetsort" -c --checksum p.0 - p.2 < <(cat p.1)
is "a pipe among parts" "$rc $out" "0 $wanted"
last=$(($(wc -c <p.1) / 100 - 1))
checks "parts in another order" 1 "record 0 of 'p.0' is out of order: its key $(key_of p.0 0) comes before the \
$(key_of p.1 $last) of record $last of 'p.1'" p.1 empty p.0 p.2
rm p.0
checks "the first part is missing" 2 "cannot open input 'p.0'" p.%r
split -a 3 -d -b 20000 sorted many.
run bash -c 'ulimit -n 24; exec "$@"' - "$hetsort" -c --checksum --threads 2 many.*
is "more parts than open files" "$rc $out" "0 $wanted"

# --- each key once
checks "--unique" 0 "" -u sorted
checks "--unique: twice" 1 "record 1 of 'equal' is out of order: its key $(key_of equal 1) is the key of record 0, but --unique" \
  -u equal
checks "--unique: in two files" 1 "record 0 of 'one' is out of order" -u <(head -c 100 sorted) one
checks "--unique: a disorder" 1 "comes before the" -u sorted.2

# --- several ranks: one result, the same as with a single rank
"$hetsort" --no-fsync --ranks 3 -f -o p.%r in || exit 1
for ranks in 2 3 5; do
  for way in sorted p.manifest p.%r "p.0 p.1 p.2" "$(echo many.*)"; do
    # shellcheck disable=SC2086 # names
    run "$hetsort" -c --checksum --ranks $ranks $way
    is "$ranks ranks: ${way:0:20}" "$rc $out$err" "0 $wanted"
  done
  run "$hetsort" -c --checksum --ranks $ranks sorted.2
  is "$ranks ranks: --checksum continues after a disorder" "$rc $out" "1 $wanted"
  for at in 10 25999 51999 64999 86665 103999 129998; do # parts of 2, 3 and 5 ranks begin after some of them
    swap $at
    checks "$ranks ranks: records $at and the next exchanged" 1 "hetsort: record $((at + 1)) of 'swapped' is out of order: its \
key $(key_of sorted $at) comes before the $(key_of sorted $((at + 1))) of record $at" --ranks $ranks swapped
  done
  checks "$ranks ranks: files in another order" 1 "record 0 of 'p.0' is out of order" --ranks $ranks p.1 p.2 empty p.0
  checks "$ranks ranks: equal keys" 1 "record 1 of 'equal' is out of order" -u --ranks $ranks equal
  run "$hetsort" -c --checksum --ranks $ranks equal one
  is "$ranks ranks: equal keys are counted" "$rc $(tail -n 1 <<<"$out")" "0 equal keys: 3"
  run "$hetsort" -C --ranks $ranks swapped
  is "$ranks ranks: -C says nothing" "$rc $err$out" "1 "
  checks "$ranks ranks: no records" 0 "" --ranks $ranks empty
  run "$hetsort" -c --ranks $ranks missing
  is "$ranks ranks: a missing file" "$rc $err" \
    "2 hetsort: cannot open input 'missing': No such file or directory"
done
"$hetsort" --no-fsync --ranks 3 --record-size 50 --key 8,u16,desc --manifest fields -f -o f.%r in
run "$hetsort" -c --ranks 2 fields
is "several ranks: the manifest gives size and key" "$rc $err" "0 "
checks "several ranks: a pipe" 2 "needs a single rank" --ranks 2 - <sorted

# --- the report
member() { grep -c -x -F "$1" report; }
run "$hetsort" -c --checksum --ranks 2 --report report sorted
is "report: in order" "$rc $(member '  "in_order": true,') $(member '  "disorder": null,') $(member '  "records": 130000,') \
$(member "  \"checksum\": \"$first\",") $(grep -c '"records": 65000,' report)" "0 1 1 1 1 2"
swap 77777
run "$hetsort" -c --report report swapped
is "report: not in order" "$rc $(member '  "in_order": false,') $(member '      "record": 77777,') $(member '      "record": 77778,') \
$(member "      \"key\": \"$(key_of sorted 77777)\"") $(member '  "records": null,')" "1 1 1 1 1 1"

# --- options that cannot be combined with --check
while read -r words; do
  checks "refused: $words" 2 "cannot be combined with --check" "$words" sorted
done <<'END'
--output=x
--memory=1G
--top=3
END
run "$hetsort" --checksum -o x in
is "--checksum without --check" "$rc ${err%%$'\n'*}" "2 hetsort: --checksum requires --check"
run "$hetsort" -C --checksum sorted
is "--checksum with -C" "$rc" 2
run bash -c '"$1" -c --checksum sorted >/dev/full' - "$hetsort"
is "a full device" "$rc" 3
run "$hetsort" -c --checksum --report - sorted
is "--checksum and --report=-" "$rc ${err%%$'\n'*}" "2 hetsort: --report=-: --checksum prints to standard output"
checks "a report over an input" 2 "report 'sorted' is the same file as input 'sorted'" --report sorted sorted
done_testing
