#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Under mpirun the progress line is drawn only if mpirun's own standard error is a terminal.
# shellcheck disable=SC2154,SC2016  # run sets rc, out, err; other shells expand
. "$ROOT/scripts/tap.sh"
have_terminal || skip_all "no terminals here"
hetsort=$BIN/failpoints/hetsort mpirun=$ROOT/scripts/mpirun
"$mpirun" --here || skip_all "no MPI here"
"$BIN/gensort" --no-fsync 2000 in
export HETSORT_FAIL=delay@read:0=3
summary='^hetsort: 2000 records, 200 kB, in '

on_terminal 80 0 '^read ' "$mpirun" 2 "$hetsort" --no-fsync -f -o out in
if "$mpirun" 1 sh -c 'readlink /proc/$PPID/fd/2' >/dev/null 2>&1 && ! mpich; then
  ok "mpirun on a terminal: the line was there" grep -q ', seen, status 0$' <<<"$out"
  ok "and the summary is what remains" grep -q "$summary" <<<"$out"
  on_terminal 80 0 '^read ' "$mpirun" 2 sh -c '"$0" "$@"; exit $?' "$hetsort" --no-fsync -f -o out in
  ok "nor is a script between them in the way" grep -q ', seen, status 0$' <<<"$out"
else
  echo "# skipped: a launcher whose ranks are not its children"
fi
for to in '2>said' '2>&1 | cat >said'; do
  on_terminal 80 0 '^read ' bash -c '"$@" '"$to" sh "$mpirun" 2 "$hetsort" --no-fsync -f -o out in
  is "$to: nothing" "$(tail -n 1 <<<"$out")/$(cat said)" "columns 0, not seen, status 0/"
done
on_terminal 80 0 '^read ' "$mpirun" 2 sh -c '"$0" "$@" 2>said' "$hetsort" --no-fsync -f -o out in
is "a rank's standard error in a file: nothing" "$(tail -n 1 <<<"$out")/$(cat said)" "columns 0, not seen, status 0/"
on_terminal 80 0 '^read ' "$mpirun" 2 "$hetsort" -q --no-fsync -f -o out in
is "-q: nothing" "$(tail -n 1 <<<"$out")" "columns 0, not seen, status 0"
done_testing
