#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# --number, --append, --order-out and --apply as users apply them: parts, manifests, streams, little memory, and jobs that are killed and
# resumed; contradictions are refused. test_numbers.c draws ways to sort.
# shellcheck disable=SC2002,SC2086  # pipes are meant; ways are several words
set -u
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
hetsort=$BIN/hetsort failing=$BIN/failpoints/hetsort
"$BIN/gensort" --no-fsync 30000 in || exit 1
lay="--key 0,1 --append 8 --number 100,u64be"
sort_() { run "$hetsort" --no-fsync $lay "$@"; }
# the same by other programs: each record as a line of hexadecimal digits, and its number
od -A n -v -t x1 -w100 in | tr -d ' ' | awk '{ printf "%s%016x\n", $1, NR - 1 }' | LC_ALL=C sort -s -k1.1,1.2 >expected
hex() { od -A n -v -t x1 -w108 "$@" | tr -d ' '; }

for way in "" "--ranks 3" "--ranks 2 --strategy distribute" "--ranks 3 --source root" "--memory 4M" "--ranks 2 --memory 9M" "--direct always"; do
  sort_ $way -f -o out in
  is "${way:-one rank}" "$rc/$err/$(hex out | cmp - expected 2>&1)" 0//
done
cat in | "$hetsort" --no-fsync $lay --memory 4M >out
is "standard input, on disk" "$(hex out | cmp - expected 2>&1)" ""
sort_ --ranks 3 -o part.%r in
is "parts" "$rc/$err/$(cat part.[0-2] | hex | cmp - expected)" 0//
run "$hetsort" --check-manifest part.manifest
is "the manifest of the parts is right" "$rc/$err" 0/
ok "it states the size of the longer records" grep -q '"record_bytes": 108' part.manifest

# inputs that a manifest describes: the checksum that it states is compared
run "$hetsort" --no-fsync --ranks 3 -o in.%r in
cat in.[0-2] >whole
sort_ -f -o wanted whole
for input in in.%r in.manifest; do
  sort_ --ranks 3 -f -o out $input
  is "$input" "$rc/$err/$(cmp out wanted 2>&1)" 0//
done
sort_ -f -o out in.manifest
is "a manifest, one rank" "$rc/$err/$(cmp out wanted 2>&1)" 0//
printf x | dd of=in.1 bs=1 seek=5099 conv=notrunc status=none
for ranks in 1 3; do
  sort_ --ranks $ranks -f -o bad in.manifest
  is "a part that is not as its manifest states, $ranks ranks" "$rc/$(test -e bad; echo $?)" 3/1
done

# resumed
for way in "--ranks 1" "--ranks 3"; do
  for phase in read checkpoint merge sync; do
    rm -rf store out
    HETSORT_FAIL=kill@$phase:0 run timeout -s KILL 120 "$failing" --no-fsync $lay $way --workdir store -o out in
    is "killed in $phase, $way" "$rc" 137
    run timeout -s KILL 120 "$failing" --no-fsync $lay ${way/3/2} --workdir store --resume -o out in
    is "killed in $phase, $way: resumed" "$rc/$err/$(hex out | cmp - expected 2>&1)" 0//
  done
done
rm -f out
HETSORT_FAIL=kill@merge:0 run timeout -s KILL 120 "$failing" --no-fsync $lay --workdir store -o out in
run "$failing" --no-fsync --key 0,1 --append 8 --number 100,u64le --workdir store --resume -o out in
is "runs with other numbers are refused" "$rc" 2
case $err in *--number=100,u64be*--number=100,u64le*) ok "the message names both" true ;; *) is "the message names both" "$err" "..." ;; esac

# --order-out: the numbers in the order of the key
cut -c201- expected >numbers
order() { od -A n -v -t x8 -w8 --endian=little "$@" | tr -d ' '; }
for way in "" "--ranks 3" "--ranks 2 --strategy distribute" "--ranks 3 --source root --scatter equal" "--memory 4M" "--verify reread --ranks 2"; do
  run "$hetsort" --no-fsync --key 0,1 $way -f --order-out order in
  is "order ${way:-one rank}" "$rc/$err/$(order order | cmp - numbers 2>&1)" 0//
done
{ printf 'a header\n'; cat in; } | "$hetsort" --no-fsync --key 0,1 --skip-header 9 --order-out - >order
is "order of standard input with a header" "$(order order | cmp - numbers 2>&1)" ""
run "$hetsort" --no-fsync --key 0,1 --ranks 3 --report report --order-out order.%r in
is "order in parts" "$rc/$err/$(cat order.[0-2] | order | cmp - numbers)" 0//
run "$hetsort" -v --check-manifest order.manifest
is "the manifest of an order" "$rc/$err" \
  "0/hetsort: 'order.manifest': 3 parts, 30000 records, 240000 bytes: sizes and checksums are as stated"
printf x | dd of=order.1 bs=1 seek=80 conv=notrunc status=none
run "$hetsort" --check-manifest order.manifest
is "a changed number" "$rc/$err" "1/hetsort: part 'order.1' does not have the stated checksum"
sum=$("$hetsort" --check --checksum --record-size 8 order 2>/dev/null | sed -n 's/^checksum: //p')
ok "the report has the checksum of the numbers" grep -q "\"checksum_written\": \"${sum:-none}\"" report
rm -rf store
HETSORT_FAIL=kill@sync:0 run timeout -s KILL 120 "$failing" --no-fsync --key 0,1 --ranks 3 --workdir store -f --order-out order in
run timeout -s KILL 120 "$failing" --no-fsync --key 0,1 --ranks 2 --workdir store --resume -f --order-out order in
is "order: killed and resumed" "$rc/$err/$(order order | cmp - numbers 2>&1)" 0//
awk '!seen[substr($1, 1, 2)]++ { print substr($1, 201) }' expected >first
run "$hetsort" --no-fsync --key 0,1 -u --ranks 3 -f --order-out order in
is "order -u" "$rc/$err/$(order order | cmp - first 2>&1)" 0//

# --apply: the records in this order
run "$hetsort" --no-fsync --key 0,1 -f --order-out order in
run "$hetsort" --no-fsync --key 0,1 -s -f -o sorted in
run "$hetsort" --no-fsync --key 0,1 --ranks 3 -f --order-out order.%r in
for way in "" "--ranks 3" "--ranks 2 --strategy distribute" "--ranks 3 --source root" "--memory 6M" "--verify reread --ranks 2"; do
  for order in order order.manifest order.%r; do
    run "$hetsort" --no-fsync $way --apply $order -f -o out in
    is "apply $order ${way:-one rank}" "$rc/$err/$(cmp out sorted 2>&1)" 0//
  done
done
{ printf 'a header\n'; cat in; printf end; } >framed
run "$hetsort" --no-fsync --ranks 3 --apply order --skip-header 9 --skip-trailer 3 -f -o part.%r framed
is "apply: parts with header and trailer" "$rc/$err/$({ printf 'a header\n'; cat sorted; printf end; } | cmp - <(cat part.[0-2]))" 0//
run "$hetsort" --check-manifest part.manifest
is "apply: the manifest" "$rc/$err" 0/
cat in | "$hetsort" --no-fsync --apply order >out
is "apply to standard input" "$(cmp out sorted 2>&1)" ""
tail -c 80000 order >some
for way in "" "--ranks 3" "--memory 6M"; do
  run "$hetsort" --no-fsync --apply some $way -f -o out in
  is "apply an order of some records, $way" "$rc/$err/$(tail -c 1000000 sorted | cmp - out 2>&1)" 0//
done

# orders that are not valid
bad() { # bad NAME MESSAGE [ARGUMENT...] - order `bad`
  local name=$1 words=$2 way; shift 2
  for way in "" "--ranks 3" "--memory 6M"; do
    run "$hetsort" --no-fsync $way "$@" --apply bad -o none in
    is "$name, ${way:-one rank}" "$rc/$(find . -name '*none*')/$err" "2//hetsort: $words"
  done
}
{ head -c 80 order; head -c 8 order; tail -c +89 order; } >bad
first=$((0x$(order order | head -n 1)))
bad "a number twice" "order 'bad': number $first is at place 0 and again at place 10"
{ head -c 80 order; printf '\60\165\0\0\0\0\0\0'; tail -c +89 order; } >bad
bad "a number that is too large" "order 'bad': number 30000 at place 10 is not below 30000, the number of records"
cat order order >bad
bad "too many numbers" "order 'bad' has 60000 numbers, but the input has 30000 records"
: >bad
bad "no numbers" "order 'bad' has 0 numbers, but the input has 30000 records"
head -c 1001 order >bad
bad "a part of a number" "input 'bad' has 1001 bytes, not a multiple of the record size 8: 1 left over"
rm bad
bad "no order" "cannot open input 'bad': No such file or directory"
cp order order.saved
run "$hetsort" --apply order -f -o order in
is "the output is the order" "$rc/$(cmp order order.saved 2>&1)" 2/

# refused before work
refuse() { # refuse WORDS ARGUMENT...
  local words=$1; shift
  run "$hetsort" "$@" -o none in
  is "refused: $*" "$rc/$(ls none 2>/dev/null)" 2/
  case $err in *"$words"*) ok "message: $*" true ;; *) is "message: $*" "$err" "...$words..." ;; esac
}
refuse "bytes 100 to 107 do not fit a record of 100 bytes" --number 100,u64
refuse "bytes 104 to 111 do not fit a record of 108 bytes" --number 104,u64 --append 8
refuse "OFFSET,u32 or OFFSET,u64" --number 0,i64
refuse "OFFSET,u32 or OFFSET,u64" --number 0,8
refuse "longer than 64K" --append 65500
refuse "have bytes in common" --unique --count 92,u64 --number 96,u32
refuse "--output cannot be combined with --order-out" --order-out order
refuse "cannot be combined with --check" --check --number 92,u64
truncate -s 4294967297 many
for option in "--key 0,1" "--number 0,u64" -m -u "--top 3" --stable "--order-out none" "--workdir store"; do
  run "$hetsort" $option --apply order -o none in
  is "refused: --apply $option" "$rc/$(ls none 2>/dev/null)" 2/
done
for option in "--number 0,u64" "--append 8" "-u --count 80,u64" "-u --top 3" --partition-only; do
  run "$hetsort" --key 0,1 $option --order-out none in
  is "refused: --order-out $option" "$rc/$(ls none 2>/dev/null)" 2/
done
run "$hetsort" --record-size 1 --key 0,1 --append 4 --number 1,u32 -o none many
is "refused: more numbers than u32 has" "$rc/$(ls none 2>/dev/null)" 2/
case $err in *"4294967297 records do not fit u32; use u64"*) ok "message: u32" true ;; *) is "message: u32" "$err" "..." ;; esac
done_testing
