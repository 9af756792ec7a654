#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Keys of fields from the command line: the examples of the manual, judged by sort(1) over od(1); several ranks,
# memory less than data; manifests, --check-manifest, --resume, and keys in reports.
set -u
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
hetsort=$BIN/hetsort gensort=$BIN/gensort

"$gensort" --no-fsync -a 400 text && "$gensort" --no-fsync 4000 noise || exit 1
head -c 320000 noise >pairs.bin # no NaN is among them
head -c 80000 noise >lines.bin

decode() { # decode FILE TYPE WIDTH - each WIDTH bytes as numbers of that type of od
  od -An -v -t"$2" -w"$3" "$1" | tr -s ' ' | sed 's/^ //'
}
pairs() { # pairs FILE - the count and the double of each record
  paste -d' ' <(decode "$1" u8 16 | cut -d' ' -f2) <(decode "$1" f8 16 | cut -d' ' -f1)
}

# --- the manual's examples
grep '^\.Dl hetsort.*--key' "$ROOT/sort/man/hetsort.1" | sed 's/^\.Dl hetsort //' >examples
is "examples with keys in the manual" "$(wc -l <examples)" 4
cp noise data.txt
cp lines.bin a.bin
head -c 8000 pairs.bin | "$hetsort" --record-size 16 --key 0,f64 >one.bin
tail -c 8000 pairs.bin | "$hetsort" --record-size 16 --key 0,f64 >two.bin
while read -r line; do
  # shellcheck disable=SC2086 # words of a command line
  run "$hetsort" -f -s $line
  is "example: $line" "$rc $err" "0 "
done <examples
is "example: pairs are in order" "$(pairs sorted.bin)" "$(pairs pairs.bin | LC_ALL=C sort -s -k1,1nr -k2,2g)"

is "example: merged doubles" "$(decode all.bin f8 16 | cut -d' ' -f1 | LC_ALL=C sort -cg && wc -c <all.bin)" 16000

is "example: the order of numbers" "$(decode order u8 8 | sort -n | tail -n 1) $(wc -c <order)" "9999 80000"
run "$hetsort" --record-size=8 --apply=order -o a.sorted a.bin
is "example: the order is applied" "$rc $(decode a.sorted u8 8 | sort -nc 2>&1)" "0 "

# --- one number, and all ways to sort it
decode lines.bin d8 16 | cut -d' ' -f2 | sort -n >wanted
sorts() { # sorts NAME OPTION... - records of 16 bytes, by the signed number at 8
  local name=$1; shift
  rm -f out
  run "$hetsort" --record-size 16 --key 8,i64 -o out "$@" lines.bin
  is "$name: status" "$rc $err" "0 "
  decode out d8 16 | cut -d' ' -f2 >got
  ok "$name: in order" cmp got wanted
}
sorts "one rank"
sorts "three ranks" --ranks 3
sorts "distributed" --ranks 3 --strategy distribute
sorts "scattered" --ranks 3 --source root
sorts "on disk" --memory 3M
sorts "ranks on disk" --ranks 2 --memory 8M
sorts "emulated" --ranks 2 --emulate 3 --speeds 1,2
sort -nr wanted -o wanted
sorts "reversed" --ranks 2 -r

# --- manifests
run "$hetsort" --record-size 16 --key 8,i64be,desc --key 0,u8 --ranks 3 -o part.%r lines.bin
is "parts" "$rc $err" "0 "
ok "manifest: the fields" grep -q '"key": "8,8,i64be,desc 0,1"' part.manifest
run "$hetsort" -v --check-manifest part.manifest
is "--check-manifest" "$rc" 0
first=$(od -An -v -tx1 -N16 part.0 | tr -d ' \n') # normal form: the sign turned, then all bits
sign=$(printf '%02x' $((0x${first:16:2} ^ 0x7f)))
ok "manifest: the first key is the normal form" grep -q "\"first_key\": \"$sign" part.manifest
sed 's/i64be,desc/i64be/' part.manifest >other.manifest
run "$hetsort" --check-manifest other.manifest
is "--check-manifest: of another order" "$rc" 1
sed 's/8,8,i64be,desc 0,1/8,8,i64be,desc 16,1/' part.manifest >other.manifest
run "$hetsort" --check-manifest other.manifest
is "--check-manifest: a field outside of the record" "$rc" 2
values() { # values KEY - print the values of the first and the last key of two records of 16 bytes from a manifest
  rm -f v v.json
  "$hetsort" --record-size 16 --key "${1%;*}" --key "${1#*;}" --manifest v.json -o v two || return
  tr -d '\n ' <v.json | sed 's/.*"first_values":\(.*\),"last_values":\([^}]*\).*/\1\2/'
}
printf '\0\0\0\0\0\0\xf8\xbf\xff\xff\x80\x01\0\0\x80\x3f''\0\0\0\0\0\0\xf8\xff\0\x01\x7f\xfe\xcd\xcc\x4c\xbe' >two # -1.5 and -NaN
is "values: doubles" "$(values '0,f64le;8,2,desc')" '["-nan","0001"]["-1.5","ffff"]'
is "values: descending" "$(values '0,f64le,desc;10,i8,desc')" '["-1.5","-128"]["-nan","127"]'
is "values: the last of nan-last is NaN" "$(values '0,f64le,nan-last;8,2,desc')" '["-1.5","ffff"]["nan","0001"]'
is "values: also in descending order" "$(values '0,f64le,nan-last,desc;8,1')" '["-1.5","ff"]["nan","00"]'
is "values: f16" "$(values '8,f16be,nan-last;10,i16le,nan-last')" '["5.9605e-08","-385"]["nan","384"]'
is "values: a real part that is NaN" "$(values '4,c64le,nan-last;0,1')" \
  '["-1.9375","4.73871104e-38","00"]["nan","-8.47395828e+37","00"]'
is "values: an imaginary one" "$(values '0,c64le,nan-last,desc;0,1')" '["0","-1.9375","00"]["0","nan","00"]'
is "values: short ones" "$(values '12,f32le;10,i16be')" '["-0.200000003","32766"]["1","-32767"]'
is "values: without a sign" "$(values '0,u64le,desc;8,u16le')" '["18444492273895866368","256"]["13832806255468478464","65535"]'
is "values: a double's digits" "$(printf '\x9a\x99\x99\x99\x99\x99\xb9\x3f%8s' x >two; values '0,f64le;8,1')" \
  '["0.10000000000000001","20"]["0.10000000000000001","20"]'
run "$hetsort" --check-manifest v.json
is "values: --check-manifest" "$rc/$err" 0/
awk '/0\.1/ && !n++ {sub(/0\.1[0-9]*/, "0.1")} {print}' v.json >v2.json
run "$hetsort" --check-manifest v2.json
is "values: a difference is noticed" "$rc ${err##*have}" "1  the first key that its values state"
"$hetsort" --record-size 16 --key 0,u64be --manifest plain.json -o plain two
is "values: none of bytes" "$(grep -c values plain.json)" 0
run "$hetsort" --record-size 16 --key 0,u64 -o again part.manifest
is "a manifest as input" "$rc $err" "0 "

# --- a sort that is resumed
run env HETSORT_FAIL='kill@merge:0' "$BIN/failpoints/hetsort" --record-size 16 --key 8,f64,nan-last --workdir work -o late lines.bin
run "$hetsort" --record-size 16 --key 8,f64 --workdir work --resume -o late lines.bin
is "--resume: nan-last is another order" "$rc $(grep -c "with the key '8,8,f64.*nan-last', not of 16 with '8,8,f64" <<<"$err")" "2 1"
run "$hetsort" --record-size 16 --key 8,f64,nan-last --workdir work --resume -o late lines.bin
is "--resume: the same order" "$rc $err" "0 "
rm -rf late work
run env HETSORT_FAIL='kill@merge:0' "$BIN/failpoints/hetsort" --record-size 16 --key 8,i64 --workdir work -o late lines.bin
ok "a job was killed" test "$rc" -ne 0
run "$hetsort" --record-size 16 --key 8,i64,desc --workdir work --resume -o late lines.bin
is "--resume with another direction" "$rc" 2
case $err in
  *"with the key '8,8,i64"*", not of 16 with '8,8,i64"*",desc'"*) ok "--resume: both keys are printed" true ;;
  *) is "--resume: both keys are printed" "$err" "the keys" ;;
esac
run "$hetsort" --record-size 16 --key 8,i64 --workdir work --resume -o late lines.bin
is "--resume with the same key" "$rc $err" "0 "
decode late d8 16 | cut -d' ' -f2 | sort -nr -c -
is "--resume: the other way round" "$?" 1
decode late d8 16 | cut -d' ' -f2 >got
ok "--resume: in order" cmp got <(sort -n got)

# --- reports
run "$hetsort" -v --record-size 16 --key 8,f32be --key 0,4,desc --report report -o said lines.bin
ok "-v: the key" grep -q "records of 16 bytes .*, key 8,4,f32be 0,4,desc" <<<"$err"
ok "report: the key" grep -q '"key": "8,4,f32be 0,4,desc"' report
done_testing
