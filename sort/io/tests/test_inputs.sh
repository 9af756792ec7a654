#!/usr/bin/env bash
# What inputs are, or become: other files, FIFOs and directories under their names while the job runs,
# files that hold more than they say. An error or the right result, never a wait for ever.
# shellcheck disable=SC2016  # inner shells expand
set -u
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
hetsort=$BIN/hetsort
"$BIN/gensort" --no-fsync 2000 in && "$hetsort" -o expected in || exit 1
left_over() { find . -name '.hetsort-*' -o -name 'out*' | sort | paste -sd' '; }
says() { # says NAME WORDS - the last command said so
  case $err in *"$2"*) ok "$1: message" true ;; *) is "$1: message" "$err" "...$2..." ;; esac
}

# --- the file is another one when it is read: the job stands still between describe and read
becomes() { # becomes NAME WORDS COMMAND... - what happens to the file 'data' meanwhile
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
changed="input 'data' changed while it was being sorted"
replace() { rm data && "$@" data; } # replace COMMAND... - makes the new one
behind() { printf x | dd of=data bs=1 seek=150 conv=notrunc status=none && touch -r in data; }
for ranks in "" "--ranks 2" "--ranks 2 --source root"; do
  becomes "becomes a FIFO${ranks:+, $ranks}" "$changed" replace mkfifo
done
ranks=''
becomes "becomes a directory" "$changed" replace mkdir
becomes "becomes a link to another file" "$changed" replace ln -s expected
becomes "becomes another file of its size and time" "$changed" replace cp -p in
becomes "is changed, and its time set back" "$changed" behind
becomes "is gone" "cannot open input 'data': No such file" rm data

# --- a file that holds more than its size, as some file systems have
"${CC:-cc}" -D_GNU_SOURCE -O1 -shared -fPIC -o shim.so "$ROOT/scripts/shim.c" -ldl || exit 1
if [ "${SANITIZER:-coverage}" = coverage ]; then
  for ranks in "" "--ranks 3" "--ranks 3 --source root" "--memory 40M --workdir work"; do
    run timeout 60 env SHIM=size=150000 SHIM_FILE=in LD_PRELOAD="$PWD/shim.so" "$hetsort" $ranks -o out in
    is "less size than content, $ranks: exit code, left over" "$rc/$(left_over)" "3/"
    says "less size than content, $ranks" "input 'in' does not end with the 150000 bytes that are its size"
    rm -rf work
  done
fi
done_testing
