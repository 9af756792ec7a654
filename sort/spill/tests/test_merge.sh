#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# --merge: the output of any number of sorted inputs is the output of a stable sort of them, with little memory too. An
# input that is not sorted is named with its record, and no file is left.
set -u
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
hetsort=$BIN/hetsort gensort=$BIN/gensort

merges() { # merges NAME WANTED ARGUMENT... - all arguments but -o
  local name=$1 wanted=$2; shift 2
  rm -f out
  run "$hetsort" --no-fsync --merge -o out "$@"
  is "$name: status" "$rc $err" "0 "
  ok "$name: as a stable sort" cmp out "$wanted"
}
refuses() { # refuses NAME CODE WORDS ARGUMENT... - nothing under the final name, nothing temporary
  local name=$1 code=$2 words=$3; shift 3
  rm -f out
  run "$hetsort" --no-fsync --merge -o out "$@"
  case $err in *"$words"*) is "$name: status" "$rc" "$code" ;; *) is "$name: message" "$err" "...$words..." ;; esac
  is "$name: nothing is left" "$(compgen -G 'out' || compgen -G '.hetsort*')" ""
}

# --- inputs of different sizes; each record has its own number after the key
"$gensort" --no-fsync 70000 noise || exit 1
head -c 2500000 noise >in.a && tail -c +2500001 noise | head -c 3900000 >in.b && tail -c 600000 noise >in.c && : >empty
for f in a b c; do "$hetsort" --no-fsync -o $f in.$f || exit 1; done
"$hetsort" --no-fsync -o wanted noise || exit 1
merges "three inputs" wanted a b c
merges "one thread" wanted --threads 1 a b c
merges "with an empty input" wanted a empty b c
merges "one input" a a
merges "no records" empty empty
merges "little memory" wanted --memory 3M a b c
merges "least memory" wanted --memory 1500K a b c
merges "direct I/O" wanted --direct always a b c
merges "read again" wanted --verify reread a b c
merges "with a pipe" wanted a - c < <(cat b)
run bash -c '"$1" -m -o - a b c | cmp - wanted' - "$hetsort"
is "to a pipe" "$rc $err" "0 "
{ printf header; cat a; } >h.a && { printf HEADER; cat b; } >h.b && { printf header; cat wanted; } >h.wanted
tail -c +7 h.wanted >h.records
"$hetsort" --no-fsync -m -o h.ab a b && { printf header; cat h.ab; } >h.wanted
merges "after headers" h.wanted --skip-header 6 h.a h.b
run "$hetsort" --no-fsync -m --report report -f -o out a b c
sum=$("$hetsort" -c --checksum out | sed -n 's/^checksum: //p')
ok "the report has the checksum of the input" grep -q "\"checksum\": \"$sum\"" report
ok "the report has --merge" grep -q '"merge": true' report

# --- other keys; equal ones keep the order of the inputs
"$hetsort" --no-fsync --record-size 20 --key 0,u8 --key 3,i16,desc -s -o wanted.20 noise
for i in 0 1 2 3; do
  tail -c +$((i * 1750000 + 1)) noise | head -c 1750000 >part
  "$hetsort" --no-fsync --record-size 20 --key 0,u8 --key 3,i16,desc -s -f -o k.$i part
done
merges "fields" wanted.20 --record-size 20 --key 0,u8 --key 3,i16,desc k.0 k.1 k.2 k.3
seq -f =%08.0f 3 >few && seq -f =%08.0f 50000 >x && seq -f =%08.0f 30001 90000 >y && cat x y >xy
merges "keys that are all equal" xy --record-size 10 --key 0,1 x y
merges "keys that are all equal, little memory" xy --record-size 10 --key 0,1 --memory 2M x y
for bytes in 1 2 3; do # shorter than an entry of the merge
  head -c 300000 noise | "$hetsort" --no-fsync --record-size $bytes --key 0,1 -s -f -o short.a -
  tail -c 600000 noise | "$hetsort" --no-fsync --record-size $bytes --key 0,1 -s -f -o short.b -
  { head -c 300000 noise; tail -c 600000 noise; } | "$hetsort" --no-fsync --record-size $bytes --key 0,1 -s -f -o wanted.short -
  merges "records of $bytes bytes, little memory" wanted.short --record-size $bytes --key 0,1 --memory 3M short.a short.b
done

# --- several ranks: each merges its share of the records of all inputs
for ranks in 2 3 7; do
  merges "$ranks ranks" wanted --ranks $ranks a empty b c
  merges "$ranks ranks, equal keys" xy --ranks $ranks --record-size 10 --key 0,1 x y
  merges "$ranks ranks, fields" wanted.20 --ranks $ranks --record-size 20 --key 0,u8 --key 3,i16,desc k.0 k.1 k.2 k.3
  rm -f p.*
  run "$hetsort" --no-fsync -m --ranks $ranks -o p.%r a b c
  ok "$ranks ranks, parts: as a stable sort" cmp <(for ((r = 0; r < ranks; r++)); do cat p.$r; done) wanted
  is "$ranks ranks, parts: equal shares" "$(($(wc -c <p.0) - $(wc -c <p.$((ranks - 1)))))" $((70000 % ranks ? 100 : 0))
  run "$hetsort" --check-manifest p.manifest
  is "$ranks ranks, parts: the manifest is right" "$rc/$err" 0/
  merges "$ranks ranks, a part for each" wanted --ranks $ranks p.%r
  for way in "-u --count 5,u32" "-u --top 99" "--top 30001" "--top 9 --count 8,u32be -u"; do
    # shellcheck disable=SC2086 # words of a command line
    "$hetsort" --no-fsync -m --record-size 20 --key 0,u8 --key 3,i16,desc $way -f -o one k.? || exit 1
    # shellcheck disable=SC2086
    merges "$ranks ranks, $way" one --ranks $ranks --record-size 20 --key 0,u8 --key 3,i16,desc $way k.?
  done
done
merges "more ranks than records" few --ranks 9 --record-size 10 --key 0,9 few
merges "two ranks without records" empty --ranks 2 empty
merges "after headers, three ranks" h.wanted --ranks 3 --skip-header 6 h.a h.b
merges "direct I/O, three ranks" wanted --ranks 3 --direct always a b c
merges "with a pipe, three ranks" wanted --ranks 3 a - c < <(cat b)
rm -f p.*
run "$hetsort" --no-fsync -m --ranks 3 --speeds 1,2,4 -o p.%r a b c
is "shares by speed" "$rc $(wc -c <p.0) $(wc -c <p.1) $(wc -c <p.2)" "0 1000000 2000000 4000000"

# --- many inputs, few open files
split -a 4 -d -b 1000 wanted many. && rm -f many.?[1-9]?? many.*[5-9]
set -- many.*
cat "$@" >wanted.many
ok "hundreds of them" test $# -gt 300
run bash -c 'ulimit -n 100; exec "$@"' - "$hetsort" --no-fsync -m -f -o out "$@"
is "more inputs than open files: status" "$rc $err" "0 "
ok "more inputs than open files: merged" cmp out wanted.many
run bash -c 'ulimit -n 200; exec "$@"' - "$hetsort" --no-fsync -m --ranks 7 -f -o out "$@"
is "more inputs than seven ranks may open: status" "$rc $err" "0 "
ok "more inputs than seven ranks may open: merged" cmp out wanted.many
seq -f =%08.0f 90000 >z && split -a 2 -n r/50 z lines. # each has every 50th, in order
run bash -c 'ulimit -n 80; exec "$@"' - "$hetsort" --no-fsync -m -f -o out --record-size 10 --key 1,8 lines.*
is "inputs that alternate: status" "$rc $err" "0 "
ok "inputs that alternate: merged" "$hetsort" --check --record-size 10 --key 1,8 out
is "inputs that alternate: complete" "$(cksum <out)" "$(cksum <z)"

split -a 4 -n r/1100 z lines. && rm lines.?? # more than one merge of entries accepts
run bash -c 'exec "$@"' - "$hetsort" --no-fsync -m -f -o out --record-size 10 --key 1,8 lines.*
is "1100 inputs: status" "$rc $err" "0 "
ok "1100 inputs: merged" "$hetsort" --check --record-size 10 --key 1,8 out
is "1100 inputs: complete" "$(cksum <out)" "$(cksum <z)"
cp lines.aabc swapped.lines && tail -c 20 lines.aabc | head -c 10 >>swapped.lines
refuses "one of 1100 inputs is not sorted" 2 \
  "input 'swapped.lines' is not sorted, as --merge requires: record $(wc -l <lines.aabc) belongs before" \
  --record-size 10 --key 1,8 lines.* swapped.lines

# --- many short inputs, of which most end within a piece; some are empty, and most keys occur more than once
mkdir short && for i in {1000..2999}; do
  for ((j = 0; j < i % 5; j++)); do printf '%02d=%06d\n' $((i * 7 % 50 + i % 13 * j)) $((i * 10 + j)); done >"short/$i"
done
cat short/* | LC_ALL=C sort -s -k1,1.2 >wanted.short
merges "2000 short inputs" wanted.short --record-size 10 --key 0,2 short/*
merges "2000 short inputs, little memory" wanted.short --record-size 10 --key 0,2 --memory 3M short/*
merges "2000 short inputs, three ranks" wanted.short --ranks 3 --record-size 10 --key 0,2 short/*
printf '99=000001\n01=000002\n' >short/swapped
refuses "one of 2000 short inputs is not sorted" 2 "input 'short/swapped' is not sorted, as --merge requires: record 1 belongs" \
  --record-size 10 --key 0,2 short/*

# --- memory is needed only for buffers, for inputs of any size
truncate -s 3000000000 big && truncate -s 4000000000 bigger
planned=$("$hetsort" --explain --merge --memory 2G -f -o out big bigger | sed -n 's/^rank 0: \([0-9]*\).* MB of memory.*/\1/p')
ok "7 GB take some MB (${planned:=0})" test "$planned" -gt 1 -a "$planned" -lt 200

# --- inputs that are not sorted: two records exchanged
swap() { # swap RECORD
  cp wanted swapped
  dd if=wanted of=swapped bs=100 skip="$1" seek=$(($1 + 1)) count=1 conv=notrunc status=none
  dd if=wanted of=swapped bs=100 skip=$(($1 + 1)) seek="$1" count=1 conv=notrunc status=none
}
for at in 0 654 655 656 40959 69998; do
  swap $at
  refuses "records $at and the next exchanged" 2 \
    "input 'swapped' is not sorted, as --merge requires: record $((at + 1)) belongs before its predecessor" a swapped c
done
for at in 30000 34999 35000; do # the cut of two equal ranks that merge only this file is at 35000
  swap $at
  refuses "two ranks, records $at and the next exchanged" 2 "record $((at + 1)) belongs before" --ranks 2 swapped
done
refuses "three ranks, not sorted at all" 2 "'noise' is not sorted" --ranks 3 noise a
tail -c 3500000 wanted >back && head -c 3500000 wanted >>back
refuses "four ranks, a half before the other" 2 "record 35000 belongs before" --ranks 4 back
swap 30000
refuses "exchanged, one thread, little memory" 2 "record 30001 belongs" --memory 3M --threads 1 swapped b
refuses "sorted by another key" 2 "is not sorted, as" --key 20,10 a b
refuses "not sorted at all" 2 "'noise' is not sorted" a noise

# --- options that cannot be combined, and invalid inputs
refuses "--plan=online" 2 "--plan=online cannot be combined with --merge" --plan online --ranks 2 a b
cp a lone.0 && cp b lone.1
refuses "several ranks, parts without a manifest" 2 "all ranks read each input, so a name with %r must be" --ranks 2 lone.%r
run bash -c '"$1" -m --ranks 2 -o - a b | wc -c' - "$hetsort"
is "several ranks, to a pipe" "$out $(grep -c 'a stream needs a single rank, not 2' <<<"$err")" "0 1"
refuses "--workdir" 2 "--workdir cannot be combined with --merge" --workdir w --resume a b
refuses "--strategy" 2 "--strategy cannot be combined with --merge" --strategy distribute a b
refuses "--source" 2 "--source cannot be combined with --merge" --source root a b
refuses "too little memory" 4 "not enough memory for 70000 records of 100 bytes (--memory: 100 KiB); use --memory=" --memory 100K a b c
refuses "an input twice" 2 "is the same file as input" a b a
head -c 150 a >part
refuses "an input with a part of a record" 2 "not a multiple of the record size" a part
done_testing
