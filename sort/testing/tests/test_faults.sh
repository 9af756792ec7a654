#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# System calls of hetsort fail, in every strategy and exchange mode: short and interrupted calls, and errors of each call
# at each place. No job hangs; the exit code is right, the message gives phase, file and reason, and no final name and
# no temporary file exists. Each mode takes every second error, so that each error meets half of the modes; with
# HETSORT_LONG=1 it takes all.
set -u
. "$ROOT/scripts/tap.sh"
[ "${SANITIZER:-coverage}" = coverage ] || skip_all "the shim and the sanitizers replace the same calls"
cd "$TEST_TMP" || exit 1
hetsort=$BIN/hetsort
"$BIN/gensort" --no-fsync -b7000 1000 other && "$BIN/gensort" --no-fsync 150000 in && "$hetsort" -o expected in || exit 1

shim() { local plan=$1; shift; run timeout 60 env HETSORT_SHIM="$plan" LD_PRELOAD="$OBJ/shim.so" "$@"; }
left_over() { find . -name '.hetsort-*' -o -name 'out*' | sort | paste -sd' '; }

fails() { # fails PLAN CODE WORDS ARGUMENT... - the sort fails with this code and message
  local plan=$1 code=$2 words=$3 name; shift 3
  name="$plan, ${*//[^a-z0-9 =%-]/}"
  shim "$plan" "$hetsort" "$@" in
  is "$name: exit code, left over" "$rc/$(left_over)" "$code/"
  case $err in *"$words"*) ok "$name: message" true ;; *) is "$name: message" "$err" "...$words..." ;; esac
}

modes=0
in_turn() { # in_turn ARGUMENT... - check `fails` for every second error of this mode
  turn=$((turn + 1))
  if [ $((turn % 2)) -eq 1 ] || [ -n "${HETSORT_LONG:-}" ]; then fails "$@"; fi
}
for mode in "--ranks 1" "--ranks 1 --threads 1" "--ranks 3 --exchange-threads 0" \
  "--ranks 3 --exchange-threads 1" "--ranks 3 --exchange-threads 2" \
  "--ranks 3 --strategy distribute"; do
  modes=$((modes + 1)) turn=$modes
  mode="$mode --direct never" # a direct transfer that fails is repeated through the page cache
  # shellcheck disable=SC2086  # the mode is several words
  {
    shim short "$hetsort" $mode -o out in
    is "short and interrupted calls, $mode" "$rc/$err/$(cmp -s out expected && echo same)" "0//same"
    rm -f out
    in_turn read:1+=EIO 3 "cannot read 'in' at byte 0: Input/output error" $mode -o out
    in_turn read:2+=EIO 3 "cannot read 'in' at byte" $mode -o out
    in_turn write:1+=ENOSPC 4 "cannot write the lock of 'out': No space left on device" $mode -o out
    in_turn write:4+=EIO 3 "cannot write 'out': Input/output error" $mode -o out
    in_turn write:4+=ENOSPC 4 "cannot write 'out': No space left on device" $mode -o out
    [ "$(stat -f -c %T .)" = tmpfs ] || in_turn fallocate:1+=ENOSPC 4 "cannot reserve 15.0 MB for 'out': No space left" $mode -o out
    in_turn fsync:1+=EIO 3 "cannot sync 'out': Input/output error" $mode -o out
    in_turn rename:1+=EIO 3 "cannot rename onto 'out': Input/output error" $mode -o out
    case $mode in # only large allocations count; the windows of ranks on one host are not among them
      "--ranks 1"*) allocs=1 ;; # the records are mapped
      *distribute*) allocs="1 2 3 4 5 6" ;;
      *) allocs="1 2 3" ;;
    esac
    for n in $allocs; do in_turn alloc:$n+=ENOMEM 4 "no memory for" $mode -o out; done
  }
done
for calls in read:1+=EIO write:1+=ENOSPC; do
  shim $calls "$hetsort" --direct always -o out in
  is "$calls: also past the page cache" "$((rc > 2))/$(left_over)" "1/"
done
shim short "$hetsort" --direct always -o out in
is "short and interrupted calls past the page cache" "$rc/$(cmp -s out expected && echo same)" "0/same"
rm -f out
# other sources and targets: pipes, runs on disk, a scattered input, parts with a manifest
mkdir spill work
short() { # short NAME COMMAND... - the command sorts `in` to `out`
  local name=$1; shift
  shim short "$@"
  is "short and interrupted calls, $name" "$rc/$err/$(cmp -s out expected && echo same)" "0//same"
  rm -f out
}
# shellcheck disable=SC2016  # inner shells expand
{
  short "pipes" bash -o pipefail -c 'cat in | "$0" -o - - | cat >out' "$hetsort"
  for direct in never always; do
    short "runs on disk, --direct $direct" "$hetsort" --memory 16M --tmpdir spill --direct $direct -o out in
    short "runs of standard input, --direct $direct" \
      bash -c 'cat in | "$0" --memory 16M --tmpdir spill --direct '$direct' -o out -' "$hetsort"
    short "kept runs, --direct $direct" "$hetsort" --memory 16M --workdir work --direct $direct -o out in
  done
  for scatter in balanced dynamic; do
    short "scattered, $scatter" "$hetsort" --ranks 3 --source root --scatter $scatter -o out in
  done
  short "parts and their check" bash -c '"$0" --ranks 3 -o out.%r in && "$0" --check-manifest out.manifest >&- &&
    cat out.[0-2] >out && rm out.*' "$hetsort"
}
ok "runs on disk: sorted" "$hetsort" --memory 16M --tmpdir spill --report report -o out in
ok "runs on disk: more than one" grep -Eq '"spill_runs": ([2-9]|[1-9][0-9])' report
rm -f out report
shim thread:1+=EAGAIN "$hetsort" --threads 4 -o out in
is "threads that cannot be started: sorted without them" "$rc/$(cmp -s out expected && echo same)" "0/same"
rm -f out
shim fallocate:1+=EOPNOTSUPP "$hetsort" -o out in
is "a file system that cannot reserve" "$rc/$(cmp -s out expected && echo same)" "0/same"
rm out
fails write:1+=ENOSPC 4 "cannot write the lock of 'out.0': No space left" --ranks 3 -o out.%r
fails fsync:2+=EIO 3 "cannot sync 'out." --ranks 3 -o out.%r
fails thread:1+=EAGAIN 4 "cannot start thread 1 of 3" --ranks 3 -o out
fails thread:3+=EAGAIN 4 "cannot start thread 2 of 3" --ranks 3 -o out
shim thread:4+=EAGAIN "$hetsort" --ranks 3 -o out in
is "exchange threads that cannot be started: the main thread does their work" "$rc/$(cmp -s out expected && echo same)" "0/same"
rm out
fails read:1+=ESTALE 3 "cannot read 'in' at byte 0: Stale file handle" --direct never -o out
fails write:4+=EDQUOT 4 "cannot write 'out': Disk quota exceeded" --direct never -o out
fails close:6+=EIO 3 "Input/output error" --ranks 3 -o out.%r
shim fsync:1+=EIO "$hetsort" --no-fsync -o out in
is "--no-fsync syncs nothing" "$rc" 0
rm out
cp in grown
HETSORT_SHIM_FILE=grown shim resize=4000000 "$hetsort" -o out grown
is "input cut short during the sort" "$rc/$(left_over)" "3/"
cp in grown
HETSORT_SHIM_FILE=grown shim resize=16000000 "$hetsort" -o out grown
is "input grown during the sort" "$rc/$(left_over)" "3/"
ok "input grown during the sort: message" grep -q "'grown' changed while it was being read" <<<"$err"

# a directory that cannot be synced: before the renames the job fails cleanly, after them the output is complete
fails fsync:2+=EIO 3 "cannot sync the directory of 'out': Input/output error" -o out
complete="is complete, but its name may not outlast a loss of power: cannot sync its directory: Input/output error"
shim fsync:3+=EIO "$hetsort" -o out in
is "a directory not synced after the rename: output" "$rc/$(left_over)/$(cmp out expected)" "3/./out/"
ok "a directory not synced after the rename: message" grep -q "'out' $complete" <<<"$err"
rm out
fails fsync:6+=EIO 3 "cannot sync the directory of 'out." --ranks 3 -o out.%r
shim fsync:9+=EIO "$hetsort" --ranks 3 -o out.%r in
is "directories of parts not synced: parts, and the journal of their manifest" \
  "$rc/$(left_over | sed 's/hetsort-[0-9a-f-]*/J/')/$(cat out.[0-2] | cmp - expected)" \
  "3/./.Jout.manifest.commit ./out.0 ./out.1 ./out.2/"
ok "directories of parts not synced: message" grep -q "finishing: 'out.[0-2]' $complete" <<<"$err"
ok "directories of parts not synced: the command that helps" \
  grep -q "^hetsort: note: all parts of 'out.manifest' are complete; hetsort --clean gives them their names$" <<<"$err"
"$hetsort" --clean -q out.manifest
ok "directories of parts not synced: --clean completes the set" "$hetsort" --check-manifest out.manifest
rm out.*
shim fsync:6+=EIO "$hetsort" -o out.%r in
is "the directory of the manifest not synced: all files exist" "$rc/$(left_over)" "3/./out.0 ./out.manifest"
ok "the directory of the manifest not synced: message" grep -q "'out.manifest' $complete" <<<"$err"
ok "the directory of the manifest not synced: the set is right" "$hetsort" --check-manifest out.manifest
cp -a out.0 before
for plan in write:2+=ENOSPC fsync:2+=EIO fsync:3+=EIO fsync:4+=EIO rename:1+=EIO; do
  shim $plan "$hetsort" --force -o out.%r other
  is "$plan: --force, with an error before the journal exists" "$((rc == 3 || rc == 4))/$(left_over)/$(cmp out.0 before)" \
    "1/./out.0 ./out.manifest/"
  ok "$plan: the old set is complete" "$hetsort" --check-manifest out.manifest
done
shim rename:2+=EIO "$hetsort" --force -o out.%r other
is "an old manifest that cannot be put aside: exit code" "$rc/$(cmp out.0 before)" 3/
ok "an old manifest that cannot be put aside: message" grep -q "cannot put the old 'out.manifest' aside: Input/output error" <<<"$err"
"$hetsort" --clean -q out.manifest
is "an old manifest that cannot be put aside: --clean completes the new set" "$("$hetsort" --check-manifest out.manifest; echo $?)/$(cmp -s out.0 before; echo $?)" 0/1
rm -f out.* before .hetsort-*

# a file system that reports success and does nothing
for ranks in 1 3; do
  shim write:4=lie "$hetsort" --direct never --ranks $ranks -o out other
  is "a write that is not done, $ranks ranks" "$rc/$(left_over)" 3/
  ok "a write that is not done, $ranks ranks: message" \
    grep -q "'out' is not as it was written: record [0-9]* differs" <<<"$err"
  shim rename:1=lie "$hetsort" --ranks $ranks -o out other
  is "a rename that is not done, $ranks ranks" "$rc/$(ls out 2>/dev/null)" 3/
  ok "a rename that is not done, $ranks ranks: message" grep -q "'out' .*cannot be found there" <<<"$err"
  rm -f .hetsort-*
done
"$hetsort" -o out in
shim rename:1=lie "$hetsort" -f -o out other
is "a rename over an old output that is not done" "$rc/$(cmp out expected)" 3/
ok "a rename over an old output that is not done: message" grep -q "another file has its name" <<<"$err"
rm -f out .hetsort-*

# all files have the same number, so only the content shows the fault
"$BIN/gensort" --no-fsync -b7000 150000 asmany && "$hetsort" -o out in || exit 1
shim rename:1=same "$hetsort" -f -o out asmany
is "a rename that is not done, equal numbers of files" "$rc/$(cmp out expected)" 3/
ok "a rename that is not done, equal numbers of files: message" \
  grep -q "'out' was written and renamed, but the file of that name is not as it was written" <<<"$err"
rm -f out .hetsort-* asmany
"$BIN/gensort" --no-fsync -b8000 1000 asmany && "$hetsort" -o sorted asmany && "$hetsort" -q --ranks 3 -o before.%r other || exit 1
met=0 odd=''
for n in 1 2 3 4 5 6; do # the journal, the old manifest, the parts, the new manifest
  for r in 0 1 2; do cp before.$r out.$r; done
  sed 's/before/out/' before.manifest >out.manifest
  shim rename:$n=same "$hetsort" -f --ranks 3 -o out.%r asmany
  if [ "$rc" -eq 0 ]; then cat out.[0-2] | cmp -s - sorted && "$hetsort" --check-manifest out.manifest || odd+=" $n"; fi
  [ "$rc" -eq 0 ] || [ "$rc" -eq 3 ] || odd+=" $n: $rc"
  met=$((met + (rc == 3)))
  rm -f out.* .hetsort-*
done
is "a set with a rename that is not done, equal numbers of files" "$odd" ""
ok "a set with a rename that is not done: $met of 6 are detected" test $met -ge 5

# wrong bits in written records, locks and the manifest
odd='' met=0 passed=0
for ((n = 1; passed < 20 && n < 80; n++)); do # three writes to each of four locks do no harm; later writes never happen
  shim write:$n=flip "$hetsort" --no-fsync --direct never --verify reread --ranks 3 -o out.%r asmany
  case $rc/$err in
    0/*) cat out.[0-2] | cmp -s - sorted && "$hetsort" --check-manifest out.manifest || odd+=" $n"; passed=$((passed + 1)) ;;
    3/*"'out.manifest' is not as it was written"*) met=$((met + 1)) ;;
    [13]/*) ;;
    *) odd+=" $n: $rc, $err" ;;
  esac
  [ "$rc" -eq 0 ] || [ -z "$(left_over)" ] || odd+=" $n: $(left_over) left"
  rm -f out.* .hetsort-*
done
is "a bit written wrong: status 0 means a right output" "$odd" ""
ok "a bit written wrong: detected in a manifest" test $met -gt 0
rm -f asmany sorted before.*

# a report that cannot be written to the disk: the output stays
for plan in fsync:4+=EIO close:22+=EIO; do
  shim $plan "$hetsort" --report report -o out in
  is "a report lost, $plan: exit code, output" "$rc/$(left_over)/$(cmp out expected)" "3/./out/"
  ok "a report lost, $plan: message" grep -q "^hetsort: no report: cannot \(sync\|close\) 'report': Input/output error" <<<"$err"
  ok "a report lost, $plan: no report" test ! -e report
  rm out
done

# a file system without renames that never replace, and without hard links: found before anything is read
export HETSORT_SHIM_TMPFS=$PWD HETSORT_SHIM_FUSE=1
neither=noreplace:1+=EINVAL,link:1+=EOPNOTSUPP
for mode in "-o out" "-o out.%r --ranks 2" "-f -o out --manifest out.m" "-f -o out --report out.r" "-f -o out --html out.p"; do
  # shellcheck disable=SC2086  # words
  shim $neither,read:1+=EIO "$hetsort" --direct never $mode in
  is "no rename that never replaces, $mode: exit code, left over" "$rc/$(left_over)" 2/
  ok "no rename that never replaces, $mode: message" \
    grep -q "cannot rename a file next to 'out[.0-9mrpanifest]*' without replacing another, .*: Operation not supported" <<<"$err"
done
for plan in "$neither --force" "noreplace:1+=EINVAL --no-fsync"; do
  shim "${plan% *}" "$hetsort" "${plan#* }" -o out in
  is "with hard links or --force, $plan: exit code, output" "$rc/$(cmp out expected)/$(left_over)" 0//./out
  rm -f out
done
chmod 400 in # its mode is the most that the output may have
for plan in create:2 noreplace:1 unlink:1; do
  shim $plan=kill "$hetsort" -o out in
  is "killed while this is tried, $plan" "$rc" 137
  shim "" "$hetsort" -o out in
  is "killed while this is tried, $plan: the next job leaves nothing" "$rc/$err/$(cmp out expected)/$(left_over)" 0///./out
  rm -f out
done
chmod 600 in
unset HETSORT_SHIM_TMPFS HETSORT_SHIM_FUSE

# one output per rank: after a failed rename, parts keep their temporary names
shim rename:3+=EIO "$hetsort" --ranks 3 -o out.%r in
is "a rename that fails: exit code" "$rc" 3
ok "a rename that fails: no manifest" test ! -e out.manifest
is "a rename that fails: the parts are kept" "$(find . -name 'out.[0-9]' | wc -l)/$(find . -name '.hetsort-*.tmp' | wc -l)" 1/2
run "$hetsort" --clean --ranks 3 out.%r
is "a rename that fails: --clean completes the set" "$rc/$(cat out.[0-2] | cmp - expected)/$(find . -name '.hetsort-*')" 0//
ok "a rename that fails: the set is right" "$hetsort" --check-manifest out.manifest
done_testing
