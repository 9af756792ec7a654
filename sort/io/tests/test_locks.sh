#!/usr/bin/env bash
# Jobs that meet at an output, and what jobs that were killed leave: found by locks that end with
# their process. In every phase SIGKILL ends a job; the next one, or --clean, removes what is left.
set -u
. "$ROOT/scripts/tap.sh"
[ "${SANITIZER:-coverage}" = coverage ] || skip_all "the shim and the sanitizers want the same calls"
cd "$TEST_TMP" || exit 1
hetsort=$BIN/hetsort
"${CC:-cc}" -D_GNU_SOURCE -O1 -shared -fPIC -o shim.so "$ROOT/scripts/shim.c" -ldl || exit 1
"$BIN/gensort" --no-fsync 20000 in && "$hetsort" -o expected in || exit 1

temporary() { find . -name '.hetsort-*.tmp' | wc -l; }
hidden() { find . -name '.hetsort-*' | wc -l; }

start() { # start CALL ARGUMENT... - hetsort in the background, until it hangs in CALL
  local call=$1; shift
  rm -f hanging
  SHIM=hang=$call SHIM_FILE=hanging LD_PRELOAD="$PWD/shim.so" "$hetsort" --direct never "$@" 2>err &
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
  "hetsort: rank 0 ($(hostname)), describe: output 'out' is being made by another job, 'process $pid on $(hostname)'"
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
case $err in *"output 'out.0' is being made"*"output 'out.1' is being made"*) ok "both are named" true ;;
  *) is "both are named" "$err" "out.0, out.1" ;; esac
run "$hetsort" --ranks 1 --manifest out.manifest -o single.%r in
is "second job, same manifest" "$rc" 2
rm hanging
wait $pid
is "the first job ends well, one output a rank" "$?/$(cat out.0 out.1 | cmp - expected)/$(hidden)" 0//0
rm -f out.*

# killed in each phase
for mode in "--ranks 1" "--ranks 3" "--ranks 3 --strategy distribute"; do
  for call in read write@2 fsync rename; do
    # shellcheck disable=SC2086  # the mode is several words
    {
      start $call $mode -o out in
      kill_it
      ok "killed in $call, $mode: no final name" test ! -e out
      is "killed in $call, $mode: temporary files" "$(temporary)" "$([ $call = read ]; echo $?)"
      run "$hetsort" -v $mode -o out in
      is "killed in $call, $mode: the next one" "$rc/$(cmp out expected)/$(hidden)" 0//0
      rm out
      [ $call = read ] || ok "killed in $call, $mode: says so" grep -q "removed 1 temporary files" <<<"$err"
    }
  done
done
start fsync --ranks 3 -o out.%r in
kill_it
is "killed with three outputs: temporary files" "$(temporary)" 3
touch .hetsort-0123456789abcdef-0123456789abcdef-other.tmp
run "$hetsort" --clean -v --ranks 3 out.%r out.manifest
is "--clean: exit code" "$rc" 0
is "--clean: says what it did" "$err" "hetsort: 'out.0': 1 files removed
hetsort: 'out.1': 1 files removed
hetsort: 'out.2': 1 files removed
hetsort: 'out.manifest': 0 files removed"
is "--clean: leaves what is not of these outputs" "$(find . -name '.hetsort-*')" \
  ./.hetsort-0123456789abcdef-0123456789abcdef-other.tmp
rm .hetsort-*
start rename@3 --ranks 3 -o out.%r in
kill_it
ok "killed between renames: no manifest" test ! -e out.manifest
run "$hetsort" --force --ranks 3 -o out.%r in
is "killed between renames: a new run repairs" "$rc/$(cat out.0 out.1 out.2 | cmp - expected)/$(hidden)" 0//0
rm -f out.*

# the folder gets another name, and somebody's link its old one, while the job is at work
mkdir folder victim
start write@2 -o folder/out in
mv folder moved && ln -s victim folder
rm hanging
wait $pid
is "a folder exchanged for a link: the output is where it was begun" \
  "$?/$(cmp moved/out expected)/$(ls -A victim)/$(ls -A moved)" 0///out
rm -r folder moved victim

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
  "2 hetsort: --clean needs --ranks, for the %r in the name 'out.%r'"
run "$hetsort" --clean nowhere/out
is "--clean where there is nothing" "$rc" 2
done_testing
