#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# hetsort under mpirun: shared files and files per rank, and refusals on one of several ranks, which leave together
# with one message and one exit code. HETSORT_LONG=1: all modes with all numbers of ranks.
# shellcheck disable=SC2016  # inner shells expand
set -u
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
hetsort=$BIN/hetsort gensort=$BIN/gensort valsort=$BIN/valsort
"$gensort" --no-fsync 20000 in || exit 1

on() { # on RANKS ARGUMENT... - start hetsort over MPI
  local ranks=$1; shift
  run timeout 120 "$ROOT/scripts/mpirun" "$ranks" "$hetsort" "$@"
}

turn=1
for ranks in 1 2 3 4 7; do
  turn=$((turn + 1))
  for threads in 0 1 2; do
    [ -n "${HETSORT_LONG:-}" ] || [ $((turn % 3)) -eq $threads ] || continue
    on $ranks -f --exchange-threads $threads -o out in
    is "$ranks ranks, $threads exchange threads: exit code" "$rc" 0
    run "$valsort" out
    is "$ranks ranks, $threads exchange threads: valid" "$rc" 0
  done
done
rm out
on 3 -v --speeds 1,0.5,0.25 --plan linear -o out in
is "speeds: shares" "$(awk '/\(MPI|ranks/ {next} $1 ~ /^[012]$/ && NF == 9 {print $5}' <<<"$err" | paste -sd' ')" \
  "11429 5714 2857"
ok "the table names the MPI" grep -q "3 ranks (.*MPI" <<<"$err"
rm out

for i in 1 2 3; do
  on 3 -f --plan online --wisdom book -v -o out in
  is "online, run $i: exit code" "$rc" 0
  is "online, run $i: all is read and written" "$(awk '$1 ~ /^[012]$/ && NF == 9 {r += $4; w += $5} END {print r, w}' <<<"$err")" \
    "20000 20000"
done
is "online: both parts of a run are learnt" "$(sed -n 's/^model \([a-z]*\):.*/\1/p' book | sort -u | paste -sd' ')" \
  "after before"
on 3 -f --speeds auto -v -o out in
is "measured speeds: exit code" "$rc" 0
is "measured speeds: three rates a rank" \
  "$(awk '/^measured/ {m = 1} m && $1 ~ /^[012]$/ && $3 > 0 && $4 > 0 && $5 > 0' <<<"$err" | wc -l)" 3
rm out

# only rank 0 has the input
mkdir elsewhere
printf '#!/bin/sh\n[ "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}" = 0 ] || cd elsewhere\nexec "%s" "$@"\n' "$hetsort" >apart
chmod +x apart
for scatter in equal speed balanced dynamic; do
  turn=$((turn + 1))
  for ranks in 2 4; do
    [ -n "${HETSORT_LONG:-}" ] || [ $((turn % 2 * 2 + 2)) -eq $ranks ] || continue
    run timeout 120 "$ROOT/scripts/mpirun" $ranks ./apart --source root --scatter $scatter -o "$PWD/out" in
    is "--scatter=$scatter, $ranks ranks: exit code" "$rc" 0
    run "$valsort" out
    is "--scatter=$scatter, $ranks ranks: valid" "$rc" 0
    rm -f out
  done
done
other_file() { # other_file WORDS - all ranks except rank 0 have another file of the same name
  run timeout 120 "$ROOT/scripts/mpirun" 3 ./apart -o "$PWD/out" in
  is "a file that $1 on other ranks: exit code, output" "$rc/$(ls out 2>/dev/null)" 5/
  ok "a file that $1 on other ranks: message" \
    grep -q "^hetsort: rank 1 ($(hostname)), opening: input 'in' $1 than on rank 0 ($(hostname))" <<<"$err"
}
head -c 1000 in >elsewhere/in
other_file "has another size"
cp -p in elsewhere/in
other_file "is another file"

# ranks of one host in several directories: files that all ranks make must have one directory
mkdir elsewhere/own own
apart_refused() { # apart_refused NAME ARGUMENT...
  local name=$1; shift
  run timeout 120 "$ROOT/scripts/mpirun" 3 ./apart "$@" "$PWD/in"
  is "several directories, $name: exit code, files" "$rc/$(find . -name '*new*')" 2/
  is "several directories, $name: message" "$(grep "^hetsort: " <<<"$err")" "hetsort: rank 1 ($(hostname)): output '${*: -1}' is \
in another directory here than on rank 0 of this host: start all ranks in one directory, or use an absolute name (and on 1 more rank)"
}
apart_refused parts -o new.%r
apart_refused "parts and a manifest" --manifest "$PWD/new" -o new.%r
apart_refused "one file" -o new
apart_refused "a directory in its name" -f -o own/new
apart_refused "the plan" --explain -o new.%r
"$hetsort" -o sorted in
apart_sorts() { # apart_sorts NAME FILES ARGUMENT... - FILES: what else is made
  local name=$1 files=$2; shift 2
  run timeout 120 "$ROOT/scripts/mpirun" 3 ./apart "$@" "$PWD/in"
  is "several directories, $name" "$rc/$(cat new new.? own/new.? elsewhere/own/new.? 2>/dev/null | cmp - sorted)/$(find . -name '.hetsort*')" 0//
  is "several directories, $name: other files" "$(find . -name 'x*' | sort | paste -sd' ')" "$files"
  find . -depth -name '*new*' -delete -o -depth -name 'x*' -delete
}
apart_sorts "an absolute name" "" -o "$PWD/new.%r"
apart_sorts "relative names of files of rank 0" "./x.html ./x.json ./x.list" -o "$PWD/new" --manifest x.list --report x.json --html x.html
apart_sorts "relative --workdir" "./elsewhere/xwork ./xwork" -o "$PWD/new" --workdir xwork --resume
apart_sorts "relative --tmpdir" "" -o "$PWD/new" --tmpdir own --memory 24M
rm -r own elsewhere/own sorted

mkdir parts
for r in 0 1 2 3; do "$gensort" --no-fsync -b$((r * 1000)) $((r * 1000)) parts/in.$r; done
on 4 --report report.json -o parts/out.%r parts/in.%r
is "per rank: exit code" "$rc" 0
cat parts/out.[0-3] >joined
run "$valsort" joined
is "per rank: concatenation is sorted" "$rc" 0
is "per rank: report has all ranks" "$(grep -c '"pid"' report.json)" 4
ok "per rank: manifest" grep -q '"records": 6000' parts/out.manifest

# only one rank fails: all leave, rank 0 prints which one it was, nothing is written
refuses() { # refuses NAME MESSAGE ARGUMENT...
  local name=$1 words=$2; shift 2
  on 4 "$@"
  is "$name: exit code" "$rc" 2
  is "$name: said once" "$(grep -c "^hetsort: " <<<"$err")" 1
  ok "$name: message" grep -qF -- "$words" <<<"$err"
  ok "$name: nothing written" test -z "$(find . -name '.hetsort-*' -o -name 'new*')"
}
rm parts/in.2
refuses "file missing on one rank of four" \
  "rank 2 ($(hostname)): cannot open input 'parts/in.2': No such file" \
  -o parts/new.%r parts/in.%r
head -c 1234 in >parts/in.2
refuses "partial record on one rank of four" \
  "rank 2 ($(hostname)): input 'parts/in.2' has 1234 bytes" -o parts/new.%r parts/in.%r
refuses "output exists" "output 'in' exists" -o in joined
refuses "usage" "no output is named" in
printf '#!/bin/sh\n[ "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}" != 0 ] || sleep 0.15\nexec "%s" joined\n' "$hetsort" >late && chmod +x late
run timeout 120 "$ROOT/scripts/mpirun" 4 ./late
is "usage, and rank 0 comes late: said once" "$rc/$(grep -c "^hetsort: no output is named" <<<"$err")" 2/1
refuses "--ranks under a launcher" "--ranks cannot be combined with a launcher" --ranks 2 -o new in
refuses "standard output" "a stream needs a single rank, not 4" -o - in

refuses "standard input without --source=root" "reach only rank 0; use --source=root" -o new -
on 2 -o - in
is "- with two ranks" "$rc" 2
# shellcheck disable=SC2094  # it is read only
if "$ROOT/scripts/mpirun" 1 cat <in 2>/dev/null | cmp -s - in; then
  run sh -c '"$0" 1 "$1" -o - - <in >streamed' "$ROOT/scripts/mpirun" "$hetsort"
  is "- with one rank" "$rc" 0
  run "$valsort" streamed
  is "- with one rank: valid" "$rc" 0
  run sh -c '"$0" 3 "$1" --source root -o piped - <in' "$ROOT/scripts/mpirun" "$hetsort"
  is "- scattered" "$rc/$(cmp piped streamed)" 0/
else
  echo "# this launcher does not hand on its standard input, not to cat either"
fi

# a world of another size than the launcher's
run timeout 60 "$ROOT/scripts/mpirun" 1 env OMPI_COMM_WORLD_SIZE=4 "$hetsort" -o new in
is "one rank where four were started: exit code" "$rc" 2
message="4 processes were started, but MPI joins 1"
[ -e "$BIN/libhetsort-openmpi.so" ] || message="Open MPI has started this process, but the plug-in libhetsort-openmpi.so is not installed"
ok "one rank where four were started: message" grep -q "$message" <<<"$err"
ok "one rank where four were started: nothing written" test ! -e new

# a launcher that binds all ranks to one processor, although there are others
bound() { # bound PROCESSOR [OPTION...]
  local processor=$1; shift
  run timeout 120 "$ROOT/scripts/mpirun" 2 sh -c 'exec taskset -c "$0" "$@"' "$processor" "$hetsort" -f "$@" -o new in
}
first=$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')
if [ "$(getconf _NPROCESSORS_ONLN)" -gt 1 ]; then
  bound "$first"
  is "all ranks on one processor: sorted" "$rc" 0
  is "all ranks on one processor: said once" "$(grep -c "note: 2 ranks on '$(hostname)' may use only one of its" <<<"$err")" 1
  bound "$first" --threads 1
  is "on purpose, with a number of threads: not said" "$rc $(grep -c note: <<<"$err")" "0 0"
fi
rm -f new

# other options on one rank: found before any work
odd() { # odd OPTION - only rank 1 of 3 has it
  rm -f new
  printf '#!/bin/sh\nif [ "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}" = 1 ]; then extra="%s"; fi\nexec "%s" $extra --source root -o new in\n' \
    "$1" "$hetsort" >odd && chmod +x odd
  run timeout 120 "$ROOT/scripts/mpirun" 3 ./odd
}
for option in --stable --links=1,2,3 "--emulate=4 --speeds=1,1,1"; do
  odd "$option"
  is "other options on one rank: $option: exit code" "$rc" 5
  ok "other options on one rank: $option: message" grep -q "rank 1 .* other options" <<<"$err"
  ok "other options on one rank: $option: nothing written" test ! -e new
done
for option in --threads=1 --memory=1G --tmpdir=. --direct=never --report=r --wisdom=w -v -q; do
  odd $option
  is "$option on one rank: sorted" "$rc" 0
done

# a list of inputs: every rank reads it, and finds the same names in it
rm -f new old
head -c 1000000 in >in.a && tail -c +1000001 in >in.b && "$hetsort" -o old in || exit 1
printf 'in.a\0in.b' >list && printf 'in.b\0in.a\0' >elsewhere/list
on 3 -o new --files0-from list
is "a list: exit code" "$rc" 0
ok "a list: output" cmp -s new old
on 2 --check --files0-from list
is "a list: --check" "$rc" 1
ok "a list: --check: message" grep -q "record 2 of 'in.a' is out of order" <<<"$err"
printf '#!/bin/sh\n[ "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}" = 0 ] || list=elsewhere/list\nexec "%s" --files0-from="${list:-list}" "$@"\n' \
  "$hetsort" >odd
for words in "-f -o new" --check; do
  # shellcheck disable=SC2086  # words
  run timeout 120 "$ROOT/scripts/mpirun" 3 ./odd $words
  is "other lists, $words: exit code" "$rc" 5
  ok "other lists, $words: message" grep -q "other options" <<<"$err"
done
mkfifo fifo
for stream in - fifo; do
  run timeout 120 "$ROOT/scripts/mpirun" 2 "$hetsort" -f -o new --files0-from $stream <list
  is "a list from a stream, $stream: exit code" "$rc" 2
  ok "a list from a stream, $stream: message" grep -q "'$stream' of --files0-from: under a launcher, every rank reads the list" <<<"$err"
done

done_testing
