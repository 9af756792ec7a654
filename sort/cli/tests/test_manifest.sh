#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# --check-manifest: the output of a job passes. Every single change in the parts or in the manifest is found, with the
# exit code of its kind.
# shellcheck disable=SC2317  # functions are called through others
set -u
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
hetsort=$BIN/hetsort
"$BIN/gensort" --no-fsync 3000 in || exit 1
sorted() { rm -rf d && mkdir d && "$hetsort" "$@" -o d/part.%r in; }
judge() { # judge NAME CODE WORDS
  run timeout 60 "$hetsort" --check-manifest d/part.manifest
  is "$1: exit code" "$rc" "$2"
  case $err in *"$3"*) ok "$1: message" true ;; *) is "$1: message" "$err" "...$3..." ;; esac
}
for p in 1 2 5; do sorted --ranks $p; judge "$p ranks" 0 ""; done
sorted --ranks 3 --record-size 1000 --key 900,37; judge "other records" 0 ""
: >in0; "$hetsort" --ranks 2 -o z.%r in0; run "$hetsort" --check-manifest z.manifest
is "no records" "$rc" 0
is "a manifest ends in a newline" "$(tail -c 2 z.manifest | od -An -tx1 | tr -d ' ')" 7d0a
head -c 100 in >in1; "$hetsort" --ranks 3 -o y.%r in1; run "$hetsort" --check-manifest y.manifest z.manifest
is "parts without records, two manifests" "$rc" 0

breaks() { # breaks NAME CODE WORDS COMMAND... - COMMAND changes the output of three ranks
  local name=$1 code=$2 words=$3; shift 3
  rm -rf d; cp -r good d
  "$@"
  judge "$name" "$code" "$words"
}
sorted --ranks 3; cp -r d good
change() { sed -i "$1" d/part.manifest; cmp -s d/part.manifest good/part.manifest && echo "# unchanged: $1"; }
poke() { printf 'X' | dd of="d/part.$1" bs=1 seek="$2" conv=notrunc status=none; }
swap() { mv d/part.0 d/t && mv d/part.1 d/part.0 && mv d/t d/part.1; }
twist() { { tail -c +101 good/part.1 | head -c 100; head -c 100 good/part.1; tail -c +201 good/part.1; } >d/part.1; }
breaks "part missing" 1 "part 'part.1' is missing" rm d/part.1
breaks "part cut short" 1 "does not have the stated size" truncate -s -100 d/part.2
breaks "part with half a record more" 1 "does not have the stated size" truncate -s +50 d/part.2
breaks "byte of a value" 1 "does not have the stated checksum" poke 0 5050
breaks "records in another order" 1 "is not in order" twist
breaks "parts exchanged" 1 "" swap
restate() { # state the second part before the first
  awk '/^    [{]/ {n++} !n || n > 2 {print; next} {part[n] = part[n] $0 "\n"} n == 2 && /^    [}]/ {
      sub(/"rank": 0/, "\"rank\": 1", part[1]); sub(/"rank": 1/, "\"rank\": 0", part[2])
      printf "%s%s", part[2], part[1]; n = 3}' good/part.manifest >d/part.manifest
}
breaks "parts stated in another order" 1 "'part.0' begins before the end of the preceding part" restate
breaks "part is a link" 1 "cannot be opened" ln -sf ../good/part.0 d/part.0
breaks "part is a directory" 1 "not a regular file" sh -c 'rm d/part.0 && mkdir d/part.0'
breaks "manifest missing" 2 "cannot open manifest" rm d/part.manifest
breaks "manifest empty" 2 "line 1" truncate -s 0 d/part.manifest
breaks "manifest cut" 2 "'d/part.manifest' is not a valid manifest: line" truncate -s 200 d/part.manifest
breaks "manifest is a directory" 2 "not a regular file" sh -c 'rm d/part.manifest && mkdir d/part.manifest'
breaks "manifest too long" 2 "larger than" truncate -s 65M d/part.manifest
breaks "first key" 1 "does not have the first key that is stated" change '0,/"first_key": "../s//"first_key": "zz/'
breaks "last key" 1 "does not have the last key that is stated" change '0,/"last_key": "../s//"last_key": "zz/'
breaks "checksum" 1 "does not have the stated checksum" change 's/"checksum": "0/"checksum": "1/;t;s/"checksum": "[1-9a-f]/"checksum": "0/'
for sum in zz 0 00000000000000000000000000000000; do
  breaks "invalid checksum, '$sum'" 2 "a part's checksum is impossible" change '/"checksum": "/s/: "/&'$sum'/'
done
breaks "records of all" 2 "not the sum of its parts" change '0,/"records": 3000/s//"records": 3001/'
breaks "records of a part" 2 "not the sum of its parts" change 's/"records": 1000/"records": 999/'
count_elsewhere() { change '0,/"records": 1000/s//"records": 1001/'; change '0,/"records": 1000/s//"records": 999/'; }
breaks "records of parts, the same in all" 1 "does not have the stated size" count_elsewhere
breaks "negative records" 2 "impossible" change '0,/"records": 3000/s//"records": -1/'
breaks "records beyond 2^63 bytes" 2 "impossible" change '0,/"records": 3000/s//"records": 922337203685477581/'
breaks "number beyond 64 bits" 2 "line" change '0,/"records": 3000/s//"records": 99999999999999999999/'
breaks "key outside the record" 2 "impossible" change 's/"key_offset": 0/"key_offset": 91/'
breaks "record of no bytes" 2 "impossible" change 's/"record_bytes": 100/"record_bytes": 0/'
breaks "version" 2 "another version" change 's/"version": 1/"version": 2/'
breaks "other format" 2 "not a manifest of hetsort" change 's/hetsort-manifest/hetsort-report/'
breaks "unknown member" 2 "not a manifest of hetsort" change 's/"version": 1/"version": 1, "more": 1/'
breaks "member twice" 2 "duplicate" change 's/"version": 1/"version": 1, "version": 1/'
breaks "rank twice" 2 "impossible" change 's/"rank": 1/"rank": 0/'
breaks "part in another directory" 2 "impossible" change 's/"part.1"/"..\/good\/part.1"/'
breaks "part is the directory itself" 2 "impossible" change 's/"part.1"/".."/'
breaks "part without a name" 2 "impossible" change 's/"part.1"/""/'
breaks "part without a checksum" 2 "a part has missing or unknown members" change 's/"checksum": .*//'
run "$hetsort" --check-manifest
is "no manifest named" "$rc" 2
run "$hetsort" --check-manifest good/part.manifest
is "what is as stated needs no word" "$rc/$out$err" 0/
run "$hetsort" -v --check-manifest good/part.manifest z.manifest
is "-v says what was checked" "$rc/$err" "0/hetsort: 'good/part.manifest': 3 parts, 3000 records, 300000 bytes: \
sizes, order, first and last keys and checksums are as stated
hetsort: 'z.manifest': 2 parts, 0 records, 0 bytes: sizes, order, first and last keys and checksums are as stated"

# one allocation after the other fails: a job that succeeds has printed everything
failed=0 odd='' n=1
for ((in_a_row = 0; in_a_row < 12 && n < 2000; n++)); do
  rm -rf d; mkdir d
  HETSORT_FAIL=alloc:$n@rank0 run timeout 60 "$BIN/failpoints/hetsort" --ranks 2 --threads 1 --no-fsync -o d/part.%r in1
  if [ "$rc" -ne 0 ]; then failed=$((failed + 1)) in_a_row=0; continue; fi
  in_a_row=$((in_a_row + 1))
  run "$hetsort" --check-manifest d/part.manifest
  [ "$rc" -eq 0 ] || odd+=" $n: $err"
done
is "no memory: what succeeds has a whole manifest" "$odd" ""
ok "no memory: $failed of $n jobs fail" test $failed -gt 20
# --- a manifest of one file
rm -f out* && "$BIN/gensort" --no-fsync 1000 one || exit 1
for ranks in 1 3; do
  run "$hetsort" --ranks $ranks --force --manifest out.list -o out one
  is "a manifest of one file, $ranks ranks: exit code, parts" "$rc/$(grep -c '"rank":' out.list)" 0/1
  run "$hetsort" --check-manifest -v out.list
  is "a manifest of one file, $ranks ranks: as stated" "$rc/$(grep -c "'out.list': 1 part, 1000 records, 100000 bytes: " <<<"$err")" 0/1
done
keys=$(head -c 10 out | od -An -tx1 | tr -d ' \n')/$(tail -c 100 out | head -c 10 | od -An -tx1 | tr -d ' \n')
is "a manifest of one file: its keys" "$(sed -n 's/.*"\(first\|last\)_key": "\(.*\)".*/\2/p' out.list | paste -sd/)" "$keys"
run "$hetsort" --manifest list --force -o again out.list
is "a manifest of one file is an input" "$rc/$(cmp out again)" 0/
run "$hetsort" --manifest out.list -o fresh one
is "a manifest that exists is refused" "$rc/$(ls fresh 2>/dev/null)" 2/
printf x | dd of=out bs=1 seek=50020 conv=notrunc status=none
run "$hetsort" --check-manifest out.list
is "a manifest of one file: a changed byte" "$rc/$err" "1/hetsort: part 'out' does not have the stated checksum"
: >none
run "$hetsort" --force --manifest out.list -o out none
is "a manifest of one file without records" "$rc/$("$hetsort" --check-manifest out.list; echo $?)/$(grep -c _key out.list)" 0/0/0
done_testing
