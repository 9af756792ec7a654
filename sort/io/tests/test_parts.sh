#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Outputs in parts as inputs, by %r or by their manifest, with the same number of ranks, fewer and more: all parts are
# sorted, or the set is refused. Lines of text, which are recognized.
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
sorts "a manifest and a file" all --ranks 2 p.manifest more
tr '\n' '\t' <p.manifest | sed 's/{[[:space:]]*"format": "/{"format"\n:"/' >p.laid
sorts "a manifest laid out by another program" expected p.laid
ok "a manifest laid out by another program: in order" "$hetsort" --check p.laid
rm p.laid
sorts "a manifest at the root" expected --ranks 3 --source root p.manifest
"$hetsort" --ranks 3 --manifest deep/set -o deep/q.%2r more
sorts "a manifest with another name in another directory" all deep/set in
sorts "a manifest in another directory, and no name with %r" all --ranks 2 deep/set p.manifest
"$hetsort" --ranks 11 -o deep/w.%2r more
sorts "two sets of parts" all --ranks 2 p.%r deep/w.%2r
cat p.[0-3] >joined && "$hetsort" -s --key 20,5 -o bykey joined
sorts "by another key" bykey -s --key 20,5 p.%r

refuses() { # refuses NAME WORDS ARGUMENT... - the sets are refused as they are now; then restore them
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
    truncate -s -100 p.1; refuses "part cut, $by" "input 'p.1' does not have the size given in manifest 'p.manifest'" $by
    refuses "another record size, $by" "manifest 'p.manifest' has records of 100 bytes, not 50" --record-size 50 $by
    echo no >>p.manifest; refuses "manifest damaged, $by" "'p.manifest' is not a valid manifest: line" $by
  }
done
for ranks in 1 3 4 5; do
  cp p.0 p.4; refuses "one part too many, $ranks ranks" "manifest 'p.manifest' names 4 parts, but 'p.4' exists" --ranks $ranks p.%r
done
truncate -s -100 p.1; refuses "part cut, 4 ranks" "input 'p.1' does not have the size given in manifest 'p.manifest'" --ranks 4 p.%r
cp deep/set p.manifest; refuses "a manifest of other parts" "manifest 'p.manifest' does not name 'p.0' as part 0" p.%r
rm deep/w.manifest; refuses "one set without a manifest" "input 'deep/w.%2r' has no manifest" --ranks 11 p.%r deep/w.%2r
rm p.manifest; refuses "no manifest, one rank" "no rank would read 'p.1'" p.%r
rm p.manifest; refuses "no manifest, too few ranks" "no rank would read 'p.3'" --ranks 3 p.%r
rm p.manifest; sorts "no manifest, one rank per part" expected --ranks 4 p.%r
cp good/* .
refuses "the report over a part" "report 'p.1' is the same file as input 'p.1'" --ranks 2 --report p.1 p.manifest
refuses "a trace over a part" "trace 'p.2' is the same file as input 'p.2'" --ranks 2 --trace p.2 p.manifest
refuses "a page over a part" "page 'p.0' is the same file as input 'p.0'" --ranks 2 --html p.0 p.manifest

# --- records that do not match the checksum in the manifest, in files of the right size
poke() { printf X | dd of="$1" bs=1 seek="$2" conv=notrunc status=none; } # a byte of a value: the order stays
altered="input 'p.1' does not have the checksum given in manifest 'p.manifest'"
for by in p.%r p.manifest "--ranks 4 p.%r" "--ranks 3 p.%r" "--ranks 2 p.manifest more" "--ranks 3 --source root p.manifest" \
  "--ranks 2 --source root --scatter dynamic p.manifest" "--top 5 p.%r" "--ranks 4 --top 5 p.%r" "--ranks 3 --strategy distribute p.%r" \
  "--ranks 4 --strategy distribute --unique p.%r" "--merge p.manifest" "--ranks 3 --merge p.%r" "--direct always --ranks 2 p.manifest" \
  "--verify reread --ranks 3 p.%r" "--memory 4M --ranks 2 p.%r"; do
  poke p.1 5050
  # shellcheck disable=SC2086  # words
  run timeout 60 "$hetsort" -o out $by
  is "a byte changed, $by: exit code, output" "$rc/$(ls out 2>/dev/null)" 3/
  case $err in *"$altered"*) ok "a byte changed, $by: message" true ;; *) is "a byte changed, $by: message" "$err" "...$altered..." ;; esac
  rm -f out .hetsort-*
done
for by in p.%r p.manifest "--ranks 3 p.manifest" "--ranks 4 p.%r"; do
  # shellcheck disable=SC2086  # words
  run "$hetsort" --check --checksum $by
  is "a byte changed, --check --checksum $by" "$rc/$out/$(grep -c "$altered" <<<"$err")" 3//1
done
run "$hetsort" -q -o out p.0 p.1 p.2 p.3
is "a byte changed, parts by their names: no checksum is known" "$rc" 0
rm out
HETSORT_FAIL=kill@merge:0 run "$BIN/failpoints/hetsort" --no-fsync --workdir wd -o out --ranks 2 p.manifest
is "a byte changed, killed when all is read: exit code" "$rc" 137
run "$hetsort" --workdir wd --resume -o out --ranks 2 p.manifest
is "a byte changed, --resume after reading: exit code, output" "$rc/$(ls out 2>/dev/null)" 3/
ok "a byte changed, --resume after reading: message" grep -q "the checksum \(that its manifests state\|given in manifest 'p.manifest'\)" <<<"$err"
rm -rf wd .hetsort-* p.*; cp good/* .
rm p.2; mkfifo p.2
for by in p.%r p.manifest "--ranks 4 p.%r" "--ranks 3 p.%r" "--check p.%r" "--check --ranks 4 p.%r" "--explain -o out p.%r" "--merge -o out p.manifest"; do
  case $by in --check* | *-o*) to='' ;; *) to="-o out" ;; esac
  # shellcheck disable=SC2086  # words
  run timeout 20 "$hetsort" $to $by
  is "a part is a FIFO, $by: hetsort does not wait for it" "$rc/$(grep -c "input 'p.2' does not have the size given in manifest 'p.manifest'" <<<"$err")" 2/1
done
rm -f p.*; cp good/* .

# --- surplus parts of an old set: they are removed if they match the old manifest and are not inputs
"$hetsort" -q -o sorted.2 p.2 && "$hetsort" -q -o sorted.3 p.3 || exit 1
replaces() { # replaces NAME STAY WORDS COMMAND... - make a set of two; of p.2 and p.3, only STAY exists at the end
  local name=$1 stay=$2 words=$3; shift 3
  run timeout 60 "$@"
  is "$name: exit code, parts" "$rc/$(echo p.*)" "0/p.0 p.1${stay:+ $stay} p.manifest"
  if [ -n "$words" ] && [[ $err = *"$words"* ]]; then ok "$name: message" true; else is "$name: message" "$err" "$words"; fi
  [[ " $stay " != *" p.2 "* ]] || [ -n "${changed:-}" ] || ok "$name: p.2 is unchanged" cmp -s p.2 good/p.2
  rm -rf p.*; cp good/* .
}
replaces "an old set of four, a new one of two" "" "" "$hetsort" -f --ranks 2 -o p.%r in
read_it="part 2 of the old set 'p.manifest' is an input of this job: no old part was removed"
for way in "" "--top 5" "--merge" "--source root" "--strategy distribute" "--unique"; do
  # shellcheck disable=SC2086  # words
  replaces "an old part is the input, $way" "p.2 p.3" "$read_it" "$hetsort" -f --ranks 2 $way -o p.%r p.2
done
ln p.3 hard
replaces "an old part is the input, by another name" "p.2 p.3" "part 3 of the old set" "$hetsort" -f --ranks 2 -o p.%r in hard
rm hard; ln -s p.3 soft
replaces "an old part is the input, by a link" "p.2 p.3" "part 3 of the old set" "$hetsort" -f --ranks 2 -o p.%r soft
rm soft
for end in "--clean p.manifest" "--clean --ranks 2 p.%r" "-f --ranks 2 -o p.%r in"; do
  HETSORT_FAIL=kill@named:0 "$BIN/failpoints/hetsort" -f --no-fsync --ranks 2 -o p.%r p.2 in 2>/dev/null
  # shellcheck disable=SC2086  # words
  replaces "an old part is the input of a job that is killed, $end" "p.2 p.3" \
    "$([[ $end = -f* ]] || echo "ended the commit of 2 parts")" "$hetsort" $end
done
changed=1
cannot="the old part 'p.2' was not removed, because it does not match the old manifest: it"
poke p.2 5050
replaces "an old part that was changed" p.2 "$cannot does not have the stated checksum" "$hetsort" -f --ranks 2 -o p.%r in
truncate -s -100 p.2
replaces "an old part that was cut" p.2 "$cannot does not have the stated size" "$hetsort" -f --ranks 2 -o p.%r in
rm p.2; mkfifo p.2
replaces "an old part that is a FIFO" p.2 "$cannot is not a regular file" "$hetsort" -f --ranks 2 -o p.%r in
rm p.2; ln -s good/p.2 p.2
replaces "an old part that is a link" p.2 "$cannot cannot be opened" "$hetsort" -f --ranks 2 -o p.%r in
rm p.2; mkdir p.2
replaces "an old part that is a directory" p.2 "$cannot is not a regular file" "$hetsort" -f --ranks 2 -o p.%r in
rm p.2
replaces "a missing old part" "" "" "$hetsort" -f --ranks 2 -o p.%r in
HETSORT_FAIL=kill@named:0 "$BIN/failpoints/hetsort" -f --no-fsync --ranks 2 -o p.%r in 2>/dev/null
poke p.2 5050
replaces "an old part that is changed after the job was killed" p.2 "$cannot does not have the stated checksum" "$hetsort" --clean p.manifest
changed=''

# an old manifest that names the parts of other sets, or hidden files, or itself
"$hetsort" -q --ranks 2 -o run1.%r in && "$hetsort" -q --ranks 2 --manifest deep/run0.manifest -o deep/run%r.0 in || exit 1
cp run1.0 kept
cp deep/run0.manifest deep/run1.0 . # run1.0 matches run0.manifest
cp run1.0 as.stated
run "$hetsort" -f -o run0.%r --ranks 1 more
is "another set's part in an old manifest: it stays" "$rc/$(cmp run1.0 as.stated)/$(ls run0.0)" 0//run0.0
ok "another set's part in an old manifest: message" \
  grep -q "the old manifest 'run0.manifest' names 'run1.0' as part 1, which is not named as the parts of this output" <<<"$err"
for name in in p.manifest .hetsort-0123456789abcdef-0123456789abcdef-p.0.tmp p.02 p.2.bak P.2 expected; do
  cp p.2 "deep/$name.kept"; [ -e "$name" ] || cp p.2 "$name"
  cp "$name" "deep/$name.was"
  sed -i "s/\"p.2\"/\"$name\"/" p.manifest
  [ "$name" != p.manifest ] || cp p.manifest deep/p.manifest.was
  run "$hetsort" -f --ranks 2 -o p.%r more
  if [ "$name" = p.manifest ]; then ok "an old manifest names itself: it is replaced" "$hetsort" --check-manifest p.manifest
  else is "an old manifest names '$name': it stays" "$rc/$(cmp "$name" "deep/$name.was")" 0/; fi
  ok "an old manifest names '$name': nothing is removed" test -e p.2 -a -e p.3
  case $name in in | expected) ;; *) rm -f "$name" ;; esac
  rm -f p.*; cp good/* .
done

# --- a manifest and its parts, as out.* names them, are the set, in the order of the manifest
"$hetsort" -q --ranks 12 -o g.%r in && "$hetsort" -q --ranks 11 -o h.%2r more && mkdir moved && ln -s "$PWD" moved/here && ln deep/q.00 moved/linked || exit 1
is "out.*: the shell's order is another" "$(echo g.*)" "g.0 g.1 g.10 g.11 g.2 g.3 g.4 g.5 g.6 g.7 g.8 g.9 g.manifest"
for how in "" --merge "--ranks 3" "--ranks 3 --merge" "--source root --ranks 2" "--report report"; do
  # shellcheck disable=SC2086  # words
  sorts "out.*, ${how:-one rank}" expected $how g.*
done
sorts "out.*, the manifest first" expected --merge g.manifest g.?? g.?
sorts "out.* under other names" expected --merge moved/here/g.* # the parts of ./g.manifest
sorts "out.*, the manifest under another name" expected --merge g.[0-9]* moved/here/g.manifest
sorts "out.* of two sets" all --merge h.* g.*
sorts "out.* and a file" all g.* more
"$hetsort" -q --manifest one.list -o one in
sorts "a file with its manifest" expected --merge one*
sorts "a file with its manifest, and out.*" all one* deep/q.* deep/set
for how in --check "--check --ranks 3" "--check --checksum" --check-manifest; do
  # shellcheck disable=SC2086  # words
  {
    run "$hetsort" $how g.manifest
    wanted=$rc/$err/$out
    run "$hetsort" $how g.*
  }
  is "out.*, $how: like its manifest" "$rc/$err/$out" "$wanted"
done
run "$hetsort" --explain g.*
is "out.*, --explain" "$rc/$err/${out%% of*}" "0//4000 records"
names() { # names NAME CODE WORDS OPERANDS... - sort, --check and --check-manifest refuse them
  local name=$1 code=$2 words=$3 way; shift 3
  for way in "-f -o out" --check --check-manifest; do
    # shellcheck disable=SC2086  # words
    run "$hetsort" $way "$@"
    is "$name, $way: exit code, output" "$rc/$(ls out 2>/dev/null)" "$code/"
    case $err in *"$words"*) ok "$name, $way: message" true ;; *) is "$name, $way: message" "$err" "...$words..." ;; esac
  done
}
both="name only the manifest, or also each part once"
names "out.* without a part" 2 "manifest 'g.manifest' is named with parts of it, but its part 'g.11' is not named: $both" g.? g.10 g.manifest
names "a manifest and one of its parts" 2 "but its part 'g.11' is not named: $both" g.manifest g.3
names "out.* and a part again" 2 "but its part 'g.3' is named twice: $both" g.* ./g.3
names "a manifest and a part twice" 2 "but its part 'q.00' is named twice: $both" deep/set deep/q.00 moved/linked
names "out.* of two sets, a part less" 2 "manifest 'h.manifest' is named with parts of it, but its part 'h.10' is not named" g.* h.0? h.manifest
run "$hetsort" -f -o out g.* g.manifest
is "out.* and the manifest again" "$rc/$(grep -c "^hetsort: input 'g\.[0-9]*' is the same file as input 'g\.[0-9]*'$" <<<"$err")" 2/1
run "$hetsort" -f -o out g.3 g.3
is "a part twice, without the manifest" "$rc/$err" "2/hetsort: input 'g.3' is the same file as input 'g.3'"
run "$hetsort" --check g.1 g.0
is "parts without the manifest: in the given order" "$rc/$(grep -c "^hetsort: record 0 of 'g.0' is out of order" <<<"$err")" 1/1
mv g.11 away
run "$hetsort" -f -o out g.*
is "out.*, a part is missing" "$rc/$err" "2/hetsort: cannot open input 'g.11': No such file or directory"
sed -i 's/"g.11"/"g.manifest"/' g.manifest
run timeout 60 "$hetsort" -f -o out g.*
is "a manifest that names itself" "$rc/$(grep -c "its part 'g.manifest' is not named: $both" <<<"$err")" 2/1
rm -r g.* h.* one* moved report away

# --- lines of text
seq 1 2000 >lines # 8893 bytes
refuses "lines of text" "left over; it looks like lines of text, which sort(1) sorts" lines
head -c 12 lines >line
refuses "less than a record of text" "it looks like lines of text" line
head -c 8800 lines >fits
run "$hetsort" -o out fits
is "lines that fit: exit code, message" "$rc/$err" "0/hetsort: note: input 'fits' looks like lines of text, but is cut into \
records of 100 bytes; sort(1) sorts lines"
run "$hetsort" -f -q -o out fits
is "lines that fit, --quiet" "$rc/$err" 0/
"$BIN/gensort" --no-fsync -a 100 ascii && "$hetsort" -f -o byname ascii
sorts "ASCII records are not treated as lines" byname ascii
head -c 150 ascii >short
run "$hetsort" -f -o out short
is "part of an ASCII record: refused, and the message does not mention lines" "$rc/${err##*: }" "2/50 left over"
printf x >byte
run "$hetsort" -f -o out byte
is "one byte" "$rc/$err" "2/hetsort: input 'byte' has 1 byte, not a multiple of the record size 100: 1 left over"
run "$hetsort" -f -o out - <byte
is "one byte of standard input" "$rc/${err##* record}" "2/ of 1 byte"
seq -f %079.0f 1 500 | shuf >fixed && LC_ALL=C sort fixed >inorder
sorts "lines of the record's length" inorder --record-size 80 --key 0,80 fixed
printf '%050d\n%048d\n' {1..40} >twofold && cp twofold sorted
sorts "two lines per record" sorted --record-size 100 --key 0,50 twofold
done_testing
