#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A program has an input open for writing, and changes it through a mapping after hetsort has read it. The times of the
# file stay the same. If the records are no longer those that were read, the job fails, in every way of reading. If they
# only have another order, the output is right.
# shellcheck disable=SC2317,SC2034  # functions are called through ok; a line is read as a sign
set -u
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
failing=$BIN/failpoints/hetsort
command -v python3 >/dev/null || skip_all "python3 is missing"
"$BIN/gensort" 40000 unsorted && "$BIN/hetsort" -o sorted unsorted || exit 1
cat >writer.py <<'END'
import mmap, sys
f = open(sys.argv[1], "r+b")
m = mmap.mmap(f.fileno(), 0)
m[:] = m[:]
f.close()
print("mapped", flush=True)
sys.stdin.readline()
if sys.argv[2] == "change":
    m[790:791] = bytes([m[790] ^ 1])
else:
    m[:100], m[-100:] = m[-100:], m[:100]
print("written", flush=True)
sys.stdin.readline()
END
stops() { [ "$(state_of "$job")" = T ]; }
change() { # change DIR HOW PHASE INPUT OPTION... - change DIR/in while the job is stopped in this phase; set rc
  local dir=$1 how=$2 phase=$3 input=$4 line; shift 4
  rm -f out* && cp "$input" "$dir/in"
  coproc WRITER { exec python3 writer.py "$dir/in" "$how"; }
  local from=${WRITER[0]} to=${WRITER[1]} writer=$WRITER_PID
  read -r line <&"$from"
  HETSORT_FAIL=stop@$phase:0 "$failing" --no-fsync "$@" -o out "$dir/in" 2>messages &
  job=$!
  await stops || { kill -KILL $job; return; }
  echo >&"$to"
  read -r line <&"$from"
  kill -CONT $job
  wait $job; rc=$?
  kill "$writer" 2>/dev/null
  wait "$writer" 2>/dev/null
}
ways=("merge unsorted --ranks=1" "merge unsorted --ranks=3" "sort unsorted --ranks=3 --strategy=distribute"
  "merge unsorted --ranks=2 --source=root" "merge unsorted --memory=3M --tmpdir=." "sync sorted --merge"
  "sync unsorted --ranks=2 --verify=reread")
dirs=()
case $(stat -f -c %T .) in ext2/ext3 | xfs | btrfs | tmpfs) dirs=(.) ;; esac
fast=$(mktemp -d -p /dev/shm 2>/dev/null) && dirs+=("$fast") && trap 'rm -rf "$fast"' EXIT
for dir in "${dirs[@]}"; do
  for way in "${ways[@]}"; do
    read -r phase input options <<<"$way"
    # shellcheck disable=SC2086  # several words
    change "$dir" change "$phase" "$input" $options
    is "${dir%/*}, $way: a record changes" "$rc/$(ls out* 2>/dev/null)/$(grep -c "^hetsort: .*input '.*' changed while" messages)" 3//1
  done
  change "$dir" swap merge unsorted --ranks=3
  is "${dir%/*}: two records change places" "$rc/$(cmp out sorted)" 0/
done
done_testing
