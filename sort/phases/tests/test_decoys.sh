#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# No file is removed that hetsort did not make, whatever its name: a job is killed at many points among
# files of the user that have names like its own, then it is resumed or cleaned. And no file of hetsort stays.
# shellcheck disable=SC2086  # modes are several words
set -u
. "$ROOT/scripts/tap.sh"
records=6000
hetsort=$BIN/failpoints/hetsort
cd "$TEST_TMP" && "$BIN/gensort" --no-fsync $records in && "$BIN/hetsort" -s --key 0,1 -o expected in || exit 1

sort_() { run timeout -s KILL 120 "$hetsort" -s --key 0,1 --no-fsync --workdir d/work "$@" in; }
mark_of() { # mark_of NAME - print the mark in the hidden names of this target
  rm -rf probe && mkdir probe
  HETSORT_FAIL=kill@read:0 "$hetsort" -o "probe/$1" in 2>/dev/null
  find probe -name '*.lock' | sed 's/.*hetsort-\([0-9a-f]*\)-.*/\1/'
}
out=$(mark_of out) manifest=$(mark_of out.manifest) part=$(mark_of out.1) state=$(mark_of hetsort-rank0.json) id=0123456789abcdef
plant() { # make the user's files
  local name
  rm -rf d && mkdir -p d/tmp && mkdir -m 700 d/work
  for name in hetsort-rank0.run5 hetsort-rank0.run5.backup hetsort-rank1.run0 hetsort-rank7.run1 hetsort-rank3.json.bak \
    hetsort-rank2.jsonl hetsort-rank0.run hetsort-rank0.runaway ".hetsort-$state-$id-hetsort-rank0.json.tmp"; do
    echo "precious $name" >"d/work/$name"
  done
  : >d/work/hetsort-rank0.run1 # empty, and mine all the same
  for name in ".hetsort-$out-$id-out.tmp" ".hetsort-$part-$id-out.1.tmp" ".hetsort-$manifest-$id-out.manifest.old" out.1.old; do
    echo "precious $name" >"d/$name"
  done
  echo precious >d/tmp/.hetsort-$id.spill
  files >planted
}
files() { find d -type f ! -path d/out ! -path 'd/out.[012]' ! -path d/out.manifest | sort | xargs -d '\n' cksum; }
lost() { comm -13 <(files | sort) <(sort planted); }
kept() { files | cmp - planted 2>&1 || files | diff - planted; }
sorted() { case $1 in *%r) cat d/out.[012] ;; *) cat d/out ;; esac | cmp - expected 2>&1; }
killed() { # killed POINT ARGUMENT... - a job that ends there
  local point=$1; shift
  HETSORT_FAIL=kill@$point sort_ "$@"
}
cleaned() { # print what --clean of all names reports about remaining files
  run "$hetsort" --clean d/work "$1" d/out.manifest --ranks 3
  echo "$rc/$(grep -c "work.*'.* and 4 more stay, because nothing proves that hetsort made them" <<<"$err")"
}

for mode in "--ranks 1 -o d/out" "--ranks 3 -o d/out" "--ranks 3 -o d/out.%r"; do
  for at in describe plan read checkpoint sample split merge exchange write sync complete commit named; do
    case $mode/$at in --ranks\ 1*/sample | --ranks\ 1*/split | --ranks\ 1*/exchange) continue ;; esac
    rank=$(case $mode in *1\ *) echo 0 ;; *) echo 1 ;; esac)
    [ $at != named ] || rank=0
    plant
    killed $at:$rank $mode
    is "killed in $at, $mode: all of the user's files" "$rc/$(lost)" 137/
    sort_ --resume $mode
    is "killed in $at, $mode, then resumed: the output, and the user's files only" "$rc/$(sorted "$mode")/$(kept)" 0//
    plant
    killed $at:$rank $mode
    is "killed in $at, $mode, then cleaned: status, message" "$(cleaned "${mode##* }")" 0/1
    is "killed in $at, $mode, then cleaned: the user's files only" "$(kept)" ""
  done
done
sort_ --ranks 2 -f -o d/out
is "without a failure" "$rc/$(sorted d/out)/$(kept)" 0//
ok "and it names one that stays" grep -q "note: '.*' and . more in workdir 'd/work' stay, because no state says that hetsort made them" <<<"$err"
plant
for at in read merge sync commit; do
  HETSORT_FAIL=kill@$at:0 "$hetsort" -s --key 0,1 --memory 20M --threads 1 --tmpdir d/tmp -o d/out in 2>/dev/null
  is "killed in $at with --tmpdir: the user's files" "$(lost)" ""
done
run "$hetsort" -s --key 0,1 --tmpdir d/tmp -o d/out in
is "then a job that ends well: the user's files only" "$rc/$(sorted d/out)/$(kept)" 0//

# an output in the workdir, under the name of a run or of a state
for name in hetsort-rank0.run3 hetsort-rank0.json hetsort-rank9.json; do
  rm -rf d && mkdir -p d/tmp && mkdir -m 700 d/work
  sort_ --ranks 2 -o d/work/$name
  is "an output that is called $name: complete, or refused" \
    "$(case $rc in 0) cmp d/work/$name expected ;; 2) find d -type f ;; *) echo "$rc $err" ;; esac)" ""
done

# the leftovers of a killed job are the input of this one
left_by() { rm -rf d out* && mkdir d && HETSORT_FAIL=kill@sync:0 "$hetsort" -s --key 0,1 "$@" in 2>/dev/null; }
left_by -o d/out
temp=$(find d -name '*.tmp')
run "$hetsort" -s --key 0,1 -o d/out "$temp"
is "its output under the temporary name" "$rc/$(cmp d/out expected)/$(cmp "$temp" expected)/$(find d -name '*.lock')" 0///
left_by -o d/out
temp=$(find d -name '*.tmp')
ln -s "$temp" link
run "$hetsort" -s --key 0,1 -o d/out link
is "the same through a link" "$rc/$(cmp d/out expected)/$(cmp "$temp" expected)" 0//
left_by --ranks 2 -o d/out.%r
ln -sf "$(find d -name '*-out.0.tmp')" in.1 && head -c 1000 in >in.0
run "$hetsort" -s --key 0,1 --ranks 2 -o d/out.%r in.%r
is "the same, of another rank" "$rc/$(cat d/out.[01] | wc -c)/$(wc -c <in.1)" "0/$((1000 + $(stat -Lc %s in.1)))/$(stat -Lc %s in.1)"
left_by -o d/out
lock=$(find d -name '*.lock')
run "$hetsort" --record-size 1 --key 0,1 -o d/out "$lock"
is "its lock" "$rc/$(grep -c "'${lock#d/}' next to it is an input: give it another name" <<<"$err")/$(wc -l <"$lock")/$(ls d/out 2>/dev/null)" 2/1/3/

# a state is a file of its own
rm -rf d && mkdir -p d/tmp
killed merge:0 --ranks 2 -o d/out
mv d/work/hetsort-rank1.json elsewhere && ln -s ../../elsewhere d/work/hetsort-rank1.json
sort_ --resume --ranks 2 -o d/out
is "a state that is a link: refused" "$rc/$(grep -c "state 'd/work/hetsort-rank1.json' is a symbolic link" <<<"$err")/$(ls d/out 2>/dev/null)" 2/1/
run "$hetsort" --clean d/work
is "a state that is a link: --clean leaves it, and its runs" "$rc/$(ls d/work)" "2/hetsort-rank1.json
hetsort-rank1.run0"
mv elsewhere d/work/hetsort-rank1.json
run "$hetsort" --clean d/work d/out
is "--clean removes the directory as well, which the job made" "$rc/$(find d | sort | paste -sd' ')" "0/d d/tmp"
cp "$ROOT/sort/spill/tests/corpus/resume_state/old-version" old && mkdir -m 700 d/work && cp old d/work/hetsort-rank0.json
run "$hetsort" --clean d/work
is "--clean of a state of another version: refused" \
  "$rc/$(cmp old d/work/hetsort-rank0.json)/$(grep -c "use that version to resume it, or to remove it with --clean" <<<"$err")" 2//1

# a directory that the job made is removed with it, whatever it contains
for at in plan read merge commit; do
  rm -rf d && mkdir -p d/tmp
  killed $at:1 --ranks 3 -o d/out
  killed $at:0 --resume --ranks 2 -o d/out
  run "$hetsort" --clean d/work d/out
  is "killed in $at by 3 ranks, then 2: --clean leaves nothing" "$rc/$(find d | sort | paste -sd' ')" "0/d d/tmp"
  rm -rf d && mkdir -p d/tmp && mkdir -m 700 d/work
  killed $at:1 --ranks 3 -o d/out
  run "$hetsort" --clean d/work d/out
  is "killed in $at: --clean leaves a directory of the user's" "$rc/$(find d | sort | paste -sd' ')" "0/d d/tmp d/work"
done
for other in 0 1 2; do # whichever rank made it, also one that the next job does not have
  rm -rf d && mkdir -p d/tmp
  killed plan:1 --ranks 3 -o d/out
  note=$(grep -h '^9 .*[1-9a-f]' d/work/.hetsort-*.lock | grep -v ' 0\{16\}$')
  sed -i "s/^9 .*/9$(printf ' %016d' 0 0 0 0)/" d/work/.hetsort-*.lock
  sed -i "s/^9 .*/$note/" d/work/.hetsort-*-hetsort-rank$other.json.lock
  killed plan:0 --resume --ranks 2 -o d/out
  run "$hetsort" --clean d/work d/out
  is "made by rank $other of 3, then killed twice in plan: --clean leaves nothing" "$rc/$(find d | sort | paste -sd' ')" "0/d d/tmp"
done
for other in 0 1; do # the state of the rank that made it may be cleaned before the others
  rm -rf d && mkdir -p d/tmp
  killed plan:1 --ranks 2 -o d/out
  note=$(grep -h '^9 .*[1-9a-f]' d/work/.hetsort-*.lock | grep -v ' 0\{16\}$')
  sed -i "s/^9 .*/9$(printf ' %016d' 0 0 0 0)/" d/work/.hetsort-*.lock
  sed -i "s/^9 .*/$note/" d/work/.hetsort-*-hetsort-rank$other.json.lock
  killed merge:0 --resume --ranks 2 -o d/out
  mv d/work/hetsort-rank1.json elsewhere && ln -s ../../elsewhere d/work/hetsort-rank1.json
  run "$hetsort" --clean d/work
  mv elsewhere d/work/hetsort-rank1.json
  run "$hetsort" --clean d/work d/out
  is "made by rank $other of 2, cleaned in two steps: nothing stays" "$rc/$(find d | sort | paste -sd' ')" "0/d d/tmp"
done
done_testing
