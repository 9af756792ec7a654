#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Messages about mistakes: one line that names the file or option, and the value that would work. Each value that a
# message names is tried.
# shellcheck disable=SC2154,SC2016  # run sets rc, out, err; other shells expand
. "$ROOT/scripts/tap.sh"
hetsort=$BIN/hetsort
"$BIN/gensort" --no-fsync 20000 in
"$hetsort" -q --no-fsync -o wanted in
mkdir shut counts
chmod 555 shut
chmod 777 counts
as_user() { # as_user COMMAND... - run it as a user who may not write everywhere, but may write what gcov counts
  if [ "$(id -u)" -ne 0 ]; then run "$@"; else GCOV_PREFIX=counts run setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; fi
}

# --- one line for all ranks, with their number if each has a file of its own
touch taken part.0 part.2 odd
head -c 250 in >odd
says() { # says STATUS MESSAGE ARGUMENT...
  local status=$1 message=$2; shift 2
  run "$hetsort" "$@"
  is "$*" "$rc/$err" "$status/hetsort: $message"
}
for ranks in 1 3; do
  says 2 "output 'taken' exists; use --force to replace it" --ranks $ranks -o taken in
  says 2 "cannot open input 'none': No such file or directory" --ranks $ranks -o out none
  says 2 "input '.' is a directory" --ranks $ranks -o out .
  says 2 "input 'odd' has 250 bytes, not a multiple of the record size 100: 50 left over" --ranks $ranks -o out odd
  says 2 "cannot open the directory of 'none/out': No such file or directory" --ranks $ranks -o none/out in
done
says 2 "output 'part.0' exists; use --force to replace it (and on 1 more rank)" --ranks 3 -o part.%r in
says 2 "cannot open input 'none.0': No such file or directory (and on 2 more ranks)" --ranks 3 -o out none.%r

# --- a file of another kind
run "$BIN/hetsort-report" in
is "records instead of a report" "$rc/${err%%: line 1*}" "2/hetsort-report: 'in' is not a valid report"
run "$hetsort" --check-manifest in
is "records instead of a manifest" "$rc/${err%%: line 1*}" "2/hetsort: 'in' is not a valid manifest"

# --- standard input and output have no name
run bash -c '"$0" -o out - <odd' "$hetsort"
is "standard input" "$rc/$err" "2/hetsort: standard input ends with a partial record of 50 bytes"
run bash -c '"$0" --record-size 50 -o - odd >&-' "$hetsort"
is "standard output" "$rc/$err" "3/hetsort: cannot write standard output: Bad file descriptor"
cp odd ./-
says 2 "input './-' has 250 bytes, not a multiple of the record size 100: 50 left over" -o out ./-
rm ./-

# --- too little memory: the value in the message works, and half of it does not
enough() { # enough ARGUMENT...
  run "$hetsort" -q --no-fsync --memory 20K -o out "$@"
  local value=${err##*use }
  value=${value%% or more*}
  is "$*: one line" "$rc/$(wc -l <<<"$err")/$([[ $value =~ ^--memory=[0-9]+[KMG]$ ]] && echo named)" 4/1/named
  run "$hetsort" -q --no-fsync "$value" -o out "$@"
  is "$*: $value works" "$rc/$err" 0/
  ok "$*: $value: as wanted" cmp -s out wanted
  local n=${value//[!0-9]/}
  case $value in *K) n=$((n / 2)) ;; *) n=$((n * 512)) ;; esac
  rm -f out
  run "$hetsort" -q --no-fsync --memory=${n}K -o out "$@"
  is "$*: ${n}K does not" "$rc" 4
  rm -f out
}
for ranks in 1 2 3 7; do enough --ranks $ranks in; done
enough --ranks 3 --strategy distribute in
enough --ranks 3 --speeds 1,2,5 in
enough --ranks 3 --source root --scatter dynamic in
enough --merge wanted

# --- a directory that cannot be written or is missing
as_user sh -c '"$0" --version <in' "$hetsort"
if [ "$rc" -ne 0 ]; then
  echo "# skipped: no other user can start the program here"
else
  as_user "$hetsort" -o shut/out in
  is "a directory that may not be written" "$rc/$err" "2/hetsort: cannot create output 'shut/out': Permission denied"
  as_user "$hetsort" --memory 3M --tmpdir shut -o - in
  is "--tmpdir that may not be written" "$rc/$err" \
    "2/hetsort: cannot write in temporary directory 'shut': Permission denied; use --tmpdir to choose another directory"
fi
says 2 "cannot open temporary directory 'none': No such file or directory; use --tmpdir to choose another directory" \
  --memory 3M --tmpdir none -o out in

# --- -h is help, and -v's columns add up
for program in hetsort hetsort-report hetsim gensort valsort cpuburn hetplan; do
  [ -x "$BIN/$program" ] || continue
  run "$BIN/$program" --help
  help=$rc/$out/$err
  run "$BIN/$program" -h
  is "$program -h" "$rc/$out/$err" "$help"
done
"$BIN/gensort" --no-fsync 200000 more
for ranks in 1 3; do
  for from in more -; do
    [ "$ranks$from" != 3- ] || continue
    run bash -c '"$0" -v --no-fsync --ranks "$1" -f -o out "$2" <more' "$hetsort" $ranks $from
    is "-v of $from, $ranks ranks: the phases add up to busy" "$(awk '/ busy / {on = 1; next} !/^ *[0-9]/ {on = 0}
      on {n++; d = $10 - ($3 + $4 + $5 + $6 + $7 + $8 + $9); if (d > 0.004 || d < -0.004) print}
      END {print n}' <<<"$err")" $ranks
    is "-v of $from, $ranks ranks: no more memory than planned, nor much less" "$(awk '/ used MB / {on = 1; next} / busy / {on = 0}
      on {n++; if ($7 > $6 || $7 < $6 / 2) print} END {print n}' <<<"$err")" $ranks
  done
done
done_testing
