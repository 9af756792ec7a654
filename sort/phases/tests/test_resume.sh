#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# --workdir and --resume: a job that is killed in any phase continues with the same output, byte for byte, and
# kept runs are not read again. Runs of another sort are refused, damaged ones are found. Failing calls
# and lies are sampled except in check-long (HETSORT_LONG).
# shellcheck disable=SC2086,SC2317,SC2016  # modes are several words; functions are called through others;
# sed has $ as well
set -u
. "$ROOT/scripts/tap.sh"
. "$ROOT/sort/phases/tests/checkpoints.sh"
records=200000 every=5
[ -z "${HETSORT_LONG:-}" ] || every=1
hetsort=$BIN/failpoints/hetsort
begin_with $records

field() { sed -n "s/^ *\"$1\": \"\{0,1\}\([^\",]*\).*/\1/p" report; }
sum() { field "$1" | awk '{ n += $1 } END { print n + 0 }'; }
sort_() { run timeout -s KILL 120 "$hetsort" -s --key "${key:-0,1}" --report report --workdir "${store:-store}" "$@" -o out in; }
killed() { # killed POINT ARGUMENT... - a job that ends there
  local point=$1; shift
  rm -rf store out
  HETSORT_FAIL=kill@$point sort_ "$@"
}
left() { find . -name 'out*' -o -name '.hetsort-*' -o -path './store/*' | sort | paste -sd' '; }
finishes() { # finishes NAME ARGUMENT... - --resume succeeds, and no file is left
  local name=$1; shift
  sort_ --resume "$@"
  is "$name: continues" "$rc/$err/$(cmp out expected 2>&1)/$(left)" "0///./out"
}
refuses() { # refuses NAME WORDS ARGUMENT... - and changes no file
  local name=$1 words=$2 before; shift 2
  before=$(ls store)
  sort_ "$@"
  is "$name: refused" "$rc/$(ls store)" "2/$before"
  case $err in *"$words"*) ok "$name: message" true ;; *) is "$name: message" "$err" "...$words..." ;; esac
}

# killed in every phase
for mode in "--ranks 1" "--ranks 3"; do
  ranks=${mode#--ranks }
  for phase in describe plan read checkpoint sample split merge exchange write sync commit; do
    case $ranks/$phase in 1/sample | 1/split | 1/exchange) continue ;; esac
    rank=$((ranks / 2))
    killed $phase:$rank $mode
    is "killed in $phase, $mode: exit code, output" "$rc/$(ls out 2>/dev/null)" 137/
    is "killed in $phase, $mode: left over" \
      "$(find . -name '*.run*' ! -path './store/hetsort-rank[0-9].run*' -o -name '.hetsort-*' ! -name '*-out.*' ! -path './store/*')" ""
    finishes "killed in $phase, $mode" $mode
    saved=$(sum bytes_not_read)
    case $phase in
      describe | plan | read) is "killed in $phase, $mode: bytes not read again" "$saved" 0 ;;
      checkpoint) # a rank's first run of one or more, while other ranks may have saved all of theirs
        ok "killed in $phase, $mode: some bytes are not read again ($saved)" \
          test "$saved" -gt 0 -a "$saved" -lt $((records * 100 + (ranks > 1))) ;;
      *) is "killed in $phase, $mode: bytes not read again" "$saved/$(field read | sort -u | head -n 1)" \
        "$((records * 100))/0" ;;
    esac
  done
done
ok "the report says which phase is done" grep -q '"read": "done"' report
for phase in checkpoint merge; do
  killed $phase:0 --ranks 1
  HETSORT_FAIL=kill@write:0 sort_ --resume --ranks 1
  is "killed in $phase, then again" "$rc" 137
  finishes "killed in $phase, then again" --ranks 1
done
rm -f out
sort_ --ranks 2
is "without a failure" "$rc/$(cmp out expected)/$(left)" 0//./out
rm -f out
sort_ --ranks 2 --resume
is "--resume where nothing was begun" "$rc/$(cmp out expected)/$(sum bytes_not_read)" 0//0
is "only we may use the workdir" "$(stat -c %a store)" 700
rm -rf out store
sort_ --ranks 2 --resume --no-fsync --memory 300M --direct always
is "other ways to read and write" "$rc/$(cmp out expected)/$(left)" 0//./out

# other limits than before; a rank that has lost its disk
killed merge:0 --ranks 3
is "all in the workdir has mode 600: states, runs, locks" \
  "$(find store -type f ! -perm 600; find store -name '*.json' -o -name '.*.lock' | wc -l)" 6
finishes "with less memory and other threads" --ranks 3 --memory 300M --threads 1
killed merge:0 --ranks 3
rm store/hetsort-rank1.*
finishes "a rank has lost all" --ranks 3
is "a rank has lost all: its share is read again" "$(field bytes_not_read | sort -n | head -n 1)" 0
killed merge:0 --ranks 3
rm store/hetsort-rank2.json
sort_ --resume --ranks 3
is "a rank has lost its state: continues, and its runs stay, which no state notes" \
  "$rc/$(cmp out expected)/$(left)/$(grep -c "hetsort: note: 'hetsort-rank2.run[01]' and 1 more in workdir 'store' stay, because no state" <<<"$err")" \
  "0//./out ./store/hetsort-rank2.run0 ./store/hetsort-rank2.run1/1"

# SIGUSR1: the current run is the last
rm -rf out store
HETSORT_FAIL=delay@checkpoint:0=2 "$hetsort" -s --key 0,1 --report report --workdir store --threads 1 -o out in 2>err &
pid=$!
await eval 'has_checkpoint 0 || [ ! -d /proc/$pid ]'
kill -s USR1 $pid
wait $pid
is "USR1: exit code, output" "$?/$(ls out 2>/dev/null)" "$((128 + $(kill -l USR1)))/"
ok "USR1: message" grep -q "stopped by SIGUSR1; --resume continues from here" err
finishes "USR1"
ok "USR1: some bytes are not read again" test "$(sum bytes_not_read)" -gt 0

# runs of another sort are refused, and stay
killed merge:1 --ranks 3
refuses "without --resume" "holds a sort that has not ended: --resume continues it, --clean removes it" --ranks 3
key=0,2 refuses "other key" "with the key '0,1', not of 100 with '0,2'" --resume --ranks 3
refuses "other records" "has records of 100 bytes" --resume --ranks 3 --record-size 50
head -c 100 in >in2
refuses "another input more" "has 1 input file, not 2" --resume --ranks 3 in2
mv in kept && cp -p kept in
refuses "a copy of the input" "was replaced by another file since" --resume --ranks 3
mv kept in && cp -p in was && touch in
refuses "an input that was touched" "input 'in' has changed since" --resume --ranks 3
head -c 100 was >>in && touch -r was in
refuses "an input that has grown" "input 'in' has changed its size since" --resume --ranks 3
truncate -s -100 in && touch -r was in
refuses "an input that was changed, and its time set back" "input 'in' has changed since" --resume --ranks 3
killed merge:0
chmod 770 store
refuses "a workdir that others can write" "must belong to you and be writable by nobody else" --resume
chmod 700 store
rm -rf other && cp -r store other && rm other/.hetsort-*
killed merge:0 --ranks 2
cp other/hetsort-rank0.json store/hetsort-rank1.json && sed -i 's/"rank": 0/"rank": 1/; s/"ranks": 1/"ranks": 2/' store/*1.json
refuses "a copy of another sort's state" "the states of ranks 0 and 1 in workdir 'store' are of different sorts: use another workdir, or remove them with --clean" --resume --ranks 2
sed -i 's/"rank": 1/"rank": 2/; s/"ranks": 2/"ranks": 3/' store/*1.json
refuses "a state under another rank's name" "state 'store/hetsort-rank1.json' is of rank 2, not of rank 1" --resume --ranks 2
sed -i 's/"ranks": 3/"ranks": 2/' store/*1.json
refuses "a rank that its job has not" "state 'store/hetsort-rank1.json': its sizes are impossible" --resume --ranks 2
for options in "--resume" "--workdir w --tmpdir ." "--workdir w --source root" "--workdir w --strategy distribute" \
  "--workdir="; do
  run "$hetsort" $options -o out in
  is "refused: $options" "$rc/$(ls -d out w 2>/dev/null)" 2/
done
run "$hetsort" --workdir w -o out - <in
is "refused: standard input" "$rc/$(ls out 2>/dev/null)" 2/
run "$hetsort" --explain --workdir w2 -o out in
is "--explain makes nothing" "$rc/$(ls -d w2 2>/dev/null)" 0/

# damage is found: of checkpoints when runs are taken over, of blocks when they are merged
damages() { # damages NAME COMMAND... - a run without a checkpoint is made again
  local name=$1; shift
  killed merge:0
  "$@"
  finishes "$name"
  ok "$name: it is read again" test "$(sum bytes_not_read)" -lt $((records * 100))
}
run0=store/hetsort-rank0.run0
damages "run missing" rm $run0
damages "run cut" truncate -s -1 $run0
damages "run cut to nothing" truncate -s 0 $run0
damages "run with more" truncate -s +1 $run0
damages "run is another" cp store/hetsort-rank0.run1 $run0
damages "bit of a sample" flip $run0 -5
damages "run of another sort" cp other/hetsort-rank0.run0 $run0
for at in 0 1000000 4000000; do
  killed merge:0
  flip $run0 $at
  sort_ --resume
  is "bit $at of a record: exit code, output" "$rc/$(ls out 2>/dev/null)" 3/
  ok "bit $at of a record: message" grep -q "block [0-9]* of run 0 is damaged; use --resume to write it again" <<<"$err"
  finishes "bit $at of a record: a second --resume"
done
killed merge:0
HETSORT_FAIL=flip@spill:1 store=work2 sort_
is "bit that flips on its way to the disk" "$rc/$(ls out 2>/dev/null)" 3/
mv work2 work3 && rm -rf store && mv work3 store
finishes "bit that flips on its way to the disk"
# a complete run of the same sort, of another rank or with other records than were read, under a run's name
swaps() { mv store/hetsort-rank0.run0 swap && mv store/hetsort-rank1.run0 store/hetsort-rank0.run0 && mv swap store/hetsort-rank1.run0; }
for how in "cp store/hetsort-rank0.run0 store/hetsort-rank1.run0" "ln -f store/hetsort-rank0.run0 store/hetsort-rank1.run0" swaps; do
  killed merge:0 --ranks 2
  $how
  finishes "run of another rank: ${how%% *}" --ranks 2
  ok "run of another rank: ${how%% *}: it is read again" test "$(sum bytes_not_read)" -lt $((records * 100))
done
damages "checksum of a run in the state" sed -i 's/"checksum": "[0-9a-f]\(.*\)[0-9a-f]"/"checksum": "0\10"/' store/hetsort-rank0.json
damages "records of a run in the state" sed -i '0,/"records": /s/"records": /"records": 1/' store/hetsort-rank0.json
damages "place of a run in the state" sed -i '0,/"first": /s/"first": [0-9]*/"first": 7/' store/hetsort-rank0.json
damages "samples of a run in the state" sed -i '0,/"sample_stride": /s/"sample_stride": /"sample_stride": 1/' store/hetsort-rank0.json
killed merge:0
sed -i 's/"number": 1,/"number": 77,/' store/hetsort-rank0.json
sort_ --resume
is "number of a run in the state: it is read again, and the file stays that is not noted any more" \
  "$rc/$(cmp out expected)/$(left)/$(grep -c "'hetsort-rank0.run1' in workdir 'store' stays, because no state says that hetsort made it" <<<"$err")" \
  "0//./out ./store/hetsort-rank0.run1/1"
ok "number of a run in the state: it is read again" test "$(sum bytes_not_read)" -lt $((records * 100))
state=store/hetsort-rank0.json
spoils() { # spoils NAME WORDS COMMAND...
  local name=$1 words=$2; shift 2
  rm -rf store out && cp -rp other store
  "$@"
  refuses "$name" "$words" --resume
}
change() { sed -i "$1" $state; ! cmp -s $state other/hetsort-rank0.json || echo "# unchanged: $1"; }
spoils "state empty" "line 1" truncate -s 0 $state
spoils "state cut" "'store/hetsort-rank0.json' is not a valid state: line" truncate -s 200 $state
spoils "state is a directory" "not a regular file" sh -c "rm $state && mkdir $state"
spoils "state too long" "larger than" truncate -s 65M $state
spoils "other format" "not a state of hetsort" change 's/hetsort-state/hetsort-report/'
spoils "format's version" "another version" change 's/"version": 4/"version": 3/'
spoils "program's version" "another version" change 's/"hetsort": "/"hetsort": "1/'
spoils "no job" "sizes are impossible" change 's/"job": "/"job": "x/'
spoils "unknown member" "not a state of hetsort" change 's/"rank": 0/"rank": 0, "more": 1/'
spoils "a state of the version before" "was written by another version of hetsort: use that version to resume it, or to remove it with --clean" \
  cp "$ROOT/sort/spill/tests/corpus/resume_state/old-version" $state
spoils "a run of no records" "its runs are impossible" change 's/"records": [0-9]*/"records": 0/'
spoils "a run beyond all" "its runs are impossible" change 's/"first": [0-9]*/"first": 9223372036854775807/'
spoils "a run without samples" "its runs are impossible" change 's/"sample_stride": [0-9]*/"sample_stride": 0/'
spoils "a run of no file" "its runs are impossible" change 's/"number": 0/"number": -1/'
spoils "a run twice" "two runs have the same file" change 's/"number": 1,/"number": 0,/'
spoils "a run that is a word" "its runs are impossible" change 's/"runs": \[/"runs": [ null,/'
spoils "a run without a checksum" "its runs are impossible" change 's/"checksum": "[0-9a-f]*"/"checksum": "0"/'
spoils "no inputs" "has 0 input files" change '/"inputs"/,/^  ]/c "inputs": [],'
rm -rf store other

# the states of two sorts, each valid by itself
killed merge:0 --ranks 2
mv store other
killed merge:0 --ranks 2
cp other/hetsort-rank1.* store
rm -r other
refuses "states of two sorts" "the states of ranks 0 and 1 in workdir 'store' are of different sorts: use another workdir, or remove them with --clean" --resume --ranks 2

# calls on files that fail from the first look at the workdir on; after the output is complete they are not an error
for n in $(seq 1 $every 40); do
  rm -rf store out
  HETSORT_FAIL=file:$n sort_ --ranks 1
  [ "$rc" = 0 ] || is "call $n on a file fails: exit code, output, message" \
    "$((rc == 2 || rc == 3))/$(ls out 2>/dev/null)/${err%%: *}" 1//hetsort
done
rm -rf store out
if [ "${SANITIZER:-coverage}" = coverage ]; then # the shim and the sanitizers replace the same calls
  run env HETSORT_SHIM=unlink:1+=EACCES LD_PRELOAD="$OBJ/shim.so" "$hetsort" -s --key 0,1 --workdir store -o out in
  is "kept runs that cannot be removed" "$rc/$(cmp out expected)/$err" \
    "0//hetsort: note: the output is complete; cannot empty the workdir: Permission denied"
  rm -rf store out .hetsort-*
  killed checkpoint:0 --threads 1
  rm store/.hetsort-*.lock .hetsort-*.lock # locks that stay are refused before
  run env HETSORT_SHIM=unlink:1+=EACCES LD_PRELOAD="$OBJ/shim.so" "$hetsort" -s --key 0,1 --workdir store --resume -o out in
  is "incomplete runs that cannot be removed: exit code, output" "$rc/$(ls out 2>/dev/null)" 3/
  ok "incomplete runs that cannot be removed: message" \
    grep -q "cannot remove run [0-9]* of rank 0 in 'store': Permission denied" <<<"$err"
fi
rm -rf store .hetsort-*

# two jobs with one workdir; --clean
killed merge:0 --ranks 2
HETSORT_FAIL=stop@merge:0 "$hetsort" -s --key 0,1 --resume --workdir store --ranks 2 -o out in &
pid=$!
await stopped $pid
run "$hetsort" -s --key 0,1 --resume --workdir store --ranks 2 -o out2 in
is "two jobs: the second" "$rc/$(grep -c "is being made by another job, 'process $pid .*(and on 1 more rank)$" <<<"$err")" 2/1
run "$hetsort" --clean store
is "--clean of a job that lives" "$rc" 2
{ sleep 1 && kill -KILL $pid; } &
run "$hetsort" -s --key 0,1 --resume --workdir store --ranks 2 -o out2 in
is "two jobs: the first is about to end" "$rc/$(cmp out2 expected)" 0/
wait $pid 2>/dev/null
rm -f out2
# an allocation fails: an error and no crash, and a job with enough memory cleans the rest
codes=''
for n in 2 3 4 5 6; do
  killed merge:0 --ranks 2
  HETSORT_FAIL=alloc:$n run "$hetsort" --clean store
  codes+="$rc "
  "$hetsort" -q --clean store out 2>/dev/null
  codes+="$(left)"
done
is "--clean: memory runs out" "$codes" "4 4 4 4 4 "
killed merge:0 --ranks 2
touch store/mine
run "$hetsort" --clean -v store out
is "--clean" "$rc/$(left)" "0/./store/mine"
rm -rf store
killed plan:1 --ranks 2
run "$hetsort" --clean store out
is "--clean: only a lock" "$rc/$(left)" 0/
killed merge:0 --ranks 2
rm store/*.json
rm -f .hetsort-*
sort_ --ranks 2
is "runs without a state stay" "$rc/$(cmp out expected)/$(find store -type f | wc -l)/$(grep -c "and 5 more in workdir 'store' stay" <<<"$err")" 0//6/1
run "$hetsort" --clean store
is "runs without a state: --clean names one of them" "$rc/$(find store -type f | wc -l)/${err% *.run*}/${err#*run[0-9]}" \
  "0/6/hetsort: 'store': nothing to clean;/' and 5 more stay, because nothing proves that hetsort made them"

rm -rf store && mkdir -m 700 store && cp in store/hetsort-rank0.run5
run "$hetsort" -s --key 0,1 --workdir store -o out3 store/hetsort-rank0.run5
is "an input with the name of a run is refused" "$rc/$(cmp in store/hetsort-rank0.run5)/$(ls out3 store)/$err" \
  "2//store:
hetsort-rank0.run5/hetsort: the workdir's 'hetsort-rank0.run5' is the same file as input 'store/hetsort-rank0.run5'"

# sizes; own inputs and outputs
for n in 0 1 2 7; do
  for p in 1 3; do
    head -c $((n * 100)) in >few
    rm -rf few.out w
    HETSORT_FAIL=kill@merge:0 run "$hetsort" --workdir w --ranks $p -o few.out few
    is "$n records, $p ranks: killed" "$rc" 137
    run "$hetsort" --resume --workdir w --ranks $p -o few.out few
    "$BIN/hetsort" -f -o few.wanted few
    is "$n records, $p ranks: continues" "$rc/$(cmp few.out few.wanted)/$(ls -A w)" "0//"
  done
done
hurt='' first=15
for more in "" "--speeds auto"; do # so that each kind of lie is met
  for ((n = first; n < 45; n += every)); do
    rm -rf few.out w
    # shellcheck disable=SC2086  # several
    HETSORT_FAIL=lie:$n run "$hetsort" --resume --workdir w --timeout 5 $more -o few.out few
    [ "$rc" -le 6 ] || hurt+=" lie:$n=$rc"
  done
  [ $every = 1 ] || first=19 every=6
done
is "what ranks hear of their states is not the truth" "$hurt" ""
split -n 3 -d -a 1 --additional-suffix=.part in in.
truncate -s 6666600 in.0.part && truncate -s 6666600 in.1.part && tail -c $((20000000 - 13333200)) in >in.2.part
head -c 13333200 in | tail -c 6666600 >in.1.part
rm -rf store
HETSORT_FAIL=kill@commit:1 run "$hetsort" --workdir store --ranks 3 -s --key 0,1 -o 'out.%r' 'in.%r.part'
is "files of each rank: killed" "$rc" 137
run "$hetsort" --resume --workdir store --ranks 2 -s --key 0,1 -o 'out.%r' 'in.%r.part'
is "files of each rank, and other ranks: refused" "$rc/$(grep -c "use one rank per part" <<<"$err")" 2/1
run "$hetsort" --resume --workdir store --ranks 3 -s --key 0,1 -o 'out.%r' 'in.%r.part'
is "files of each rank: continues" "$rc/$(cat out.[012] | cmp - expected)/$(ls -A store)" 0//
run "$hetsort" --check-manifest out.manifest
is "files of each rank: manifest" "$rc" 0
done_testing
