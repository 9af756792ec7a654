#!/usr/bin/env bash
# Keys of fields from the command line: the examples of the manual, judged by sort(1) over od(1); several ranks,
# memory less than data; manifests, --check-manifest, --resume, and what reports say of keys.
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
is "examples with keys in the manual" "$(wc -l <examples)" 2
cp noise data.txt
while read -r line; do
  # shellcheck disable=SC2086 # words of a command line
  run "$hetsort" -f -s $line
  is "example: $line" "$rc $err" "0 "
done <examples
is "example: pairs are in order" "$(pairs sorted.bin)" "$(pairs pairs.bin | LC_ALL=C sort -s -k1,1nr -k2,2g)"

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
run "$hetsort" --record-size 16 --key 0,u64 -o again part.manifest
is "a manifest as input" "$rc $err" "0 "

# --- a sort that goes on
run env HETSORT_FAIL='kill@merge:0' "$BIN/failpoints/hetsort" --record-size 16 --key 8,i64 --workdir work -o late lines.bin
ok "a job was killed" test "$rc" -ne 0
run "$hetsort" --record-size 16 --key 8,i64,desc --workdir work --resume -o late lines.bin
is "--resume with another direction" "$rc" 2
case $err in
  *"with the key '8,8,i64"*", not of 16 with '8,8,i64"*",desc'"*) ok "--resume: both keys are told" true ;;
  *) is "--resume: both keys are told" "$err" "the keys" ;;
esac
run "$hetsort" --record-size 16 --key 8,i64 --workdir work --resume -o late lines.bin
is "--resume with the same key" "$rc $err" "0 "
decode late d8 16 | cut -d' ' -f2 | sort -nr -c -
is "--resume: the other way round" "$?" 1
decode late d8 16 | cut -d' ' -f2 >got
ok "--resume: in order" cmp got <(sort -n got)

# --- what is told
run "$hetsort" -v --record-size 16 --key 8,f32be --key 0,4,desc --report report -o told lines.bin
ok "-v: the key" grep -q "records of 16 bytes .*, key 8,4,f32be 0,4,desc" <<<"$err"
ok "report: the key" grep -q '"key": "8,4,f32be 0,4,desc"' report
done_testing
