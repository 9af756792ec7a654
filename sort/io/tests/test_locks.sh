#!/usr/bin/env bash
# Jobs that meet at an output, and what jobs that were killed leave: found by locks that end with
# their process. In every phase SIGKILL ends a job; the next one, or --clean, removes what is left.
set -u
. "$ROOT/scripts/tap.sh"
[ "${SANITIZER:-coverage}" = coverage ] || skip_all "the shim and the sanitizers want the same calls"
cd "$TEST_TMP" || exit 1
hetsort=$BIN/hetsort
"$BIN/gensort" --no-fsync 20000 in && "$hetsort" -o expected in || exit 1

temporary() { find . -name '.hetsort-*.tmp' | wc -l; }
hidden() { find . -name '.hetsort-*' | wc -l; }

start() { # start CALL ARGUMENT... - hetsort in the background, until it hangs in CALL
  local call=$1; shift
  rm -f hanging
  HETSORT_SHIM=$call=hang HETSORT_SHIM_FILE=hanging LD_PRELOAD="$OBJ/shim.so" "$hetsort" --direct never "$@" 2>err &
  pid=$!
  # shellcheck disable=SC2016
  await eval '[ -e hanging ] || [ ! -d /proc/$pid ]'
}
kill_it() { kill -KILL $pid; wait $pid 2>/dev/null; rm -f hanging; }

# two jobs
start read -o out in
run "$hetsort" -o out in
is "second job: exit code" "$rc" 2
is "second job: who has it" "${err%%$'\n'*}" \
  "hetsort: output 'out' is being made by another job, 'process $pid on $(hostname)'"
ln -s . here
run "$hetsort" --force -o here/out in
is "second job, by another name of the directory" "$rc" 2
run "$hetsort" --clean out
is "--clean of a job that lives: exit code" "$rc" 2
run "$hetsort" --explain -o out in
is "--explain beside it" "$rc" 0
run "$hetsort" -o other in
is "another output beside it" "$rc/$(cmp other expected)" 0/
rm -f hanging other
wait $pid
is "the first job ends well" "$?/$(cmp out expected)/$(hidden)" 0//0
rm out
start read --ranks 2 -o out.%r in
run "$hetsort" --ranks 3 -o out.%r in
is "second job, one output a rank" "$rc" 2
ok "and said of its manifest" grep -q "output 'out.manifest' is being made by another job, 'process $pid on" <<<"$err"
run "$hetsort" --ranks 1 --manifest out.manifest -o single.%r in
is "second job, same manifest" "$rc" 2
rm hanging
wait $pid
is "the first job ends well, one output a rank" "$?/$(cat out.0 out.1 | cmp - expected)/$(hidden)" 0//0
rm -f out.*

# killed in each phase
for mode in "--ranks 1" "--ranks 3" "--ranks 3 --strategy distribute"; do
  for call in read write:4 fsync rename; do
    # shellcheck disable=SC2086  # the mode is several words
    {
      start $call $mode -o out in
      kill_it
      ok "killed in $call, $mode: no final name" test ! -e out
      is "killed in $call, $mode: temporary files" "$(temporary)" "$([ $call = read ]; echo $?)"
      run "$hetsort" -v $mode -o out in
      is "killed in $call, $mode: the next one" "$rc/$(cmp out expected)/$(hidden)" 0//0
      rm out
      [ $call = read ] || ok "killed in $call, $mode: says so" grep -q "removed 1 temporary file" <<<"$err"
    }
  done
done
start fsync --ranks 3 -o out.%r in
kill_it
is "killed with three outputs: temporary files" "$(temporary)" 3
touch .hetsort-0123456789abcdef-0123456789abcdef-other.tmp
run "$hetsort" --clean --ranks 3 out.%r out.manifest
is "--clean: exit code" "$rc" 0
is "--clean: says what it did" "$err" "hetsort: 'out.%r': removed 3 files
hetsort: 'out.manifest': nothing to clean"
run "$hetsort" --clean -q --ranks 3 out.%r
is "--clean -q: says nothing" "$rc/$err" 0/
is "--clean: leaves what is not of these outputs" "$(find . -name '.hetsort-*')" \
  ./.hetsort-0123456789abcdef-0123456789abcdef-other.tmp
rm .hetsort-*
start rename:3 --ranks 3 -o out.%r in
kill_it
ok "killed between renames: no manifest" test ! -e out.manifest
run "$hetsort" --check-manifest out.manifest
is "killed between renames: --check-manifest" "$rc/$err" \
  "1/hetsort: the commit of the set of 'out.manifest' was interrupted, or is under way: if no job is making it, \
hetsort --clean 'out.manifest' ends it"
left=$(find . -name '.hetsort-*.tmp' | head -n 1)
left_of=${left##*-}
run "$hetsort" --clean "${left_of%.tmp}"
is "killed between renames: --clean of one part leaves it" "$rc/$(find . -path "$left")" "2/$left"
ok "killed between renames: and says where to go on" grep -q -- "hetsort --clean 'out.manifest' ends it" <<<"$err"
run "$hetsort" --force -o "${left_of%.tmp}" in
is "killed between renames: a job for one part alone would be undone later" "$rc/$(find . -path "$left")" "2/$left"
named=$(ls out.[0-2])
for part in $named; do # as large as it was: --clean of the set could not tell it from the set's part
  run "$hetsort" --force -o "$part" in
  is "killed between renames: a job for a part that has its name, $part" "$rc/$(grep -c "hetsort --clean 'out.manifest' ends it" <<<"$err")" 2/1
  run "$hetsort" --clean "$part"
  is "killed between renames: --clean of a part that has its name, $part" "$rc/$(grep -c "hetsort --clean 'out.manifest' ends it" <<<"$err")" 2/1
done
ok "killed between renames: some part has its name" test -n "$named"
run "$hetsort" --force --ranks 3 -o out.%r in
is "killed between renames: a new run repairs" "$rc/$(cat out.0 out.1 out.2 | cmp - expected)/$(hidden)" 0//0
rm -f out.*
start rename:2 --ranks 3 -o out.%r in
kill_it
rm -f .hetsort-*-out.[12].lock
run "$hetsort" --ranks 1 --manifest out.manifest -o 'new.%r' in
is "killed before the renames: the next job ends it, and replaces nothing without --force" "$rc/$(cat out.[0-2] | cmp - expected)/$(hidden)" 2//0
ok "killed before the renames: and says so" grep -q "'out.manifest' is complete now; use --force to replace it" <<<"$err"
start rename:2 --ranks 3 --force -o out.%r in
kill_it
rm .hetsort-*-out.1.tmp
run "$hetsort" --clean out.manifest
is "a part that is gone: the old set stays" "$rc/$(cat out.[0-2] | cmp - expected)/$(find . -name '*.replace')" 0//
ok "a part that is gone: the old set is complete" "$hetsort" --check-manifest out.manifest
run "$hetsort" --clean -q --ranks 3 out.%r
start rename:5 --ranks 3 --force -o out.%r in
kill_it
rm .hetsort-*-out.[0-2].tmp
rm -f out.0
run "$hetsort" --clean out.manifest
is "a part that is gone when others are renamed: nothing is lost for it" "$rc/$(find . -name '*.replace' | wc -l)" 2/1
ok "a part that is gone when others are renamed: message" grep -q "'out.0' is gone since: remove '.hetsort-.*-out.manifest.replace' to give that set up" <<<"$err"
rm -f .hetsort-* out.*

# the lock of a job that was killed, in a folder where it cannot be removed
start write:4 -o out in
kill_it
run env HETSORT_SHIM=unlink:1+=EACCES LD_PRELOAD="$OBJ/shim.so" "$hetsort" -o out in
is "a lock that cannot be removed: message" "$rc/$(ls out 2>/dev/null)/$(sed -n 1p <<<"$err")" \
  "2//hetsort: cannot remove '$(echo .hetsort-*.lock)', the lock of a job that has ended: Permission denied"
run "$hetsort" -q -o out in
is "it is removed by a job that may" "$rc/$(hidden)/$(cmp out expected)" 0/0/
rm -f out

# the folder gets another name, and somebody's link its old one, while the job is at work
mkdir folder victim
start write:4 -o folder/out in
mv folder moved && ln -s victim folder
rm hanging
wait $pid
is "a folder exchanged for a link: the output is where it was begun, and that is no success" \
  "$?/$(cmp moved/out expected)/$(ls -A victim)/$(ls -A moved)" 3///out
ok "a folder exchanged for a link: message" \
  grep -q "^hetsort: 'folder/out' is complete, but cannot be found there again: No such file or directory" err
rm -r folder moved victim

# somebody puts another file in the place of the one that is to get the name
exchange() { local f; f=$(echo .hetsort-*.tmp); mv "$f" ours && cp in "$f"; rm hanging; wait $pid; }
start fsync -o out in
exchange
is "exchanged before the rename: noticed, and no final name" "$?/$(ls out 2>/dev/null)" 3/
ok "exchanged before the rename: message" grep -q "^hetsort: another program replaced the temporary file of 'out'" err
start fsync -o out in
rm .hetsort-*.tmp hanging
wait $pid
is "removed before the rename" "$?/$(grep -c "another program removed the temporary file of 'out'" err)" 3/1
start rename -o out in
exchange
is "exchanged at the rename: no success" "$?/$(cmp ours expected)" 3/
ok "exchanged at the rename: message" grep -q "^hetsort: 'out' is complete, but another file stands there" err
rm -f out ours .hetsort-*

# somebody exchanges the manifest while a set of parts gets its names: no file of theirs is removed
"$hetsort" -q --ranks 3 -o out.%r in || exit 1
start rename:1 --ranks 3 --force -o out.%r in
temp=$(echo .hetsort-*-out.manifest.tmp)
mv "$temp" ours && cp in "$temp"
rm hanging; wait $pid
is "exchanged before it becomes the journal: noticed, and theirs stays" \
  "$?/$(cmp in .hetsort-*-out.manifest.replace && echo same)" 3/same
rm -f ours .hetsort-*
start rename:2 --ranks 3 --force -o out.%r in
mv out.manifest ours && cp in out.manifest
rm hanging; wait $pid
is "exchanged before it is put aside: noticed, and theirs stays" "$?/$(cmp in out.manifest && echo same)" 3/same
ok "exchanged before it is put aside: message" grep -q "another program replaced 'out.manifest'" err
run "$hetsort" -q --ranks 3 --force -o out.%r in
is "the next job leaves theirs, too" "$rc/$(cmp in out.manifest && echo same)" 2/same
rm -f out.* ours .hetsort-*
"$hetsort" -q --ranks 3 -o out.%r in || exit 1
start rename:3 --ranks 3 --force -o out.%r in
old=$(echo .hetsort-*-out.manifest.old)
mv "$old" ours && cp in "$old"
rm hanging; wait $pid
is "exchanged while it is aside: theirs stays" "$?/$(cmp in "$old" && echo same)" 0/same
rm -f out.* ours .hetsort-*

# names of more than the part that temporary ones show
long=$(printf 'x%.0s' {1..255})
start fsync -o "${long}" in
kill_it
run "$hetsort" -o "${long%x}y" in
is "long names are told apart" "$rc/$(temporary)" 0/1
run "$hetsort" --clean "$long"
is "long names: --clean" "$rc/$(hidden)" 0/0
run "$hetsort" --clean
is "--clean without a name" "$rc" 2
run "$hetsort" --clean 'out.%r'
is "--clean of files of who knows how many ranks" "$rc ${err%%$'\n'*}" \
  "2 hetsort: --clean requires --ranks, because of %r in the name 'out.%r'"
run "$hetsort" --clean nowhere/out
is "--clean where there is nothing" "$rc" 2
done_testing
