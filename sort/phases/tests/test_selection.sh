#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# --unique, --count, --sum, --min, --max, --top and --partition-only as users apply them: parts, streams, typed keys, reports, and jobs that are
# killed and resumed; contradictions are refused. test_selection.c draws ways to sort.
# shellcheck disable=SC2002,SC2016,SC2086  # pipes are meant; inner shells expand; ways are several words
set -u
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
hetsort=$BIN/hetsort failing=$BIN/failpoints/hetsort
# 20000 lines of 16 bytes: a key of 3 digits, a number, and room for a count
awk 'BEGIN { for (i = 0; i < 20000; i++) printf "%03d %06d ....\n", (i * i + 7) % 701, i }' >in
LC_ALL=C sort -s -k1,1 in >all
awk '!seen[$1]++' all >unique
head -n 100 unique >top
keys=$(wc -l <unique)
lay="--record-size 16 --key 0,3"
sort_() { run "$hetsort" --no-fsync $lay "$@"; }
is_as() { is "$1" "$rc/$err/$(cmp "$3" "$2" 2>&1)" 0//; }
number() { sed -n "s/^ *\"$1\": \([0-9]*\).*/\1/p" report | awk '{ n += $1 } END { print n }'; }

for way in "" "--ranks 3" "--ranks 4 --strategy distribute" "--ranks 3 --source root" "--ranks 2 --verify reread" "--ranks 3 --adapt"; do
  sort_ $way -u --report report -f -o out in
  is_as "-u ${way:-one rank}" unique out
  is "-u ${way:-one rank}: the report adds up" \
    "$(number records_written)/$(number records_dropped)/$(number dropped)" "$keys/$((20000 - keys))/$((20000 - keys))"
  sort_ $way --unique --top 100 -f -o out in
  is_as "-u --top ${way:-one rank}" top out
  sort_ $way --top 12345 -f -o out in
  is "--top ${way:-one rank}" "$rc/$err/$(head -n 12345 all | cmp - out)" 0//
done
sort_ --ranks 3 -u -o part.%r in
is "parts: -u" "$rc/$(cat part.[0-2] | cmp - unique)" 0/
run "$hetsort" --check-manifest part.manifest
is "parts: the manifest is right" "$rc/$err" 0/
sort_ --ranks 3 --top 7 -f -o part.%r in
is "parts: --top, the last one has none" "$rc/$(cat part.0 part.1 | cmp - <(head -n 7 all))/$(cat part.2)" 0//
sort_ --ranks 3 --top 9999 --report report -f -o part.%r in
is "parts: --top of half of them" "$rc/$(cat part.[0-2] | cmp - <(head -n 9999 all))/$(wc -c <part.2)" 0//0
is "parts: --top: no record is sent that is not written" "$(($(number sent) <= 9999 * 16))/$(number records_dropped)" 1/10001
sort_ --ranks 3 --speeds 1,3,2 --top 8000 -f -o part.%r in
is "parts: --top by speed" "$rc/$(cat part.[0-2] | cmp - <(head -n 8000 all))/$(($(wc -c <part.0) / 16))" 0//2000
sort_ --ranks 2 --top 10000 --workdir . -f -o out in
is "--top of half of them, two equal ranks, runs on disk" "$rc/$(cmp out <(head -n 10000 all))" 0/
cat in | "$hetsort" $lay -u >out
is "in a pipe" "$(cmp out unique 2>&1)" ""
for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do cat in; done | "$hetsort" $lay -u --top 100 --memory 4M --tmpdir . >out
is "in a pipe, more than memory holds" "$(cmp out top 2>&1)" ""
"$hetsort" $lay -u --report report -v -f -o out in 2>said
is "-v says it" "$(grep -c "^$keys records written, $((20000 - keys)) dropped$" said)/$(grep -c 'input = output and dropped$' said)" 1/1
: >none
sort_ -u -f -o out none
is_as "of nothing" none out
sort_ --ranks 3 -u --top 5 -f -o out none
is_as "of nothing, three ranks" none out
{ echo header; cat in; } >headed && { echo header; cat unique; } >headed.unique
sort_ --ranks 3 --skip-header 7 -u -f -o out headed
is_as "after a header" headed.unique out

# --- counts: a u8 and a float as the key, both byte orders, descending
printf '\1\0\0\200?zzzzzzzz\2\0\0\200?zzzzzzzz\1\0\0\200?yyyyyyyy' >typed
run "$hetsort" --record-size 13 --key 1,f32le --key 0,u8,desc -u --count 5,u64be -f -o out typed
is "a count of 64 bits" "$rc/$(od -A n -t x1 out | tr -d ' \n')" 0/020000803f0000000000000001010000803f0000000000000002
run "$hetsort" --record-size 13 --key 0,u8 -u --count 7,u32le -f -o out typed
is "a count of 32 bits" "$rc/$(od -A n -t x1 out | tr -d ' \n')" 0/010000803f7a7a020000007a7a020000803f7a7a010000007a7a

# --- partitioned, not sorted inside
LC_ALL=C sort in >by_bytes
is_partitioned() { # is_partitioned NAME RANKS FILE... - parts of equal size, each with its range of keys, and all records
  local name=$1 ranks=$2 r; shift 2
  cat "$@" >parts
  for r in $(seq 0 $((ranks - 1))); do
    head -c $(((20000 * (r + 1) / ranks) * 16)) parts | tail -c +$(((20000 * r / ranks) * 16 + 1)) | cut -c1-3 | LC_ALL=C sort
  done | cmp - <(cut -c1-3 all) >differs 2>&1
  is "$name" "$rc/$err/$(cat differs)/$(LC_ALL=C sort parts | cmp - by_bytes 2>&1)" 0///
}
for way in "--ranks 4" "--ranks 2 --source root" "--ranks 4 --verify reread" "--ranks 4 --strategy distribute --exchange-threads 0"; do
  sort_ $way --partition-only -f -o out in
  ranks=${way#--ranks } ranks=${ranks%% *}
  is_partitioned "--partition-only $way" "$ranks" out
  ok "--partition-only $way: it is not sorted" bash -c '! cmp -s out all'
done
sort_ --ranks 4 --partition-only -f -o part.%r in
is_partitioned "--partition-only: parts" 4 part.0 part.1 part.2 part.3
run "$hetsort" --check-manifest part.manifest
is "--partition-only: the manifest is right" "$rc/$err" 0/
ok "and it says that they are not sorted" grep -q '"sorted_inside": false' part.manifest
sed 's/"sorted_inside": false,//' part.manifest >sorted.manifest
run "$hetsort" --check-manifest sorted.manifest
is "without that word they are wrong" "$rc" 1
cp part.0 kept && cp part.1 part.0 && cp kept part.1
run "$hetsort" --check-manifest part.manifest
is "parts exchanged are found" "$rc" 1
sort_ --partition-only -f -o out in
is_as "--partition-only: a single rank sorts" all out
for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do cat in in in in; done >many
sort_ --ranks 3 --memory 24M --tmpdir . --partition-only --report report -f -o out many
is "--partition-only, more than memory holds" "$rc/$err/$(LC_ALL=C sort out | cmp - <(LC_ALL=C sort many) 2>&1)" 0//
ok "and it has spilled" test "$(number spill_runs)" -gt 0

# --- refused
refused() { # refused WORDS ARGUMENT...
  local words=$1; shift
  run "$hetsort" $lay "$@" -o new in
  is "refused: $*" "$rc/$(ls new 2>/dev/null)" 2/
  case $err in *"$words"*) ok "refused: $*: message" true ;; *) is "refused: $*: message" "$err" "...$words..." ;; esac
}
refused "--count requires --unique" --count 8,u32
refused "--count: bytes 2 to 5 are part of the key" -u --count 2,u32
refused "--count: bytes 12 to 19 do not fit a record of 16 bytes" -u --count 12,u64
refused "must be OFFSET,u32 or OFFSET,u64" -u --count 8,u16
refused "must be OFFSET,u32 or OFFSET,u64" -u --count 8,f32
refused "must be OFFSET,u32 or OFFSET,u64" -u --count 5
refused "--sum requires --unique" --sum 8,u32
refused "--max: bytes 10 to 11 are also used by --min" -u --min 8,u32 --max 10,u16
refused "only integers are added: the sum of floats depends on their order" -u --sum 8,f64
refused "must be OFFSET,TYPE with a type such as u32" -u --sum 8,4
refused "must be a whole number from 1 to 9223372036854775807" --top 0
refused "--unique cannot be combined with --partition-only" --partition-only -u
refused "--top cannot be combined with --partition-only" --partition-only --top 3
refused "--workdir cannot be combined with --partition-only" --partition-only --workdir store
refused "--partition-only requires --strategy=distribute" --partition-only --strategy merge
refused "--unique cannot be combined with --scatter=dynamic, which does not keep the order" \
  --ranks 3 --source root --scatter dynamic -u
rm -f out
sort_ -u -o out in
run "$hetsort" $lay -u --workdir store --resume -o out in
is "an existing output is not known to be this one" "$rc" 2
case $err in *"(it may not have the records of --unique or --top)") ok "and it says so" true ;; *) is "message" "$err" ... ;; esac

# --- resuming
for ranks in 1 3; do
  for point in checkpoint:0 write:0 commit:0; do
    rm -rf store out
    run env HETSORT_FAIL=kill@$point "$failing" $lay --ranks $ranks -u --workdir store -o out in
    is "$ranks ranks, killed in $point" "$rc" 137
    run "$hetsort" $lay --ranks $ranks --top 3 --workdir store --resume -o out in
    case $err in *"belongs to a sort with '--unique', not with '--top=3'"*) ok "$ranks ranks, $point: another choice is refused" true ;;
      *) is "$ranks ranks, $point: another choice is refused" "$err" ... ;; esac
    sort_ --ranks $ranks -u --workdir store --resume -o out in
    is_as "$ranks ranks, killed in $point: resumed" unique out
  done
done
# --- sums: each byte of the field is so small that it has no carry, so that awk can add bytes
export LC_ALL=C
awk 'BEGIN { for (i = 0; i < 20000; i++) printf "%03d%c%c%c%c\n", (i * i + 7) % 701, 1 + i % 4, 1 + i % 3, 1, 1 + i % 3 }' >bytes
head -c 80000 bytes >bytes.0 && tail -c +80001 bytes >bytes.1
adding='{ k = substr($0, 1, 3); if (!(k in n)) key[keys++] = k; n[k]++
  for (c = 0; c < 4; c++) sum[k, c] += index(all, substr($0, 4 + c, 1)) }
  END { for (i = 0; i < keys; i++) { k = key[i]; printf "%s%c%c%c%c\n", k, sum[k, 0], sum[k, 1], sum[k, 2], sum[k, 3] } }'
sort -s -k1.1,1.3 bytes | awk "BEGIN { for (i = 1; i < 9; i++) all = all sprintf(\"%c\", i) } $adding" >added
adds="--record-size 8 --key 0,3 --unique --sum 3,u32be"
added() { # added NAME FILE... - the files together are the expected sums
  local name=$1; shift
  is "$name" "$rc/$err/$(cat "$@" | cmp - added 2>&1)" 0//
}
for way in "" "--ranks 3" "--ranks 4 --strategy distribute" "--ranks 3 --source root" "--workdir ." "--ranks 3 --workdir ." "--verify reread"; do
  run "$hetsort" $adds $way -f -o out bytes
  added "--sum ${way:-one rank}" out
done
run "$hetsort" $adds --ranks 2 -f -o part.%r bytes.%r
added "--sum, a file for each rank" part.0 part.1
run "$hetsort" --check-manifest part.manifest
is "--sum: the manifest is right" "$rc/$err" 0/
cat bytes | "$hetsort" $adds >out
rc=$? err=''
added "--sum in a pipe" out
run "$hetsort" $adds -f -o one bytes.0 && run "$hetsort" $adds -f -o two bytes.1
for ranks in 1 3; do
  run "$hetsort" $adds --merge --ranks $ranks -f -o out one two
  added "sums merged on $ranks" out
done
{ printf head; cat bytes; printf end; } >framed
run "$hetsort" $adds --ranks 3 --skip-header 4 --skip-trailer 3 -f -o out framed
is "--sum between header and trailer" "$rc/$err/$( (printf head; cat added; printf end) | cmp - out 2>&1)" 0//
head -n 50 added >top.added
for way in "" "--ranks 3" "--ranks 3 --workdir ."; do
  run "$hetsort" $adds --top 50 $way -f -o out bytes
  is "--sum --top ${way:-one rank}" "$rc/$err/$(cmp out top.added 2>&1)" 0//
done
for way in "" "--ranks 3" "--workdir ." "--top 1"; do
  run "$hetsort" --record-size 8 --key 0,3 --unique --sum 7,u8 $way -o new bytes
  is "--sum does not fit, ${way:-one rank}" "$rc/$(ls new 2>/dev/null)" 1/
  ok "--sum does not fit, ${way:-one rank}: the key" grep -q -e '--sum=7,u8: the sum of the records with the key 30[0-9]* does not fit the field' <<<"$err"
done
run "$hetsort" $adds --min 0,u8 -o new bytes
is "a field of the key" "$rc ${err%%$'\n'*}" "2 hetsort: --min: bytes 0 to 0 are part of the key"
for ranks in 1 3; do
  for point in checkpoint:0 write:0 commit:0; do
    rm -rf store out
    run env HETSORT_FAIL=kill@$point "$failing" $adds --ranks $ranks --workdir store -o out bytes
    is "--sum, $ranks ranks, killed in $point" "$rc" 137
    run "$hetsort" $adds --ranks $ranks --workdir store --resume -o out bytes
    added "--sum, $ranks ranks, killed in $point: resumed" out
  done
done
is "nothing is left" "$(find . -name '.hetsort-*' -o -path './store/*')" ""

# --- records lost in addition to the dropped ones
for ranks in 1 3; do
  rm -f out
  run env HETSORT_FAIL=flip@write:1 "$failing" $lay --ranks $ranks -u -o out in
  ok "a bit that flips in a record that is written, $ranks ranks" test "$rc" -ne 0 -a ! -e out
done
# nine of ten keys are equal: their rank is sent 27 MB, and key 0, which neither memory with its own records nor the disk can take any more
awk 'BEGIN { for (i = 0; i < 300000; i++) printf "%010d%89s\n", i % 10 ? 5 : i, i }' >giant
giant="--threads 1 --ranks 3 --memory 100M --no-fsync -u -f -o out giant"
run "$hetsort" --strategy distribute $giant
is "distribute -u, all records of a key beyond memory: refused" "$rc/${err##*records of its keys, }" \
  "4/270001, but memory does not hold them; use --strategy=merge, which needs less"
run "$hetsort" --strategy merge $giant
is "merge -u, the same" "$rc/$err/$(sort -us -k1.1,1.10 giant | cmp - out)" 0//
done_testing
