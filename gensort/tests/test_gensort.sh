#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# gensort's command line: every accepted form with its effect, and every usage error.
# shellcheck source=scripts/tap.sh
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
gensort=$BIN/gensort

sums() { # sums NAME WANTED ARGUMENT... - check that gensort succeeds and prints only WANTED
  local name=$1 want=$2; shift 2
  run "$gensort" "$@"
  is "$name" "$rc/$out/$err" "0//$want"
}

# Known checksums of 1000 records: binary, ASCII, skewed, both; and ASCII from record 10^12.
b=$(awk -F'\t' '$1 == "-" && $2 == "0" && $3 == 1000 {print $4}' "$ROOT/gensort/tests/vectors.tsv")
a=$(awk -F'\t' '$1 == "-a" && $2 == "0" && $3 == 1000 {print $4}' "$ROOT/gensort/tests/vectors.tsv")
far=1000000000000
sa=$(awk -F'\t' '$1 == "-as" && $2 == 1000000000000 && $3 == 1000 {print $4}' "$ROOT/gensort/tests/vectors.tsv")
s=$(awk -F'\t' '$1 == "-s" && $2 == 1000000000000 && $3 == 1000 {print $4}' "$ROOT/gensort/tests/vectors.tsv")
ok 'the four sums differ' [ "$(printf '%s\n' "$b" "$a" "$s" "$sa" | sort -u | grep -c .)" -eq 4 ]

sums 'binary'                     "$b"  -c 1000 f
sums 'ASCII'                      "$a"  -a -c 1000 f
sums 'skewed from far'            "$s"  -s -c -b$far 1000 f
sums 'both, either order'         "$sa" -s -a -c -b$far 1000 f
sums 'both, other order'          "$sa" -a -s -c -b$far 1000 f
sums 'a cluster'                  "$sa" -asc -b$far 1000 f
sums 'a cluster that ends in -b'  "$sa" -casb$far 1000 f
sums 'repeats are harmless'       "$a"  -a -a -c -c 1000 f
sums '-b N with a space'          "$s"  -s -c -b $far 1000 f
sums '-t N with a space'          "$b"  -c -t 3 1000 f
sums '-t0: one per processor'     "$b"  -c -t0 1000 f
sums 'more threads than allowed'  "$b"  -c -t99999999999999 1000 f
sums 'the last -b wins'           "$b"  -c -b5 -b0 1000 f
sums 'leading zeros'              "$b"  -c -b000 0001000 f
sums 'long options'               "$sa" --ascii --skew --checksum --begin=$far --threads=2 1000 f
sums 'detached long values'       "$sa" --ascii --skew --checksum --begin $far --threads 2 1000 f
sums '-- ends options'            "$b"  -c -- 1000 f
sums '--no-fsync, --fsync'        "$b"  --no-fsync -c --fsync 1000 f
sums '/dev/null'                  "$b"  -c 1000 /dev/null
sums 'no records'                 0     -c 0 f
is   'an empty file'              "$(stat -c %s f)" 0
sums 'no checksum without -c'     ''    10 f
is   'ten records'                "$(stat -c %s f)" 1000
run "$gensort" -b340282366920938463463374607431768211455 2 two
run "$gensort" -b0 1 one
is 'record numbers wrap at 2^128' "$(tail -c 100 two | cksum)" "$(cksum <one)"
is 'as ASCII too' "$("$gensort" -ab340282366920938463463374607431768211455 2 - | cut -c 13-44)" \
  "$(printf '%s\n%s' FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF 00000000000000000000000000000000)"

err=$("$gensort" -c 1000 - 2>&1 >/dev/null)
is 'standard output' "$? $err $("$gensort" 1000 - | cksum)" "0 $b $("$gensort" 1000 f; cksum <f)"
ok 'no file called -' [ ! -e - ]
run "$gensort" 3 -a
is 'after NUM_RECS nothing is an option' "$rc $(stat -c %s ./-a)" "0 300"
is '/dev/stdout' "$("$gensort" 1000 /dev/stdout | cksum)" "$(cksum <f)"
(umask 027; "$gensort" 1 masked)
is 'file mode' "$(stat -c %a masked)" 640

# Numbers with an exponent or a unit, and the same ones in digits.
while read -r count digits; do
  "$gensort" "$count" counted && "$gensort" "$digits" wanted
  is "$count records are $digits" "$?/$(cmp counted wanted 2>&1)" 0/
done <<'END'
1e3 1000
1k 1000
1.5e3 1500
1.50k 1500
0.002M 2000
0.0000001G 100
0.000000002T 2000
12e0 12
7.0 7
0e99 0
END
for start in 340282366920938463463374607431768211455 1M 18446744073709.551616e6; do
  "$gensort" -b "$start" 1 counted
  is "the first record may be $start" "$?" 0
done
"$gensort" -b1M 1 counted; "$gensort" -b1000000 1 wanted
ok "-b1M is the record 1000000" cmp counted wanted
"$gensort" --begin=18446744073709.551616e6 1 counted; "$gensort" -b18446744073709551616 1 wanted
ok "also above 2^64" cmp counted wanted

refused() { # refused MESSAGE ARGUMENT... - check a usage error: exit status 1, the reason, no file
  local want=$1; shift
  rm -f f
  run "$gensort" "$@"
  is "refused: $*" "$rc/$out/${err%%$'\n'*}" "1//gensort: $want"
  ok "with the usage, and no file: $*" [ ! -e f ] && [[ $err == *'usage: gensort '* ]]
}
refused "missing operand 'NUM_RECS'"
refused "missing operand 'NUM_RECS'" -a
refused "missing operand 'FILE_NAME'" 10
refused "extra operand 'x'" 10 f x
refused "extra operand '-a'" 10 f -a
refused "bad number of records 'abc'" abc f
for bad in 1x 1e 1e+2 1e-2 e2 1e2k 1kk 1K 1m 1.5 1. .5 1.2345k 1.5e0 1e20 18.5e18 18446744073710T 1e100 2e2x 0x10 1,000; do
  refused "bad number of records '$bad'" "$bad" f
done
ok "the message names valid numbers" grep -q 'whole number below 2^64: 1000000, 1e6' <<<"$err"
refused "bad number of records '+1'" +1 f
refused "bad number of records ' 1'" ' 1' f
refused "bad number of records ''" '' f
refused "bad number of records '-'" - f
refused "bad number of records '-5'" -- -5 f
refused "bad number of records '18446744073709551616'" 18446744073709551616 f
refused "bad number of records '18446744073709551617'" 18446744073709551617 f
refused "bad number of records '340282366920938463463374607431768211457'" \
  340282366920938463463374607431768211457 f
refused "bad first record number '5x'" -b5x 10 f
refused "bad first record number ''" -b '' 10 f
refused "bad first record number '-5'" -b-5 10 f
refused "bad first record number 'x'" -bx 10 f
refused "bad first record number '340282366920938463463374607431768211456'" \
  -b340282366920938463463374607431768211456 10 f
refused "bad first record number '1e39'" -b 1e39 10 f
refused "bad first record number '0.5k5'" -b 0.5k5 10 f
refused "bad number of threads '2x'" -t2x 10 f
refused "bad number of threads '-1'" -t-1 10 f
refused "missing operand 'NUM_RECS'" -b 10
refused "no value for option '-b'" -b
refused "no value for option '--threads'" --threads
refused "bad option '-x'" -x 10 f
refused "bad option '-x'" -ax 10 f
refused "bad option '-5'" -5 f
refused "bad option '--wrong'" --wrong 10 f
refused "bad option '--thraeds=2' (did you mean --threads?)" --thraeds=2 10 f
refused "bad option '--ascii=1'" --ascii=1 10 f
refused "bad file name ''" 10 ''
refused "bad number of records '\\x1b[31m\\xc2\\x9b\\x7f"$'\xc3\xa9'"'" $'\e[31m\xc2\x9b\x7f\xc3\xa9' f

run "$gensort" --help
is '--help' "$rc/$err/${out%%$'\n'*}" '0//Usage: gensort [OPTION]... NUM_RECS FILE_NAME'
for word in -a -b -c -s -t --no-fsync --help --version; do
  ok "--help explains $word" grep -q -e "$word" <<<"$out"
done
run "$gensort" --version
is '--version' "$rc/$err/${out%%$'\n'*}" "0//gensort $(cat "$ROOT/VERSION")"

done_testing
