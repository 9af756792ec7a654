#!/usr/bin/env bash
# Outputs in parts as inputs, by %r or by their manifest, on as many ranks as wrote them, fewer and more: all
# parts are sorted, or the set is refused. And lines of text, which are told from records.
set -u
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
hetsort=$BIN/hetsort
"$BIN/gensort" --no-fsync 4000 in && "$BIN/gensort" --no-fsync -b4000 500 more && cat in more >both || exit 1
mkdir good deep
"$hetsort" -o expected in && "$hetsort" -o all both && "$hetsort" -s -q --ranks 4 -o good/p.%r in || exit 1
sorts() { # sorts NAME EXPECTED ARGUMENT... - silently
  local name=$1 expected=$2; shift 2
  run timeout 60 "$hetsort" -f -o out "$@"
  is "$name: exit code, message" "$rc/$err" 0/
  ok "$name: sorted" cmp -s out "$expected"
  rm -f out
}
cp good/* .
for ranks in 1 2 3 4 5; do
  sorts "parts of 4 ranks on $ranks" expected --ranks $ranks p.%r
  sorts "their manifest on $ranks" expected --ranks $ranks p.manifest
done
sorts "a manifest beside a file" all --ranks 2 p.manifest more
tr '\n' '\t' <p.manifest | sed 's/{[[:space:]]*"format": "/{"format"\n:"/' >p.laid
sorts "a manifest laid out by another program" expected p.laid
ok "a manifest laid out by another program: in order" "$hetsort" --check p.laid
rm p.laid
sorts "a manifest at the root" expected --ranks 3 --source root p.manifest
"$hetsort" --ranks 3 --manifest deep/set -o deep/q.%2r more
sorts "a manifest of its own name, elsewhere" all deep/set in
sorts "a manifest elsewhere, and %r in no name" all --ranks 2 deep/set p.manifest
"$hetsort" --ranks 11 -o deep/w.%2r more
sorts "two sets of parts" all --ranks 2 p.%r deep/w.%2r
cat p.[0-3] >joined && "$hetsort" -s --key 20,5 -o bykey joined
sorts "by another key" bykey -s --key 20,5 p.%r

refuses() { # refuses NAME WORDS ARGUMENT... - of the sets as they are now, which are then made good again
  local name=$1 words=$2; shift 2
  run timeout 60 "$hetsort" -o out "$@"
  is "$name: exit code, output" "$rc/$(ls out 2>/dev/null)" 2/
  case $err in *"$words"*) ok "$name: message" true ;; *) is "$name: message" "$err" "...$words..." ;; esac
  rm -f p.*; cp good/* .
}
for by in p.%r p.manifest "--ranks 3 p.%r" "--ranks 3 --source root p.manifest"; do
  # shellcheck disable=SC2086  # words
  {
    rm p.2; refuses "part missing, $by" "cannot open input 'p.2': No such file" $by
    truncate -s -100 p.1; refuses "part cut, $by" "input 'p.1' has not the size that manifest 'p.manifest' states" $by
    refuses "another record size, $by" "manifest 'p.manifest' is of records of 100 bytes, not 50" --record-size 50 $by
    echo no >>p.manifest; refuses "manifest damaged, $by" "manifest 'p.manifest', line" $by
  }
done
for ranks in 1 3 4 5; do
  cp p.0 p.4; refuses "a part more, $ranks ranks" "manifest 'p.manifest' names 4 parts, but there is 'p.4'" --ranks $ranks p.%r
done
truncate -s -100 p.1; refuses "part cut, 4 ranks" "part 1 has not the size, or not the size of a record, that manifest 'p.manifest' states" --ranks 4 p.%r
cp deep/set p.manifest; refuses "a manifest of other parts" "manifest 'p.manifest' does not name 'p.0' as part 0" p.%r
rm deep/w.manifest; refuses "one set without a manifest" "input 'deep/w.%2r' has no manifest" --ranks 11 p.%r deep/w.%2r
rm p.manifest; refuses "no manifest, one rank" "no rank would read 'p.1'" p.%r
rm p.manifest; refuses "no manifest, too few ranks" "no rank would read 'p.3'" --ranks 3 p.%r
rm p.manifest; sorts "no manifest, a rank for each part" expected --ranks 4 p.%r
cp good/* .
refuses "the report over a part" "report 'p.1' of rank 0 is the same file as input 'p.1' of rank 0" --ranks 2 --report p.1 p.manifest
refuses "a trace over a part" "trace 'p.2' of rank 0 is the same file as input 'p.2' of rank 0" --ranks 2 --trace p.2 p.manifest
refuses "a page over a part" "page 'p.0' of rank 0 is the same file as input 'p.0' of rank 0" --ranks 2 --html p.0 p.manifest

# --- lines of text
seq 1 2000 >lines # 8893 bytes
refuses "lines of text" "left over; it looks like lines of text, which sort(1) sorts" lines
head -c 12 lines >line
refuses "less than a record of text" "it looks like lines of text" line
head -c 8800 lines >fits
run "$hetsort" -o out fits
is "lines that fit: exit code, message" "$rc/$err" "0/hetsort: note: input 'fits' looks like lines of text: they are cut into \
records of 100 bytes, sort(1) sorts lines"
run "$hetsort" -f -q -o out fits
is "lines that fit, --quiet" "$rc/$err" 0/
"$BIN/gensort" --no-fsync -a 100 ascii && "$hetsort" -f -o byname ascii
sorts "ASCII records are none" byname ascii
head -c 150 ascii >short
run "$hetsort" -f -o out short
is "part of an ASCII record: refused without a word of lines" "$rc/${err##*: }" "2/50 left over"
printf x >byte
run "$hetsort" -f -o out byte
is "one byte" "$rc/$err" "2/hetsort: input 'byte' has 1 byte, no multiple of the record size 100: 1 left over"
run "$hetsort" -f -o out - <byte
is "one byte of standard input" "$rc/${err##* record}" "2/ of 1 byte"
seq -f %079.0f 1 500 | shuf >fixed && LC_ALL=C sort fixed >inorder
sorts "lines of the record's length" inorder --record-size 80 --key 0,80 fixed
printf '%050d\n%048d\n' {1..40} >twofold && cp twofold sorted
sorts "two lines a record" sorted --record-size 100 --key 0,50 twofold
done_testing
