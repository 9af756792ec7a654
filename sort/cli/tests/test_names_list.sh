#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# --files0-from: the same lists of names are accepted and refused as by sort(1), with the same output; manifests, names with
# %r, lists that are files of the job; more names than a command line can have.
# shellcheck disable=SC2016  # inner shells expand
set -u
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
hetsort=$BIN/hetsort
lines=(--record-size=10 '--key=0,10') # records that are lines

refused() { # refused NAME CODE WORDS COMMAND...
  local name=$1 code=$2 words=$3; shift 3
  run "$@"
  is "$name: exit code" "$rc" "$code"
  case $err in *"$words"*) ok "$name: message" true ;; *) is "$name: message" "$err" "...$words..." ;; esac
}

# --- the same as sort(1)
numbers() { seq -f %09.0f "$1" 7 "$2"; }
numbers 5 3000 >a && numbers 1 2000 >b && numbers 3 10 >' c' && tac a >'new
line' && : >empty && mkdir dir || exit 1
have_sort=$(printf a | LC_ALL=C sort --files0-from=- >/dev/null 2>&1 && echo yes)
compared=0
while IFS=: read -r name list code words; do
  printf '%b' "$list" >list
  for from in file stdin pipe; do
    case $from in
      file) way='"$@" --files0-from=list <b' ;;
      stdin) way='"$@" --files0-from=- <list' ;;
      pipe) way='cat list | "$@" --files0-from=-' ;;
    esac
    wanted=$code
    # standard input can only be an input if it is not the list
    case $name/$from in "standard input"/file) ;; "standard input"/*) wanted=2 ;; esac
    rm -f ours theirs
    run sh -c "$way" sh "$hetsort" "${lines[@]}" -o ours
    is "$name, $from: exit code" "$rc" "$wanted"
    if [ "$wanted" -ne 0 ]; then
      case $err in *"$words"*) ok "$name, $from: message" true ;; *) is "$name, $from: message" "$err" "...$words..." ;; esac
    fi
    # sort(1) of coreutils 9.1 accepts - in no list
    if [ -z "$have_sort" ] || [ "$name" = "standard input" ]; then continue; fi
    run env LC_ALL=C sh -c "$way" sh sort -o theirs
    is "$name, $from: exit code of sort(1)" "$rc" "$wanted"
    [ "$wanted" -ne 0 ] || ok "$name, $from: output of sort(1)" cmp -s ours theirs
    compared=$((compared + 1))
  done
done <<'END_OF_LISTS'
two names:a\0b:0
NUL at the end:b\0a\0:0
one name:a:0
strange names: c\0new\nline\0empty:0
standard input:a\0-\0:0:standard input is the list
no name::2:of --files0-from contains no names
only an empty name:\0:2:name 1 in
first name empty:\0a\0:2:name 1 in
empty name in the middle:a\0\0b:2:name 2 in
last name empty:a\0b\0\0:2:name 3 in
no such input:a\0missing:2:cannot open input 'missing'
a directory:a\0dir:2:input 'dir' is a directory
END_OF_LISTS
if [ -n "$have_sort" ]; then is "lists compared" "$compared" 33; else echo "# this sort(1) has no --files0-from"; fi
printf 'a\0b' >list
refused "no list" 2 "cannot open 'missing' of --files0-from: No such" "$hetsort" "${lines[@]}" --files0-from missing -o out
refused "list in a directory" 2 "cannot read 'dir': Is a directory" "$hetsort" "${lines[@]}" --files0-from dir -o out
refused "empty name of a list" 2 "cannot open '' of --files0-from" "$hetsort" "${lines[@]}" --files0-from= -o out
refused "a list and an operand" 2 "operand 'b' cannot be combined with --files0-from" "$hetsort" "${lines[@]}" --files0-from list -o out b
refused "a list and - as operand" 2 "operand '-' cannot be combined with --files0-from" "$hetsort" "${lines[@]}" --files0-from list -o out -
refused "two lists" 2 "--files0-from is given twice" "$hetsort" "${lines[@]}" --files0-from list --files0-from=list -o out
ok "nothing was written" test ! -e out

# --- all that reads inputs, and all kinds of names
LC_ALL=C sort a b >expected
run sh -c 'printf "a\0b" | "$@" >out' sh "$hetsort" "${lines[@]}" --merge --files0-from=-
is "--merge: exit code" "$rc" 0
ok "--merge: output" cmp -s out expected
printf 'expected\0' >sorted.list
run "$hetsort" "${lines[@]}" --check --checksum --files0-from sorted.list
is "--check: in order" "$rc" 0
refused "--check: two files, out of order" 1 "record 0 of 'b' is out of order" "$hetsort" "${lines[@]}" -c --files0-from list
run "$hetsort" "${lines[@]}" -C --files0-from list
is "-C: out of order" "$rc $err" "1 "
for ranks in 1 3; do
  run "$hetsort" "${lines[@]}" -f --ranks $ranks --report report -o out.%r --files0-from list
  is "$ranks ranks: exit code" "$rc" 0
  printf 'out.manifest' >set.list
  run sh -c 'printf "%s\0" out.* | "$@"' sh "$hetsort" "${lines[@]}" -f -o again --files0-from=-
  is "$ranks ranks: a manifest and its parts" "$rc" 0
  ok "$ranks ranks: their records" cmp -s again expected
  run "$hetsort" --check --files0-from set.list
  is "$ranks ranks: --check of a manifest" "$rc" 0
  run "$hetsort" --check-manifest --files0-from set.list
  is "$ranks ranks: --check-manifest" "$rc" 0
done
ok "the report has the names" grep -q '"inputs": \[' report
is "the report: inputs" "$(tr -d ' \n' <report | sed 's/.*"inputs":\[\([^]]*\)\].*/\1/')" '"a","b"'
printf 'out.%%r' >own.list
run "$hetsort" "${lines[@]}" -f --ranks 3 -o again --files0-from own.list
is "%r: exit code" "$rc" 0
ok "%r: output" cmp -s again expected
refused "%r and --source=root" 2 "its name must not have %r, like 'out.%r'" \
  "$hetsort" "${lines[@]}" --source=root --ranks 3 -o no --files0-from own.list
refused "%r and --clean" 2 "--clean requires --ranks, because of %r in the name 'out.%r'" "$hetsort" --clean --files0-from own.list
refused "--clean" 0 "'again': nothing to clean" sh -c 'printf again | "$0" --clean --files0-from=-' "$hetsort"
refused "an input twice" 2 "input 'a' is the same file as input 'a'" sh -c 'printf "a\0a" | "$@"' sh "$hetsort" "${lines[@]}" --files0-from=- -o no
run "$hetsort" "${lines[@]}" --explain --files0-from list
is "--explain" "$rc" 0
run env PMIX_RANK=0 "$hetsort" "${lines[@]}" -f --launcher=none --files0-from=- -o again <list
is "--launcher=none: standard input" "$rc" 0

# --- the list is a file of the job
cp list before
refused "list = output" 2 "output 'list' is the same file as list of inputs 'list'" "$hetsort" "${lines[@]}" -f -o list --files0-from list
refused "list = report" 2 "report 'list' is the same file as list of inputs 'list'" "$hetsort" "${lines[@]}" -f -o no --report list --files0-from list
run sh -c '"$@" 2>>list' sh "$hetsort" "${lines[@]}" -o no --files0-from list
is "standard error = list" "$rc" 2
ok "the list is as before" cmp -s list before

# --- more names than a command line can have, and memory for them
long=$(printf '%0200d' 0)
mkdir many && (cd many && seq -f %09.0f 12000 | split -a 4 -l 1 - "$long")
find many -type f -print0 >many.list
ok "the list exceeds a command line" test "$(wc -c <many.list)" -gt 2097152
for ranks in 1 16; do
  run "$hetsort" "${lines[@]}" -f --ranks $ranks --report report -o out --files0-from many.list
  is "12000 names, $ranks ranks: exit code" "$rc" 0
  is "12000 names, $ranks ranks: output" "$(cksum <out)" "$(seq -f %09.0f 12000 | cksum)"
done
# 200 bytes per name, and not once for each rank
arrays=$(tr -d ' \n' <report | sed 's/"rank":1,.*//; s/.*"arrays_peak":\([0-9]*\).*/\1/')
ok "12000 names, 16 ranks: memory of rank 0 ($arrays)" test "$arrays" -gt 0 -a "$arrays" -lt 12000000
done_testing
