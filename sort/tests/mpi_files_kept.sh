#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Like test_files_kept.sh, between processes: a file that another rank reads is not replaced by rank 0's report.
# shellcheck disable=SC2016,SC2154  # inner shells expand; run sets rc, out, err
set -u
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
hetsort=$BIN/hetsort
on() { # on RANKS ARGUMENT... - start hetsort with MPI
  local ranks=$1; shift
  run timeout 120 "$ROOT/scripts/mpirun" "$ranks" "$hetsort" "$@"
}
"$BIN/gensort" 100 in 2>/dev/null
cp in i.0; "$BIN/gensort" -b100 100 i.1 2>/dev/null
"$hetsort" -q --ranks=3 --report=earlier.json --html=earlier.html --trace=earlier.trace -o p.%r in
files=(in i.0 i.1 p.0 p.1 p.2 p.manifest earlier.json earlier.html earlier.trace)
all=$(cksum "${files[@]}")
kept() { # kept NAME MESSAGE - refused with one message, and no file is lost
  is "$1: refused" "$rc/$(grep -c "$2" <<<"$err")" 2/1
  is "$1: kept" "$(cksum "${files[@]}" 2>&1)" "$all"
  rm -f out
}
for option in report html trace; do
  on 2 --$option=i.1 -o out i.%r; kept "--$option over another rank's input" "'i.1' is the same file as input 'i.1' of rank 1"
  on 2 --$option=p.1 -o out p.manifest; kept "--$option over a part of a manifest" "'p.1' is the same file as input 'p.1'"
done
on 2 --report=p.manifest -o out p.%r; kept "the report over a manifest" "is the same file as the input's manifest 'p.manifest'"
on 3 --report=p.2 -o out p.%r; kept "the report over a part of another rank" "'p.2' is the same file as input 'p.2' of rank 2"
on 2 -f -o i.%r i.%r; kept "parts over inputs" "output 'i.[01]' of rank [01] is the same file as input 'i"
on 2 --report=in -o out i.%r; kept "the report over a file of another program" "'in' exists and was not written by hetsort --report"

# rank 1 works in a directory of its own, where its input is the earlier report under another name
mkdir elsewhere
printf '#!/bin/sh\n[ "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}" = 0 ] || cd elsewhere\nexec "%s" "$@"\n' "$hetsort" >apart
chmod +x apart
apart() { run timeout 120 "$ROOT/scripts/mpirun" 2 ./apart --record-size=1 --key=0,1 "$@"; }
for role in report:json html:html trace:trace; do
  old=earlier.${role#*:}
  mv i.1 away; ln "$old" elsewhere/i.1
  apart "--${role%:*}=$old" --manifest="$PWD/m" -o "$PWD/o.%r" i.%r
  mv away i.1; rm elsewhere/i.1
  kept "--${role%:*} over a file that only another rank reads" "'$old' is the same file as input 'i.1' of rank 1"
done
is "no output" "$(ls o.* m 2>/dev/null)" ""
done_testing
