#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Two jobs for one output, and the files that killed jobs leave: locks, which end with their process, show which is
# which. SIGKILL ends a job in every phase; the next job, or --clean, removes the files that are left.
set -u
. "$ROOT/scripts/tap.sh"
[ "${SANITIZER:-coverage}" = coverage ] || skip_all "the shim and the sanitizers replace the same calls"
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
is "second job: the message names the first" "${err%%$'\n'*}" \
  "hetsort: output 'out' is being made by another job, 'process $pid on $(hostname)'"
ln -s . here
run "$hetsort" --force -o here/out in
is "second job, by another name of the directory" "$rc" 2
run "$hetsort" --clean out
is "--clean of a running job: exit code" "$rc" 2
run "$hetsort" --explain -o out in
is "--explain during the job" "$rc" 0
run "$hetsort" -o other in
is "another output during the job" "$rc/$(cmp other expected)" 0/
rm -f hanging other
wait $pid
is "the first job succeeds" "$?/$(cmp out expected)/$(hidden)" 0//0
rm out
start read --ranks 2 -o out.%r in
run "$hetsort" --ranks 3 -o out.%r in
is "second job, one output per rank" "$rc" 2
ok "second job, one output per rank: the message names the manifest" grep -q "output 'out.manifest' is being made by another job, 'process $pid on" <<<"$err"
run "$hetsort" --ranks 1 --manifest out.manifest -o single.%r in
is "second job, same manifest" "$rc" 2
rm hanging
wait $pid
is "the first job succeeds, one output per rank" "$?/$(cat out.0 out.1 | cmp - expected)/$(hidden)" 0//0
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
      is "killed in $call, $mode: the next job" "$rc/$(cmp out expected)/$(hidden)" 0//0
      rm out
      [ $call = read ] || ok "killed in $call, $mode: it reports the removal" grep -q "removed 1 temporary file" <<<"$err"
    }
  done
done
start fsync --ranks 3 -o out.%r in
kill_it
is "killed with three outputs: temporary files" "$(temporary)" 3
touch .hetsort-0123456789abcdef-0123456789abcdef-other.tmp
run "$hetsort" --clean --ranks 3 out.%r out.manifest
is "--clean: exit code" "$rc" 0
is "--clean: reports its work" "$err" "hetsort: 'out.%r': removed 3 files
hetsort: 'out.manifest': nothing to clean"
run "$hetsort" --clean -q --ranks 3 out.%r
is "--clean -q: prints nothing" "$rc/$err" 0/
is "--clean: files of other outputs stay" "$(find . -name '.hetsort-*')" \
  ./.hetsort-0123456789abcdef-0123456789abcdef-other.tmp
rm .hetsort-*
start rename:3 --ranks 3 -o out.%r in
kill_it
ok "killed between renames: no manifest" test ! -e out.manifest
run "$hetsort" --check-manifest out.manifest
is "killed between renames: --check-manifest" "$rc/$err" \
  "1/hetsort: a job is renaming the parts of 'out.manifest', or was interrupted while renaming them: if no such job is running, \
hetsort --clean 'out.manifest' completes it"
left=$(find . -name '.hetsort-*.tmp' | head -n 1)
left_of=${left##*-}
run "$hetsort" --clean "${left_of%.tmp}"
is "killed between renames: --clean of one part leaves it" "$rc/$(find . -path "$left")" "2/$left"
ok "killed between renames: and names the command that completes the set" grep -q -- "hetsort --clean 'out.manifest' completes it" <<<"$err"
run "$hetsort" --force -o "${left_of%.tmp}" in
is "killed between renames: a job for one part only would be undone later" "$rc/$(find . -path "$left")" "2/$left"
named=$(ls out.[0-2])
for part in $named; do # it has the same size, so --clean of the set would treat it as the part of the set
  run "$hetsort" --force -o "$part" in
  is "killed between renames: a job for a part that has its name, $part" "$rc/$(grep -c "hetsort --clean 'out.manifest' completes it" <<<"$err")" 2/1
  run "$hetsort" --clean "$part"
  is "killed between renames: --clean of a part that has its name, $part" "$rc/$(grep -c "hetsort --clean 'out.manifest' completes it" <<<"$err")" 2/1
done
ok "killed between renames: at least one part has its name" test -n "$named"
run "$hetsort" --force --ranks 3 -o out.%r in
is "killed between renames: a new job replaces the set" "$rc/$(cat out.0 out.1 out.2 | cmp - expected)/$(hidden)" 0//0
rm -f out.*
start rename:2 --ranks 3 -o out.%r in
kill_it
rm -f .hetsort-*-out.[12].lock
run "$hetsort" --ranks 1 --manifest out.manifest -o 'new.%r' in
is "killed before the renames: the next job completes the set, and replaces nothing without --force" "$rc/$(cat out.[0-2] | cmp - expected)/$(hidden)" 2//0
ok "killed before the renames: and reports it" grep -q "'out.manifest' is complete now; use --force to replace it" <<<"$err"
start rename:2 --ranks 3 --force -o out.%r in
kill_it
rm .hetsort-*-out.1.tmp
run "$hetsort" --clean out.manifest
is "a missing part: the old set stays" "$rc/$(cat out.[0-2] | cmp - expected)/$(find . -name '*.replace')" 0//
ok "a missing part: the old set is complete" "$hetsort" --check-manifest out.manifest
run "$hetsort" --clean -q --ranks 3 out.%r
start rename:5 --ranks 3 --force -o out.%r in
kill_it
rm .hetsort-*-out.[0-2].tmp
rm -f out.0
run "$hetsort" --clean out.manifest
is "a part that is missing after others were renamed: no other part is lost" "$rc/$(find . -name '*.replace' | wc -l)" 2/1
ok "a part that is missing after others were renamed: message" grep -q "'out.0' is missing now: remove '.hetsort-.*-out.manifest.replace' to give up that set" <<<"$err"
rm -f .hetsort-* out.*

# the lock of a killed job, in a directory where it cannot be removed
start write:4 -o out in
kill_it
run env HETSORT_SHIM=unlink:1+=EACCES LD_PRELOAD="$OBJ/shim.so" "$hetsort" -o out in
is "a lock that cannot be removed: message" "$rc/$(ls out 2>/dev/null)/$(sed -n 1p <<<"$err")" \
  "2//hetsort: cannot remove '$(echo .hetsort-*.lock)', the lock of a job that has ended: Permission denied"
run "$hetsort" -q -o out in
is "a lock that cannot be removed: a job that may removes it" "$rc/$(hidden)/$(cmp out expected)" 0/0/
rm -f out

# during the job the directory gets another name, and another user's link gets its old name
mkdir dir victim
start write:4 -o dir/out in
mv dir moved && ln -s victim dir
rm hanging
wait $pid
is "a directory exchanged for a link: the output is in the first directory, and the job reports failure" \
  "$?/$(cmp moved/out expected)/$(ls -A victim)/$(ls -A moved)" 3///out
ok "a directory exchanged for a link: message" \
  grep -q "^hetsort: 'dir/out' is complete, but cannot be found there again: No such file or directory" err
rm -r dir moved victim

# another program replaces the temporary file before or at the rename
exchange() { local f; f=$(echo .hetsort-*.tmp); mv "$f" ours && cp in "$f"; rm hanging; wait $pid; }
start fsync -o out in
exchange
is "exchanged before the rename: detected, and no final name" "$?/$(ls out 2>/dev/null)" 3/
ok "exchanged before the rename: message" grep -q "^hetsort: another program replaced the temporary file of 'out'" err
start fsync -o out in
rm .hetsort-*.tmp hanging
wait $pid
is "removed before the rename" "$?/$(grep -c "another program removed the temporary file of 'out'" err)" 3/1
start rename -o out in
exchange
is "exchanged at the rename: the job reports failure" "$?/$(cmp ours expected)" 3/
ok "exchanged at the rename: message" grep -q "^hetsort: 'out' is complete, but another file has its name" err
rm -f out ours .hetsort-*

# another program exchanges the manifest while a set of parts gets its names: its file is never removed
"$hetsort" -q --ranks 3 -o out.%r in || exit 1
start rename:1 --ranks 3 --force -o out.%r in
temp=$(echo .hetsort-*-out.manifest.tmp)
mv "$temp" ours && cp in "$temp"
rm hanging; wait $pid
is "exchanged before it becomes the journal: detected, and the other file stays" \
  "$?/$(cmp in .hetsort-*-out.manifest.replace && echo same)" 3/same
rm -f ours .hetsort-*
start rename:2 --ranks 3 --force -o out.%r in
mv out.manifest ours && cp in out.manifest
rm hanging; wait $pid
is "exchanged before it is put aside: detected, and the other file stays" "$?/$(cmp in out.manifest && echo same)" 3/same
ok "exchanged before it is put aside: message" grep -q "another program replaced 'out.manifest'" err
run "$hetsort" -q --ranks 3 --force -o out.%r in
is "exchanged before it is put aside: the next job keeps the other file, too" "$rc/$(cmp in out.manifest && echo same)" 2/same
rm -f out.* ours .hetsort-*
"$hetsort" -q --ranks 3 -o out.%r in || exit 1
start rename:3 --ranks 3 --force -o out.%r in
old=$(echo .hetsort-*-out.manifest.old)
mv "$old" ours && cp in "$old"
rm hanging; wait $pid
is "exchanged while it is aside: the other file stays" "$?/$(cmp in "$old" && echo same)" 0/same
rm -f out.* ours .hetsort-*

# names longer than the part that temporary names contain
long=$(printf 'x%.0s' {1..255})
start fsync -o "${long}" in
kill_it
run "$hetsort" -o "${long%x}y" in
is "long names with the same begin are distinguished" "$rc/$(temporary)" 0/1
run "$hetsort" --clean "$long"
is "long names: --clean" "$rc/$(hidden)" 0/0
run "$hetsort" --clean
is "--clean without a name" "$rc" 2
run "$hetsort" --clean 'out.%r'
is "--clean of %r without --ranks" "$rc ${err%%$'\n'*}" \
  "2 hetsort: --clean requires --ranks, because of %r in the name 'out.%r'"
run "$hetsort" --clean nowhere/out
is "--clean in a directory that does not exist" "$rc" 2
done_testing
