#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Kinds of inputs, and inputs that change: other files, FIFOs and directories under their names while the job runs,
# files that are longer than their size. The result is an error or the right output; the job never waits for ever.
# shellcheck disable=SC2016,SC2086,SC2317  # inner shells expand; $ranks is words; functions are called through others
set -u
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
hetsort=$BIN/hetsort
"$BIN/gensort" --no-fsync 2000 in && "$hetsort" -o expected in || exit 1
left_over() { find . -name '.hetsort-*' -o -name 'out*' | sort | paste -sd' '; }
says() { # says NAME WORDS - the last command printed these words
  case $err in *"$2"*) ok "$1: message" true ;; *) is "$1: message" "$err" "...$2..." ;; esac
}

# --- another file has the name when it is read: the job is stopped before it reads
becomes() { # becomes NAME WORDS COMMAND... - while the job is stopped, COMMAND changes the file 'data'
  local name=$1 words=$2 pid; shift 2
  rm -rf data && cp -p in data
  HETSORT_FAIL=stop@read:0 "$BIN/failpoints/hetsort" $ranks -o out data 2>.stderr & pid=$!
  await grep -q '^State:.T' "/proc/$pid/status"
  "$@"
  kill -CONT $pid
  ok "$name: it ends" await gone $pid || kill -KILL $pid
  wait $pid; rc=$? err=$(<.stderr)
  is "$name: exit code, left over" "$rc/$(left_over)" "3/"
  says "$name" "$words"
}
changed="input 'data' changed while it was being read"
replace() { rm data && "$@" data; } # replace COMMAND... - COMMAND makes the new file
change_and_restore_time() { printf x | dd of=data bs=1 seek=150 conv=notrunc status=none && touch -r in data; }
for ranks in "" "--ranks 2" "--ranks 2 --source root"; do
  becomes "becomes a FIFO${ranks:+, $ranks}" "$changed" replace mkfifo
done
ranks=''
becomes "becomes a directory" "$changed" replace mkdir
becomes "becomes a link to another file" "$changed" replace ln -s expected
becomes "becomes another file of its size and time" "$changed" replace cp -p in
becomes "is changed, and its time set back" "$changed" change_and_restore_time
becomes "is removed" "cannot open input 'data': No such file" rm data

# --- a file that is longer than its size, as on some file systems
if [ "${SANITIZER:-coverage}" = coverage ]; then
  for ranks in "" "--ranks 3" "--ranks 3 --source root" "--memory 40M --workdir work"; do
    run timeout 60 env HETSORT_SHIM=size=150000 HETSORT_SHIM_FILE=in LD_PRELOAD="$OBJ/shim.so" "$hetsort" $ranks -o out in
    is "less size than content, $ranks: exit code, left over" "$rc/$(left_over)" "3/"
    says "less size than content, $ranks" "input 'in' does not end after the 150000 bytes that are its size"
    rm -rf work
  done
fi

# --- streams
"$BIN/gensort" --no-fsync -b2000 3000 more && cat in more >both && "$hetsort" -o all both && mkfifo fifo || exit 1
sorts() { # sorts NAME EXPECTED COMMAND... - the output is out, or standard output
  local name=$1 expected=$2; shift 2
  run timeout 60 bash -o pipefail -c "$*"
  is "$name: exit code, message" "$rc/$err" "0/"
  [ -z "$out" ] || printf '%s\n' "$out" >out
  ok "$name: sorted" cmp -s out "$expected"
  is "$name: no other file is left" "$(left_over)" ./out
  rm -f out
}
export hetsort
for ranks in "" "--ranks 3" "--ranks 3 --source root" "--ranks 3 --strategy distribute"; do
  sorts "a pipe, $ranks" expected "cat in | $hetsort $ranks -o out -"
  sorts "a pipe by name, $ranks" expected "cat in | $hetsort $ranks -o out /dev/stdin"
  sorts "a FIFO, $ranks" expected "cat in >fifo & $hetsort $ranks -o out fifo"
  sorts "a process, $ranks" expected "$hetsort $ranks -o out <(cat in)"
  sorts "a pipe before a file, $ranks" all "cat in | $hetsort $ranks -o out - more"
  sorts "a process between files, $ranks" all "$hetsort $ranks -o out in <(cat more) /dev/null"
  sorts "two FIFOs, $ranks" all "$hetsort $ranks -o out <(cat in) <(cat more)"
  : >nothing
  sorts "no content, $ranks" nothing "$hetsort $ranks -o out /dev/null"
done
cp in parts.0 && cp more parts.2 && mkfifo parts.1
sorts "a FIFO for one rank" all "cat /dev/null >parts.1 & $hetsort --ranks 3 -o out parts.%r"
sorts "no names" expected "cat in | $hetsort >out"
sorts "no names, a file" expected "$hetsort <in >out"
sorts "to /dev/stdout, a file" expected "$hetsort -o /dev/stdout in >out"
sorts "to /dev/stdout, a pipe" expected "$hetsort -o /dev/stdout in | cat >out"
sorts "to a FIFO" expected "cat fifo >out & $hetsort -o fifo in; wait"
run "$hetsort" -o /dev/null in
is "to /dev/null" "$rc/$err" 0/
is "to /dev/null: still a device" "$(stat -c %F /dev/null)" "character special file"
cat /proc/version /proc/version >versions
"$hetsort" --record-size 1 --key 0,1 -o sorted versions
sorts "a file that reports size 0 but has content" sorted "$hetsort --record-size 1 --key 0,1 -o out /proc/version <(cat /proc/version)"
refuses() { # refuses NAME CODE WORDS COMMAND - and no file is left
  run timeout 60 bash -c "$4"
  is "$1: exit code, left over" "$rc/$(left_over)" "$2/"
  says "$1" "$3"
}
refuses "part of a record in a stream of two ranks" 2 "input 'fifo' has 150 bytes, not a multiple of the record size" \
  "head -c 150 in >fifo & $hetsort --ranks 2 -o out fifo"
refuses "the same stream twice" 2 "input '/dev/stdin' is the same file as standard input" "cat in | $hetsort -o out - /dev/stdin"
refuses "a FIFO to itself" 2 "output 'fifo' is the same file as input 'fifo'" "$hetsort -o fifo fifo"
refuses "no room for the copy of a stream" 2 "cannot open temporary directory 'none'" "cat in | $hetsort --ranks 2 --tmpdir none -o out -"
refuses "a stream in a workdir" 2 "a stream cannot be read again" "cat in | $hetsort --ranks 2 --workdir work -o out -"
rm -rf work
refuses "the plan of a stream" 2 "cannot know the size" "$hetsort --explain -o out more <(cat in)"
refuses "an output that exists, before the stream is read" 2 "'in' exists" "$hetsort --ranks 2 -o in fifo"
if mknod nobody c 240 255 2>/dev/null; then
  refuses "a device without a driver" 3 "cannot open input 'nobody': No such device" "$hetsort -o out nobody"
  rm nobody
fi
if [ "$(id -u)" -eq 0 ] && loop=$(losetup --find --show --read-only in 2>/dev/null); then
  head -c $(($(blockdev --getsize64 "$loop") / 100 * 100)) in >whole
  if [ "$(stat -c %s whole)" = "$(blockdev --getsize64 "$loop")" ]; then
    "$hetsort" -f -o blocks whole
    sorts "a block device" blocks "$hetsort --ranks 2 -o out $loop"
  fi
  losetup -d "$loop"
fi

# --- more files than the process may have open
mkdir many && split -a 3 -d -b 300 in many/in. && printf '%s\n' many/in.* | wc -l >count || exit 1
ok "many files: more than 256 ($(<count))" test "$(<count)" -gt 256
for how in "" "--ranks 3" "--memory 1M --tmpdir ." "--direct always" "--ranks 2 --strategy distribute" "--ranks 2 --source root" "--ranks 12"; do
  sorts "many files${how:+, $how}" expected "ulimit -n 256; $hetsort --no-fsync $how -o out many/*"
done
ranks=$(printf '%s ' many/*)
rm -f out
becomes "one of many files is changed" "$changed" change_and_restore_time
done_testing
