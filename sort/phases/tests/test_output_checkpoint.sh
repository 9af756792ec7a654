#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# An output that was complete when its job ended, but did not have its name: --resume reads it again, gives it
# its name and merges nothing. If it has changed on any rank, all ranks merge again. Each kind of
# change is applied to one of the three kinds of output, in check-long (HETSORT_LONG) to all of them.
# shellcheck disable=SC2086,SC2317,SC2016  # modes are several words; functions are called through others;
# sed has $ as well
set -u
. "$ROOT/scripts/tap.sh"
. "$ROOT/sort/phases/tests/checkpoints.sh"
records=30000
hetsort=$BIN/failpoints/hetsort
begin_with $records

each() { sed -n "s/^ *\"$1\": \([^[,]*\),\{0,1\}$/\1/p" report | sort -u | paste -sd' '; } # value, of all ranks
sort_() { run timeout -s KILL 60 "$hetsort" -s --key 0,1 --report report --workdir store $sync "$@" in; }
bytes_read() { sed -n '/"bytes": {/,/}/s/^ *"read": \([0-9]*\).*/\1/p' report | sort -u; }
killed() { # killed POINT ARGUMENT... - a job that ends there
  local point=$1; shift
  rm -rf store out* .hetsort-*
  HETSORT_FAIL=kill@$point sort_ "$@"
  [ "$rc" -eq 137 ] || echo "# was not killed: $rc, $err"
}
complete() { find . -maxdepth 1 -name '.hetsort-*.tmp' | sort; }
left() { find . -name 'out*' -o -name '.hetsort-*' -o -path './store/*' | sort | paste -sd' '; }
sorted() { case $mode in *%r*) cat out.[0-9] ;; *) cat out ;; esac | cmp - expected 2>&1; }
finishes() { # finishes NAME MERGED ARGUMENT... - --resume succeeds; merged before: "done" or "no"
  local name=$1 merged=$2 names=out; shift 2
  case $mode in *%r*) names="out.0 out.1 out.2 out.manifest" ;; esac
  sort_ --resume "$@" $mode
  is "$name, $mode: continues" "$rc/$err/$(sorted)/$(left | sed 's|\./||g')" "0///$names"
  is "$name, $mode: merged before" "$(merged)" "$merged"
}

leaves() { # leaves NAME - the same if another file has the place of the output, which stays; merged again
  sort_ --resume $mode
  is "$1, $mode: continues, and foreign files stay" \
    "$rc/$(grep -c "note: '.hetsort-.*tmp' next to 'out.*' stays, because nothing proves that hetsort made it" <<<"$err")/$(sorted)/$(merged)/$(complete | wc -l)/$(ls store)" \
    0/1//no/1/
}

sync='' # without waiting for the disk, unless the test is about it
one="-o out" three="--ranks 3 -o out" parts="--ranks 3 -o out.%r"
kind=-1
for mode in "$one" "$three" "$parts"; do
  kind=$((kind + 1))
  last=$(case $mode in *ranks*) echo 2 ;; *) echo 0 ;; esac) sync=''
  killed sync:$last $mode
  finishes "killed in sync" no
  killed commit:$last $mode
  is "killed in commit, $mode: no output" "$(ls out* 2>/dev/null)" ""
  finishes "killed in commit" "done"
  is "killed in commit, $mode: nothing is read, sent or written" "$(each written)/$(each sent)/$(bytes_read)" 0/0/0
  killed complete:$last $mode
  sort_ --resume $mode
  is "killed while it is noted, $mode: all ranks go the same way" "$rc/$(sorted)/$(merged | grep -c -x -e no -e "done")" 0//1

  sync=--no-fsync

  # a second end on the way, by kill, by signal, by failure
  killed commit:0 $mode
  HETSORT_FAIL=kill@sync:$last sort_ --resume $mode
  is "killed again, $mode" "$rc" 137
  finishes "killed again" "done"
  killed commit:0 $mode
  HETSORT_FAIL=delay@sync:$last=60 "$hetsort" -s --key 0,1 --resume --workdir store $mode in &
  pid=$!
  await eval 'readlink /proc/$pid/fd/* | grep -q "\.tmp"'
  kill -TERM $pid; wait $pid
  is "SIGTERM, $mode" $? 143
  finishes "SIGTERM" "done"

  # some names given, or all of them
  killed named:0 $mode
  sort_ --resume $mode
  is "killed between names, $mode: continues" "$rc/$err/$(sorted)/$(merged)" "0///done"
  killed named:0 $mode
  finishes "killed between names, --force" "done" --force
  case $mode in *%r*) run "$hetsort" --check-manifest out.manifest; is "killed between names: manifest" "$rc" 0 ;; esac
  killed named:0 $mode
  for f in out*; do flip "$f" 100; done
  sort_ --resume $mode
  is "killed between names, then changed, $mode: refused without --force" \
    "$rc/$(grep -o -m 1 "exists; use --force to replace it" <<<"$err")" "2/exists; use --force to replace it"
  finishes "killed between names, then changed" no --force

  # changed files
  change=0
  changes() { # changes NAME COMMAND... - COMMAND gets the name of the last rank's file
    local name=$1; shift
    change=$((change + 1))
    [ -n "${HETSORT_LONG:-}" ] || [ $((change % 3)) -eq $kind ] || return 0
    killed commit:0 $mode
    "$@" "$(complete | tail -n 1)"
    case $* in other | swapped | fifo | link) leaves "$name" ;; *) finishes "$name" no ;; esac
  }
  changes "missing" rm
  changes "cut by a byte" truncate -s -1
  changes "cut to nothing" truncate -s 0
  changes "longer by a byte" truncate -s +1
  for at in 0 50 -1; do
    changed() { flip "$1" $at; }
    changes "bit $at" changed
  done
  other() { head -c "$(stat -c %s "$1")" in >"$1.new" && mv "$1.new" "$1"; }
  changes "another file of its size" other
  holes() { local bytes; bytes=$(stat -c %s "$1") && truncate -s 0 "$1" && truncate -s "$bytes" "$1"; }
  changes "zeros" holes
  swapped() { { tail -c 100 "$1"; tail -c +101 "$1" | head -c -100; head -c 100 "$1"; } >"$1.new" && mv "$1.new" "$1"; }
  changes "first and last record swapped" swapped
  fifo() { rm "$1" && mkfifo "$1"; }
  changes "a FIFO" fifo
  link() { mv "$1" elsewhere && ln -s elsewhere "$1"; }
  changes "a link" link
  rm -f elsewhere
  killed commit:0 $mode
  sed -i 's/"checksum": "0/"checksum": "1/' store/hetsort-rank$last.json
  finishes "another checksum in the state" no
done
mode=$three
for what in 's/,\n *"output": {[^}]*}//' 's/"records": 10000/"records": 10001/g' 's/"id": "...../"id": "01234/g'; do
  killed commit:0 $mode
  sed -i -z "$what" store/hetsort-rank1.json
  finishes "other state on one rank, $what" no
done
killed commit:0 $mode
rm store/hetsort-rank0.json
sort_ --resume $mode
is "the first rank has lost its state: merged again, and its run stays" \
  "$rc/$(sorted)/$(merged)/$(ls store)/$(grep -c "stays, because no state says that hetsort made it" <<<"$err")" 0//no/hetsort-rank0.run0/1
killed commit:0 $mode
cp -p "$(complete)" copy && mv copy "$(complete)"
finishes "a copy" "done"
killed commit:0 $mode --speeds 1,2,3
finishes "shares of that run, not of this" "done" --speeds 3,2,1
mode=$one
killed commit:0 $mode
finishes "a copy of it in the page cache or not" "done" --direct always --threads 1
killed commit:0 $mode
flip "$(complete)" 1000
HETSORT_FAIL=kill@merge:0 sort_ --resume $mode
is "changed, and killed while it is merged again" "$rc/$(complete)" 137/
finishes "changed, and killed while it is merged again" no
for n in 0 1 2; do
  head -c $((n * 100)) in >few
  rm -rf store few.out
  HETSORT_FAIL=kill@commit:0 run "$hetsort" --workdir store --ranks 3 -o few.out few
  run "$hetsort" --resume --workdir store --report report --ranks 3 -o few.out few
  is "$n records" "$rc/$(merged)/$(wc -c <few.out)/$(ls -A store)" "0/done/$((n * 100))/"
done

# a job that succeeded unnoticed: its states are missing on all ranks or some
unseen() { # unseen ARGUMENT... - resume once more; sets rc and err
  run timeout -s KILL 60 "$hetsort" --resume --no-fsync --report report --workdir store "$@" in
}
"$BIN/hetsort" -o expected.10 in
for mode in "$one" "$three" "$parts"; do
  rm -rf store out* .hetsort-*
  HETSORT_FAIL=kill@commit:0 unseen $mode
  cp -rp store kept
  unseen $mode
  case $mode in *%r*) name=out.%r ;; *) name=out ;; esac
  for states in none one; do
    unseen $mode
    is "ended well, states left: $states, $mode" "$rc/$err/$(merged)/$(cat out out.? 2>/dev/null | cmp - expected.10)/$(ls -A store)" \
      "0/hetsort: note: output '$name' is already complete: nothing was sorted/done//"
    cp -p kept/*.json store && rm store/hetsort-rank0.json
  done
  case $mode in *%r*) run "$hetsort" --check-manifest out.manifest; is "ended well, $mode: manifest" "$rc" 0 ;; esac
  rm -f store/*
  for f in out out.1; do if [ -e $f ]; then flip $f -1; fi; done
  sum=$(cat out* | cksum)
  unseen $mode
  is "ended well, then changed, $mode: refused, and kept" "$rc/$(grep -c -m 1 "exists; use --force" <<<"$err")/$(cat out* | cksum)" "2/1/$sum"
  for f in out out.1; do if [ -e $f ]; then cat in >$f; fi; done
  unseen $mode
  is "the input under the output's name, $mode: refused" "$rc/$(grep -c -m 1 "exists; use --force" <<<"$err")" 2/1
  rm -r kept
done
mode=$one
rm -rf store out*
sort_ -o out
sort_ --resume -o out
is "ended well, --stable: refused" "$rc/$(cmp out expected)/$err" \
  "2//hetsort: output 'out' exists; use --force to replace it (its equal keys may not be in the order of --stable)"
flip out 100
finishes "ended well, --stable, --force" no --force
rm -rf store out*
finishes "no output and no state, --stable: from the start" no
is "no output and no state, --stable: the input is read" "$(bytes_read)" $((records * 100))
rm -rf store out*

# other events in between
killed commit:0 $mode
echo mine >out
sort_ --resume $mode
is "an existing output: refused, and kept" "$rc/$(cat out)/$(complete | wc -l)" 2/mine/1
finishes "--force" "done" --force
killed commit:0 $mode
HETSORT_FAIL=stop@commit:0 "$hetsort" -s --key 0,1 --resume --workdir store $mode in 2>err &
pid=$!
await stopped $pid
echo mine >out
kill -CONT $pid; wait $pid
is "an output that appears during the sort" "$?/$(cat out)/$(grep -c "another program created the output" err)" 2/mine/1
rm out
finishes "an output that appeared during the sort, and is gone" "done"
killed commit:0 $mode
sort_ $mode
is "without --resume: refused, and kept" "$rc/$(complete | wc -l)" 2/1
touch in
sort_ --resume $mode
is "another input: refused, and kept" "$rc/$(complete | wc -l)" 2/1
run "$hetsort" --clean store out
is "--clean" "$rc/$(left)" 0/
killed commit:0 $mode
sort_ --resume -o out2
is "another output: merged again" "$rc/$(cmp out2 expected)/$(merged)" 0//no
rm out2
run "$hetsort" --clean out
is "another output: --clean of the first" "$rc/$(left)" 0/
killed commit:0 $mode
run "$hetsort" --clean out
finishes "--clean of only the output" no
rm -f out
sync=''
HETSORT_FAIL=kill@commit:0 sort_ --no-fsync $mode
finishes "waiting for the disk only now" "done"
rm out
run "$hetsort" -v --resume --workdir store $mode in
ok "-v says nothing where nothing was complete" test "$(grep -c "the output was complete" <<<"$err")" -eq 0
killed commit:0 $mode
run "$hetsort" -v -s --key 0,1 --resume --workdir store $mode in
ok "-v says what was complete" grep -q "^ *the output was complete, nothing was merged$" <<<"$err"
done_testing
