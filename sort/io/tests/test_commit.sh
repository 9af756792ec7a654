#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A set of parts, or a file with its manifest, replaces another. The job is killed before one of the calls on files in
# its last phase, or that call fails. At any moment the whole old set exists, or the whole new one, which --clean or
# the next job completes. The test takes a sample of the calls; with HETSORT_LONG=1 it takes all of them, and a sample
# for sets of 128 parts.
# shellcheck disable=SC2046,SC2086  # ranks and options are several words
set -u
. "$ROOT/scripts/tap.sh"
. "$ROOT/sort/io/tests/set_reads.sh"
cd "$TEST_TMP" || exit 1
hetsort=$BIN/hetsort failing=$BIN/failpoints/hetsort
"$BIN/gensort" --no-fsync 600 in && "$BIN/gensort" --no-fsync -b9000 600 other &&
  "$hetsort" -o new in && "$hetsort" -o old other || exit 1
# shellcheck disable=SC2034  # for set_reads.sh
sum_old=$(sum_of old) sum_new=$(sum_of new)
seed=${SEED:-$RANDOM}
echo "# SEED=$seed"
RANDOM=$seed

name=out.%r # or out: one file, and its manifest
parts() { local i; for ((i = 0; i < $1; i++)); do cat d/${name/\%r/$i} || return; done 2>/dev/null; }
numbered() { find d -name 'out.[0-9]*' -o -name out | wc -l; }
output() { if [ $name = out ]; then echo "--manifest $1/out.manifest -o $1/out"; else echo "-o $1/$name"; fi; }
hidden() { find d -name '.hetsort-*' | wc -l; }
set_there() { # set_there - print which set is in d/: old, new, none, interrupted, or the message about it
  run "$hetsort" --check-manifest d/out.manifest
  case $rc/$err in
    0/*) ;;
    1/*"was interrupted"*"hetsort --clean 'd/out.manifest' completes it"*) echo interrupted; return ;;
    2/*"cannot open manifest"*) echo none; return ;;
    *) echo "bad: $err"; return ;;
  esac
  if [ "$(numbered)" -eq $olds ] && parts $olds | cmp -s - old; then echo old
  elif [ "$(numbered)" -eq $news ] && parts $news | cmp -s - new; then echo new
  else echo "bad: parts of another set, or too many: $(find d | paste -sd' ')"; fi
}
prepare() { # prepare OLD NEW - make an old set of OLD parts (0: none) in before/; the new one will have NEW
  olds=$1 news=$2 force=--force
  rm -rf before; mkdir before
  if [ $olds -eq 0 ]; then force=''; else "$hetsort" --no-fsync --ranks $olds $(output before) other || exit 1; fi
}
new_set() { rm -rf d; cp -a before d; HETSORT_FAIL=$1 run "$failing" --ranks ${ranks:-$news} $force $sync $(output d) in; }
completes_it() { # completes_it N - complete or clean up the set in one of three ways
  case $name$(($1 % 3)) in
    out[01]) run "$hetsort" --clean d/out.manifest d/out ;;
    out2) run "$hetsort" --force $(output d) in ;;
    *0) run "$hetsort" --clean --ranks $((news > olds ? news : olds)) 'd/out.%r' ;;
    *1) run "$hetsort" --clean d/out.manifest; [ "$rc" -ne 0 ] || run "$hetsort" --clean --ranks $((news > olds ? news : olds)) 'd/out.%r' ;;
    *) run "$hetsort" --force --ranks $news -o d/out.%r in ;;
  esac
}
whole() { # whole BEFORE N - return whether a whole set existed before, and exists at the end
  local before=$1 ended=$rc after
  after=$(set_there)
  case $before/$after/$ended/$(hidden) in
    old/old/0/0 | old/new/0/0 | new/new/0/0 | interrupted/new/0/0) return 0 ;;
    none/none/0/0 | none/new/0/0) [ $olds -eq 0 ] && return 0 ;;
  esac
  odd+=" $2: $before, then exit $ended and $after, $(hidden) hidden;"
  return 1
}

walk() { # walk OLD NEW STEP - SIGKILL before every STEP-th call
  local n odd='' kills=0 before interrupted=0 first
  prepare $1 $2
  first=$((1 + RANDOM % $3))
  for ((n = first; n < 5000; n += $3)); do
    new_set "file:$n=kill@incommit"
    [ "$rc" -eq 137 ] || break
    kills=$((kills + 1))
    before=$(set_there)
    [ $before != interrupted ] || interrupted=$((interrupted + 1))
    if [ $name != out ]; then # each way to read a set is tried after some kill
      for way in $((kills % ${#ways_to_read[@]})) $(((kills + 7) % ${#ways_to_read[@]})); do reads_whole ${ways_to_read[way]} $n; done
    fi
    completes_it $n
    whole "$before" $n
  done
  local how="$1 old parts, $2 new"
  [ $name != out ] || how="$1 old file and manifest, one new"
  is "killed in commit, $how: the old set or the new one" "$odd" ""
  is "killed in commit, $how: not killed at the end" "$rc/$(set_there)/$(hidden)" 0/new/0
  ok "killed in commit, $how: $kills kills, $interrupted between two sets" test $kills -gt 1
}

errors() { # errors OLD NEW STEP - a call fails, for one of these reasons
  local n=0 odd='' failed=0 before left why=(EIO ENOSPC EDQUOT EXDEV) last=1 reason
  prepare $1 $2
  while [ $last -gt 0 ]; do
    n=$((n + 1 + RANDOM % $3)) reason=${why[RANDOM % 4]}
    new_set "file:$n=$reason@incommit"
    # a fault after the last call never strikes: then the job succeeds
    if [ "$rc" -eq 0 ]; then
      # an old part that could not be examined stays, and a note names it
      left=$(sed -n "s/.*note: the old part '\(d\/out\.[0-9]*\)' was not removed.*/\1/p" <<<"$err")
      [ -z "$left" ] || [ "${left##*.}" -lt $2 ] || rm "$left"
      [ "$(set_there)/$(hidden)" = new/0 ] || odd+=" $n=$reason: success, and $(set_there), $(hidden) hidden;"
      last=$((last - (n > calls)))
      continue
    fi
    failed=$((failed + 1))
    [ -n "$err" ] || odd+=" $n=$reason: no message;"
    before=$(set_there)
    case $before/$rc/$err in
      old/[234]/* | none/[234]/*) [ "$(hidden)" -eq 0 ] || odd+=" $n=$reason: $before, $(hidden) hidden;" ;;
      new/3/*"is complete"* | new/[34]/*) ;;
      interrupted/[234]/*"all parts of 'd/out.manifest' are complete; hetsort --clean gives them their names"*) ;;
      *) odd+=" $n=$reason: $before, exit $rc, $err;" ;;
    esac
    completes_it $n
    whole "$before" "$n=$reason"
  done
  is "errors in commit, $name: $1 old parts, $2 new: the old set or the new one" "$odd" ""
  ok "errors in commit, $name: $1 old parts, $2 new: $failed jobs fail" test $failed -gt 0
}

single() { # single POINTS... - one file replaces another by one rename
  local n point odd='' ended=0 there
  for ((n = 1; n < most; n++)); do
    for point in "$@"; do
      rm -rf d; mkdir d; cp old d/out
      HETSORT_FAIL="file:$n=$point@incommit" run "$failing" -f --ranks 2 --no-fsync -o d/out in
      ended=$((ended + (rc != 0)))
      there=bad
      ! cmp -s d/out old || there=old
      ! cmp -s d/out new || there=new
      case $rc/$there in 0/new | 137/* | [34]/old) ;; [34]/new) grep -q "is complete" <<<"$err" || there=bad ;; *) there=bad ;; esac
      run "$hetsort" --clean -q d/out
      [ "$rc/$(hidden)" = 0/0 ] && [ $there != bad ] && { cmp -s d/out old || cmp -s d/out new; } ||
        odd+=" $n=$point: $there, then exit $rc, $(hidden) hidden;"
    done
  done
  is "$*: one file, the old one or the new one" "$odd" ""
  ok "$*: one file, $ended jobs end" test $ended -gt 5
}
most=20
if [ -z "${HETSORT_LONG:-}" ]; then single kill EIO; else most=60; single kill EIO ENOSPC EDQUOT EXDEV; fi

# parts and manifest in several directories: no single process could complete them, so no journal is made
mkdir d0 d1
HETSORT_FAIL=kill@named:1 run "$failing" --ranks 2 --manifest list -o d%r/out in
is "parts apart: killed between names: no journal" "$rc/$(find . -name '*.commit' -o -name list | wc -l)" 137/0
for part in d0/out d1/out; do "$hetsort" --clean -q $part; done
run "$hetsort" --force --ranks 2 --manifest list -o d%r/out in
is "parts apart: a new job" "$rc/$(cat d0/out d1/out | cmp - new)/$(find . -name '.hetsort-*')/$(ls list)" 0///list
rm -r d0 d1

# --clean of the output completes the set, as --clean of its manifest does
met=0
for n in $(seq 11 48); do
  rm -rf d; mkdir d
  HETSORT_FAIL=file:$n=kill@incommit run "$failing" --no-fsync --ranks 2 --manifest d/list -o d/out in
  [ -n "$(find d -name '*.commit')" ] || continue
  met=$((met + 1))
  run "$hetsort" --clean d/out
  is "--clean of an output, killed at call $n: it and its manifest have their names" \
    "$rc/$err/$(cmp d/out new)/$(cd d && echo *)/$(hidden)" "0/hetsort: 'd/out': ended the commit of 1 part//list out/0"
done
ok "--clean of an output: $met commits to end" test $met -gt 1
for bytes in 33 80 203; do # length of the name of the manifest, which the name of the journal contains
  list=$(printf "%0${bytes}d" 0 | tr 0 m)
  rm -rf d; mkdir d
  HETSORT_FAIL=kill@named:0 run "$failing" --no-fsync --ranks 2 --manifest "d/$list" -o d/out in
  is "--clean of an output, its manifest's name $bytes bytes long: killed" "$rc/$(find d -name '*.commit' | wc -l)" 137/1
  run "$hetsort" --clean d/out
  is "--clean of an output, its manifest's name $bytes bytes long: it has its name" \
    "$rc/$err/$(cmp d/out new)/$(cd d && ls)/$(hidden)" "0/hetsort: 'd/out': ended the commit of 1 part//$(printf '%s\n' "$list" out)/0"
done
list=$(printf "%0230d" 0 | tr 0 m) # too long for the name of a journal
rm -rf d; mkdir d
HETSORT_FAIL=kill@named:0 run "$failing" --no-fsync --ranks 2 --manifest "d/$list" -o d/out in
run "$hetsort" --clean d/out
is "--clean of an output, its manifest's name too long: message" "$rc/$(grep -c 'hetsort --clean MANIFEST completes it' <<<"$err")" 2/1
run "$hetsort" --clean "d/$list" d/out
is "--clean of a manifest with a long name" "$rc/$(cmp d/out new)/$(cd d && ls)/$(hidden)" "0//$(printf '%s\n' "$list" out)/0"
rm -rf d

# the same command completes the renaming. Then the output exists, so only --resume and --force succeed
again() { # again RANKS NAME KILLED OPTIONS WANTED - WANTED: exit code, whether the manifest has its name, and message
  local what="killed when rank $3 has its name, then the same command: $1 ranks, $2, $4" options=$4
  rm -rf d w; mkdir d
  HETSORT_FAIL=kill@named:$3 run "$failing" --no-fsync --ranks $1 ${options/#--[ef]*/} --manifest d/list -o d/$2 in
  is "$what: a journal" "$rc/$(find d -name '*.commit' | wc -l)/$(find d -name list)" 137/1/
  run "$hetsort" --no-fsync --ranks $1 $4 --manifest d/list -o d/$2 in
  is "$what: answer" "$rc/$([ -e d/list ] && echo named)/$err" "$5"
  [ "$4" != --explain ] || return 0
  is "$what: the set" "$("$hetsort" --check-manifest d/list 2>&1)/$(cat d/out* | cmp - new 2>&1)/$(hidden)" //0
}
for set in "1 out 0" "3 out 0" "1 out.%r 0" "3 out.%r 0" "3 out.%r 1" "3 out.%r 2"; do
  again $set '' "2/named/hetsort: an earlier job was ended while it renamed its parts: 'd/list' is complete now; use --force to replace it"
  again $set --force 0/named/
  again $set '--workdir w --resume' 0/named/
done
again 1 out 0 --explain "2//hetsort: output 'd/out' exists; use --force to replace it"
rm -rf d w

# the lock of an old part that was removed
met=0
for ((n = 60; n < 300 && met < 2; n++)); do
  rm -rf d; mkdir d
  "$hetsort" --no-fsync --ranks 5 -o d/out.%r other || exit 1
  HETSORT_FAIL=file:$n=kill@incommit run "$failing" --no-fsync --force --ranks 3 -o d/out.%r in
  if [ -e d/out.3 ] || [ -z "$(find d -name '*-out.3.lock')" ]; then continue; fi
  met=$((met + 1))
  run "$hetsort" --clean d/out.manifest
  is "the lock of an old part, killed at call $n" "$rc/$(find d -name '*-out.3.lock')" 0/
done
ok "the lock of an old part: $met locks left" test $met -gt 0
rm -rf d

# one file under the name of an old part: the other old parts stay
for point in none kill@named:0; do
  rm -rf d; mkdir d
  "$hetsort" --no-fsync --ranks 2 --manifest d/list -o d/data%r other || exit 1
  HETSORT_FAIL=${point#none} run "$failing" --no-fsync --force --manifest d/list -o d/data0 in
  is "a file named as an old part, $point: exit code" "$rc" "$([ $point = none ] && echo 0 || echo 137)"
  run "$hetsort" --clean d/list d/data0
  is "a file named as an old part, $point: the other parts stay" "$rc/$(cd d && echo *)/$(hidden)" "0/data0 data1 list/0"
done
rm -rf d

# a journal with impossible values is refused, like such a manifest
rm -rf d; mkdir d
HETSORT_FAIL=kill@named:1 run "$failing" --ranks 2 -o d/out.%r in
cp -a d kept
for change in 's/"key_bytes": 10/"key_bytes": 0/' 's/"version": 1/"version": 2/' 's/"records": 600/"records": 601/' 's/"rank": 1/"rank": 0/' \
  's,"file": "out.1","file": "../out.1",' 's/"file"/"other"/'; do
  rm -rf d; cp -a kept d
  sed -i "$change" d/.hetsort-*.commit
  before=$(find d -type f ! -name '*.lock' | sort)
  run "$hetsort" --clean d/out.manifest
  is "a journal after $change: refused, nothing is renamed" "$rc/$(grep -c "hetsort: journal '.*commit': " <<<"$err")/$(find d -type f ! -name '*.lock' | sort)" "2/1/$before"
done
rm -rf d; cp -a kept d
run "$hetsort" --clean d/out.manifest
is "the unchanged journal: its parts get their names" "$rc/$(cat d/out.[01] | cmp - new)/$(hidden)" 0//0
rm -rf d kept

sync=--no-fsync calls=60
# one file and its manifest
name=out ranks=2
walk 1 1 ${HETSORT_LONG:-7}
errors 1 1 ${HETSORT_LONG:-7}
sync=''
walk 0 1 ${HETSORT_LONG:-11}
name=out.%r ranks='' sync=--no-fsync
if [ -z "${HETSORT_LONG:-}" ]; then
  walk 5 3 13
  errors 5 3 19
  sync=''
  walk 0 3 17
  errors 3 3 23
  ok "$reads reads after these kills, $refusals refused: mixtures: $mixtures" test $mixtures -eq 0 -a $refusals -gt 0
  done_testing
fi
for sync in '' --no-fsync; do
  for sets in "1 1" "3 3" "5 3" "2 3" "0 3"; do
    walk $sets 1
    errors $sets 1
  done
done
sync=--no-fsync calls=2000
walk 128 128 11
walk 5 128 23
errors 128 128 29
ok "$reads reads after these kills, $refusals refused: mixtures: $mixtures" test $mixtures -eq 0 -a $refusals -gt 0
done_testing
