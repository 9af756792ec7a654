#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Outputs, runs and copies of streams on a file system in memory, on a machine that the shim makes up: the directory mem
# seems to be a tmpfs, and /proc/meminfo has little memory. A job that does not fit is refused before anything is
# read, with the files to put on a disk; a job that fits runs as before.
# shellcheck disable=SC2016  # inner shells expand
set -u
. "$ROOT/scripts/tap.sh"
[ "${SANITIZER:-coverage}" = coverage ] || skip_all "the shim and the sanitizers replace the same calls"
cd "$TEST_TMP" || exit 1
hetsort=$BIN/hetsort
mkdir -p mem disk machine/proc/self
: >machine/proc/self/cgroup
"$BIN/gensort" --no-fsync 200000 data && "$hetsort" -q --no-fsync -o sorted data && cp data mem/data &&
  head -c 10000000 data >mem/half.0 && tail -c 10000000 data >mem/half.1 || exit 1
unset TMPDIR
export HETSORT_SHIM_ROOT=$PWD/machine HETSORT_SHIM_TMPFS=$PWD/mem
has() { # has MB SWAP_MB - the machine has this memory and swap space left
  printf 'MemTotal: 200000 kB\nMemAvailable: %d kB\nSwapFree: %d kB\n' $(($1 * 1000)) $(($2 * 1000)) >machine/proc/meminfo
}
left_over() { find . -name '.hetsort-*' -o -name 'out*' | sort | paste -sd' '; }
refused() { # refused NAME WORDS COMMAND... - status 4, the words in the message, nothing written
  local name=$1 words=$2; shift 2
  LD_PRELOAD=$OBJ/shim.so run timeout 60 "$@"
  is "$name: exit code, left over" "$rc/$(left_over)" 4/
  case $err in *"$words"*) ok "$name: message" true ;; *) is "$name: message" "$err" "...$words..." ;; esac
}
planned() { # planned NAME WORDS ARGUMENT... - refused by a job and by its plan
  refused "$1" "$2" "$hetsort" --no-fsync "${@:3}"
  refused "$1, --explain" "$2" "$hetsort" --explain "${@:3}"
}
sorts() { # sorts NAME RUNS OUTPUT ARGUMENT... - sorts; the report has this number of runs, a pattern
  local name=$1 runs=$2 file=$3; shift 3
  LD_PRELOAD=$OBJ/shim.so run timeout 60 "$hetsort" --no-fsync --report report -o "$file" "$@"
  is "$name: exit code, output" "$rc/$err/$(cmp "$file" sorted)" 0//
  ok "$name: runs" grep -q "\"spill_runs\": $runs\(,\|$\)" report
  LD_PRELOAD=$OBJ/shim.so run timeout 60 "$hetsort" --explain -o "$file.new" "$@"
  [[ " $* " = *" - "* ]] || is "$name: --explain" "$rc" 0
  rm -f "$file"
}

# --- 20 MB of records, 15 MB of memory
has 15 0
sorts "all on disk" '[1-9][0-9]*' disk/out -T disk data
why="machine: 205 MB less 189 MB in use)"
planned "runs in memory" "(memory of the $why: runs in 'mem' take 20.0 MB, because this directory is in memory; use a --tmpdir on a disk" \
  -T mem -o disk/out data
planned "runs in memory, more --memory" "runs in 'mem' take 20.0 MB" -T mem --memory 1G -o disk/out data
planned "one of two directories in memory" "runs in 'mem' take" -T disk -T mem --memory 6M -o disk/out data mem/data
planned "a workdir in memory" "runs in 'mem/work' take 20.0 MB, because this directory is in memory; use a --workdir on a disk" \
  --workdir mem/work -o disk/out data
is "a workdir in memory: no files" "$(ls -A mem/work)" ""
planned "an output in memory" "output 'mem/out' takes 20.0 MB, because this directory is in memory; use an output on a disk" \
  -T disk -o mem/out data
planned "output and runs in memory" "output 'mem/out' takes 20.0 MB, and runs in 'mem/' would take 20.0 MB, because these directories are in memory; use an output and a --tmpdir on a disk" \
  -o mem/out data
planned "an output of two ranks in memory" "output 'mem/out' takes 20.0 MB" --ranks 2 -T disk -o mem/out data
refused "outputs of ranks in memory" "output 'mem/out.0' takes 20.0 MB" "$hetsort" --ranks 2 -T disk -o mem/out.%r data
refused "runs of two ranks in memory" "runs in 'mem' take 20.0 MB" "$hetsort" --ranks 2 -T mem -o disk/out data
refused "distributed runs in memory" "runs in 'mem' take" "$hetsort" --ranks 2 --strategy distribute --memory 14M -T mem -o disk/out data
planned "sorted inputs, the output in memory" "output 'mem/out' takes 20.0 MB" -m -T disk -o mem/out sorted
cp data mem/old
LD_PRELOAD=$OBJ/shim.so run "$hetsort" --force -T disk -o mem/old data
is "over an old output in memory: exit code, the old output" "$rc/$(cmp mem/old data)" 4/
LD_PRELOAD=$OBJ/shim.so run sh -c 'exec "$0" -T disk -o - data >mem/stdout' "$hetsort"
is "standard output in memory: exit code, output" "$rc/$(wc -c <mem/stdout)" 4/0
rm mem/old mem/stdout
# --- streams, whose size is known at their end
refused "standard input, runs in memory" "its runs are in memory; use a --tmpdir on a disk" \
  sh -c '"$0" -T mem -o disk/out - <data' "$hetsort"
refused "standard input, the output in memory" "its output is in memory; use an output on a disk" \
  sh -c '"$0" -T disk -o mem/out - <data' "$hetsort"
refused "a copy in memory" "cannot write 'mem/(spill file)': this directory is in memory, of which 15.4 MB were left; use --tmpdir" \
  sh -c '"$0" --ranks 2 -T mem -o disk/out - <data' "$hetsort"
LD_PRELOAD=$OBJ/shim.so run sh -c 'cat data | "$0" --no-fsync --ranks 2 -T mem -T disk --memory 12M -o disk/out -' "$hetsort"
is "a copy that moves to a disk: status" "$rc" 4 # the runs, which are dealt to both, do not fit
ok "a copy that moves to a disk: message" grep -q "runs in 'mem' take" <<<"$err"
# --- swap space
has 15 30
sorts "runs in memory and swap space" '[1-9][0-9]*' disk/out -T mem data
# --- what fits is planned as on a disk
has 40 0 # of which three quarters hold the records
sorts "input and output in memory: used in place" 0 mem/out -T disk mem/data
exec 9>>mem/data # such an input may change, so it is copied
planned "an input that a program has open, and the output: no place for a copy" "output 'mem/out' takes 20.0 MB, and runs" -o mem/out mem/data
sorts "an input that a program has open, and the output: runs on a disk" '[1-9][0-9]*' mem/out -T disk mem/data
exec 9>&-
planned "two inputs and the output in memory: no place for copies" "output 'mem/out' takes 20.0 MB, and runs" -o mem/out mem/half.0 mem/half.1
sorts "two inputs and the output in memory: runs on a disk" '[1-9][0-9]*' mem/out -T disk mem/half.0 mem/half.1
has 120 0
sorts "two inputs and the output in memory" 0 mem/out mem/half.0 mem/half.1
sorts "a stream to memory" 0 mem/out - <data
sorts "runs and output in memory" '[1-9][0-9]*' mem/out --memory 8M -T mem data
ok "runs and output in memory: report" grep -q '"runs_in_memory_bytes": 200000.., *"output_in_memory_bytes": 20000000' <(paste -sd' ' report | tr -s ' \t')
LD_PRELOAD=$OBJ/shim.so run "$hetsort" --explain --memory 8M -T mem -o mem/out data
ok "runs and output in memory: --explain" grep -q "runs, 20.0 MB; 20.0 MB of output and 20.0 MB of runs in files in memory$" <<<"$out"
LD_PRELOAD=$OBJ/shim.so run "$hetsort" -v --no-fsync --memory 8M -T mem -o mem/out data
ok "runs and output in memory: -v" grep -qx "20.0 MB of output and 20.0 MB of runs in files in memory" <<<"$err"
rm mem/out
# --- a control group
mkdir -p machine/sys/fs/cgroup
echo 0::/ >machine/proc/self/cgroup
echo "35 24 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw" >machine/proc/self/mountinfo
echo 15000000 >machine/sys/fs/cgroup/memory.max
echo 5000000 >machine/sys/fs/cgroup/memory.current
planned "a control group" "(cgroup memory.max of '/': 15.0 MB less 5.00 MB in use): runs in 'mem' take 20.0 MB" -T mem -o disk/out data
done_testing
