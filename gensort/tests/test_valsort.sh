#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# valsort's exact messages and exit status for every kind of input, and its command line.
# Formats are computed on purpose, and a file is read repeatedly.
# shellcheck disable=SC2059,SC2094
# shellcheck source=scripts/tap.sh
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
valsort=$BIN/valsort gensort=$BIN/gensort
"${CC:-cc}" -O2 -o keysort "$ROOT/gensort/tests/keysort.c" || exit 1

rec() { # rec KEY BODY - print a record: a key of ten bytes, and a body that repeats one character
  printf '%-10s' "$1"
  head -c 90 /dev/zero | tr '\0' "${2:-.}"
}
sum() { # sum FILE - print its checksum, computed by zlib and read from the trailer that gzip writes
  local total=0 n; n=$(($(stat -c %s "$1") / 100))
  for ((i = 0; i < n; i++)); do
    crc=$(tail -c +$((100 * i + 1)) "$1" | head -c 100 | gzip -c | tail -c 8 | head -c 4 |
      od -An -v -tx1 | awk '{print $4 $3 $2 $1}')
    total=$((total + 16#$crc))
  done
  printf '%x' $total
}
says() { # says NAME EXIT TEXT ARGUMENT... - check the stderr, stdout and exit status of valsort
  local name=$1 want="$2//$3"; shift 3
  run "$valsort" "$@"
  is "$name" "$rc/$out/$err" "$want"
}
good() { printf 'Records: %s\nChecksum: %s\nDuplicate keys: %s\nSUCCESS - all records are in order' "$@"; }
bad() { # bad FIRST RECORDS CHECKSUM UNORDERED
  printf 'First unordered record is record %s\nRecords: %s\nChecksum: %s\nERROR - there are %s unordered records' "$@"
}
none='there must be at least one record to be validated'
partial='partial record found at end'

{ rec a; rec b; rec c; } >sorted
{ rec b; rec a; rec c; rec b; } >unsorted
{ rec a x; rec a y; rec a z; rec b; rec b; } >twins
{ rec a; rec b; printf 'partial'; } >torn
{ rec b; rec a; printf 'partial'; } >torn-unsorted
rec a >single
: >empty
printf 'x' >crumb
mkdir directory

for t in 1 2 3; do
  says "sorted, $t threads" 0 "$(good 3 "$(sum sorted)" 0)" -t$t sorted
  says "unsorted, $t threads" 1 "$(bad 1 4 "$(sum unsorted)" 2)" -t$t unsorted
  says "a run of k equal keys is k-1 duplicates, $t threads" 0 "$(good 5 "$(sum twins)" 3)" -t$t twins
  says "one record, $t threads" 0 "$(good 1 "$(sum single)" 0)" -t$t single
  says "empty, $t threads" 1 "$none" -t$t empty
  says "partial record, $t threads" 1 "$partial" -t$t torn
  says "unsorted and partial, $t threads" 1 "First unordered record is record 1
$partial" -t$t torn-unsorted
  says "one byte, $t threads" 1 "$partial" -t$t crumb
done
says 'quiet, sorted' 0 '' -q sorted
says 'quiet, unsorted' 1 '' -q unsorted
says 'quiet, duplicates' 0 '' -q twins
says 'quiet does not hide: empty' 1 "$none" -q empty
says 'quiet does not hide: partial' 1 "$partial" -q torn-unsorted
says 'quiet does not hide: missing' 1 'missing: No such file or directory' -q missing
says 'missing' 1 'missing: No such file or directory' missing
says 'missing, with a control character' 1 'x\x1b\x0ay: No such file or directory' $'x\e\ny'
says 'below a file' 1 'single/x: Not a directory' single/x
says 'a directory reads as empty' 1 "$none" directory
says '/dev/null' 1 "$none" /dev/null
if [ "$(id -u)" -ne 0 ]; then
  cp sorted secret; chmod 0 secret
  says 'unreadable' 1 'secret: Permission denied' secret
fi

# Keys compare as unsigned bytes, all ten of them and no more.
byte() { printf "\\$1"; printf 000000000; head -c 90 /dev/zero; } # a key that starts with \OCTAL
{ byte 000; byte 177; byte 200; byte 377; } >high
is 'the high keys are four records' "$(stat -c %s high)" 400
says 'unsigned bytes' 0 "$(good 4 "$(sum high)" 0)" high
{ rec aaaaaaaaab; rec aaaaaaaaaa; } >tenth
says 'the tenth byte counts' 1 "$(bad 1 2 "$(sum tenth)" 1)" tenth
{ rec aaaaaaaaaa b; rec aaaaaaaaaa a; } >eleventh
says 'the eleventh does not' 0 "$(good 2 "$(sum eleventh)" 1)" eleventh

# Case is ignored in the key, and only there.
{ rec a x; rec B y; rec c z; } >cases
says 'case counts' 1 "$(bad 1 3 "$(sum cases)" 1)" cases
says 'unless -i' 0 "$(good 3 "$(sum cases)" 0)" -i cases
{ rec aB x; rec Ab a; rec AB z; } >same
says '-i: keys that differ only in case are duplicates, for any body' 0 "$(good 3 "$(sum same)" 2)" -i same
says '-i on summaries folds the border keys too' 0 "$(good 3 "$(sum cases)" 0)" -i -s \
  <(for i in 0 1 2; do tail -c +$((100 * i + 1)) cases | head -c 100 >p; "$valsort" -qo p.sum p; cat p.sum; done)

# Streams.
says 'standard input as -' 0 "$(good 3 "$(sum sorted)" 0)" - <sorted
says 'standard input as /dev/stdin' 0 "$(good 3 "$(sum sorted)" 0)" /dev/stdin <sorted
run "$valsort" - < <(cat sorted)
is 'a pipe' "$rc/$err" "0/$(good 3 "$(sum sorted)" 0)"
run "$valsort" - < <(printf '')
is 'an empty pipe does not hang' "$rc/$err" "1/$none"
run "$valsort" - < <(cat torn)
is 'a partial record in a pipe' "$rc/$err" "1/$partial"
{ read -r -N 100 _; run "$valsort" -; } < <(cat sorted)
is 'a pipe that was read from already' "$rc/${err%%$'\n'*}" "0/Records: 2"
exec 3<sorted; dd bs=100 count=1 <&3 >/dev/null 2>&1
run "$valsort" - <&3; exec 3<&-
is 'a file that was read from already' "$rc/${err%%$'\n'*}" "0/Records: 2"

# Unordered records, duplicates and partial records at every block border of a large file.
"$gensort" --no-fsync 20000 - | ./keysort >many
c=$("$gensort" -c 20000 /dev/null 2>&1)
for at in 1 4095 4096 4097 8191 8192 12288 19999; do
  { head -c $((at * 100)) many; head -c 100 many; tail -c +$((at * 100 + 101)) many; } >disordered
  for t in 1 2 7; do
    run "$valsort" -t$t disordered
    if [ $at -eq 1 ]; then
      is "a copy of the first record as record $at, $t threads" "$rc $(grep -c 'Duplicate keys: 1$' <<<"$err")" "0 1"
    else
      is "record $at out of order, $t threads" "$rc ${err%%$'\n'*} ${err##*$'\n'}" \
        "1 First unordered record is record $at ERROR - there are 1 unordered records"
    fi
  done
done
for size in 4095 4096 4097 8192; do
  { head -c $((size * 100)) many; } >piece
  says "$size records" 0 "$(good $size "$("$valsort" -t1 - <piece 2>&1 | sed -n 's/^Checksum: //p')" 0)" -t3 piece
  printf x >>piece
  says "$size records and a byte" 1 "$partial" -t3 piece
done
says 'all of them' 0 "$(good 20000 "$c" 0)" many

# Summaries.
says '-o' 0 "$(good 5 "$(sum twins)" 3)" -o twins.sum twins
is 'is 280 bytes' "$(stat -c %s twins.sum)" 280
says '-s of one summary' 0 "$(good 5 "$(sum twins)" 3)" -s twins.sum
says '-o of an unsorted file' 1 "$(bad 1 4 "$(sum unsorted)" 2)" -o unsorted.sum unsorted
says '-s of it' 1 "$(bad 1 4 "$(sum unsorted)" 2)" -s unsorted.sum
says '-s -q of it' 1 '' -s -q unsorted.sum
{ head -c 32 twins.sum; head -c 16 /dev/zero; tail -c +49 twins.sum; } >none.sum
says 'a checksum of no records' 1 'impossible partition summary found' -s none.sum
says 'the same between good summaries' 1 'impossible partition summary found' -s <(cat twins.sum none.sum twins.sum)
{ head -c 32 unsorted.sum; printf '\377%.0s' {1..16}; tail -c +49 unsorted.sum; } >all.sum
says 'more records than 2^128' 1 'First unordered record is record 1
impossible partition summary found' -s <(cat all.sum twins.sum)
{ cat unsorted.sum; printf x; } >torn.sum
says 'a partial summary' 1 "First unordered record is record 1
partial partition summary found at end" -s torn.sum
says 'a summary cut short' 1 'partial partition summary found at end' -s single
says 'no summaries' 1 "$none" -s empty
says 'missing summaries' 1 'missing: No such file or directory' -s missing
for input in empty torn missing directory; do
  cp twins.sum old.sum
  run "$valsort" -o old.sum $input
  is "a fatal error leaves an empty summary: $input" "$rc $(stat -c %s old.sum)" "1 0"
done
says '-o to a directory' 1 'directory: Is a directory' -o directory sorted
says '-o in a missing directory' 1 'no/where: No such file or directory' -o no/where sorted
cp sorted precious
says '-o over the input is refused' 1 "valsort: summary file is the input './precious'" -o ./precious precious
ok 'and the input is untouched' cmp -s sorted precious
says '-o to a full device' 1 "$(good 3 "$(sum sorted)" 0)
valsort: cannot write '/dev/full': No space left on device" -o /dev/full sorted
says '-o /dev/null' 0 "$(good 3 "$(sum sorted)" 0)" -o /dev/null sorted

# Any grouping of parts, including empty ones, has the summary of the whole.
group() { # group NAME FILE SIZE... - summarise parts of SIZE records, and join the summaries
  local name=$1 file=$2 at=0 n; shift 2
  : >all.sum
  for n in "$@"; do
    tail -c +$((at * 100 + 1)) "$file" | head -c $((n * 100)) >part
    "$valsort" -qo part.sum part 2>/dev/null
    cat part.sum >>all.sum
    at=$((at + n))
  done
  "$valsort" -qso joined.sum all.sum
  "$valsort" -qo whole.sum "$file"
  run cmp joined.sum whole.sum
  is "$name" "$rc $at" "0 $(($(stat -c %s "$file") / 100))"
}
"$gensort" -as -b1000000000000 20000 - >ragged
for file in many ragged disordered; do
  group "$file in two" $file 10000 10000
  group "$file with empty parts" $file 0 1 0 9999 0 10000 0
  group "$file in uneven parts" $file 1 2 3 5000 4096 4096 6802
done
group 'duplicates across borders' twins 1 1 1 1 1
says 'a summary of summaries' 0 "$(good 5 "$(sum twins)" 3)" -s joined.sum

# Numbers of 128 bits: an artificial summary with the largest.
ff=$(printf '\\xff%.0s' {1..16})
fe=${ff:0:32}\\xfe${ff:36} # one less: the low word comes second, its low byte first
{ head -c 32 /dev/zero; printf "$ff$fe$ff"; head -c 200 /dev/zero; } >huge.sum
says 'the largest numbers' 0 "$(good 340282366920938463463374607431768211455 \
  ffffffffffffffffffffffffffffffff 340282366920938463463374607431768211454)" -s huge.sum
{ printf '\x02\0\0\0\0\0\0\0%8s' '' | tr ' ' '\0'; printf '\x03\0\0\0\0\0\0\0%8s' '' | tr ' ' '\0'
  printf '\x09\0\0\0\0\0\0\0%8s' '' | tr ' ' '\0'; head -c 232 /dev/zero; } >wide.sum
says 'high words come first' 1 "$(bad 36893488147419103232 166020696663385964544 0 55340232221128654848)" -s wide.sum

# The command line.
says 'long options' 0 '' --quiet --ignore-case --threads=2 --output=long.sum sorted
says 'long options for summaries' 0 '' --quiet --summaries long.sum
says 'a cluster' 0 '' -iqt2 sorted
says 'an attached -o' 0 '' -qolong.sum sorted
says '-t with a space' 0 '' -q -t 2 sorted
says '--' 0 '' -q -- sorted
refused() { # refused MESSAGE ARGUMENT...
  local want=$1; shift
  run "$valsort" "$@"
  is "refused: $*" "$rc/$out/${err%%$'\n'*}" "1//valsort: $want"
}
refused "missing operand 'FILE_NAME'"
refused "missing operand 'FILE_NAME'" -q
refused "missing operand 'FILE_NAME'" -o sorted
refused "extra operand 'b'" sorted b
refused "extra operand '-q'" sorted -q
refused "no value for option '-o'" -o
refused "no value for option '--output'" --output
refused "bad summary file name '-q'" -o -q sorted
refused "bad summary file name ''" -o '' sorted
refused "bad number of threads '1x'" -t1x sorted
refused "bad number of threads ''" -t '' sorted
refused "bad option '-x'" -x sorted
refused "bad option '-x'" -qx sorted
refused "bad option '--wrong'" --wrong sorted
refused "bad option '--thraeds' (did you mean --threads?)" --thraeds 2 sorted
ok 'no refused call changed the input' cmp -s sorted precious
run "$valsort" --help
is '--help' "$rc/$err/${out%%$'\n'*}" '0//Usage: valsort [OPTION]... FILE_NAME'
for word in -i -q -o -s -t --help --version; do ok "--help explains $word" grep -q -e "$word" <<<"$out"; done
run "$valsort" --version
is '--version' "$rc/$err/${out%%$'\n'*}" "0//valsort $(cat "$ROOT/VERSION")"

# The validator is independent: the code shared with the generator knows only the size of records.
includes() { sed -n 's/^#include "\(.*\)"$/\1/p' "$ROOT"/gensort/"$1"*.[ch] | sort -u | grep -v -e "^$1" -e '^tool\.h$' -e '^number\.h$' -e '^crc\.h$'; }
is 'valsort includes only its own and shared headers' "$(includes val)" ''
is 'gensort includes only its own and shared headers' "$(includes gen)" ''
names() { nm -u "$1" 2>/dev/null | awk '{print $2}' | grep "^$2_"; }
for o in "$OBJ"/gensort/val*.o; do is "${o##*/} calls nothing of gensort" "$(names "$o" gen)" ''; done
is 'the record is 100 bytes, its key 10' "$(grep -c 'RECORD_BYTES = 100, KEY_BYTES = 10' "$ROOT/gensort/tool.h")" 1

done_testing
