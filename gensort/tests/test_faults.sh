#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Failures of the system: full devices, closed and broken streams, short and interrupted calls, errors of every
# call, signals. Checks the exit status, the messages and the remaining files.
# shellcheck source=scripts/tap.sh
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
gensort=$BIN/gensort valsort=$BIN/valsort
first() { printf '%s' "${1%%$'\n'*}"; }

run "$gensort" 10 /dev/full
is 'a full device' "$rc/$out/$(first "$err")" "1//gensort: cannot write '/dev/full': No space left on device"
ok 'a full device leaves an incomplete output' grep -q "incomplete output left in '/dev/full'" <<<"$err"
run "$gensort" -t3 1000000 /dev/full
is 'a full device and three threads' "$rc" 1
run bash -c '"$1" 100000 - >/dev/full' - "$gensort"
is 'a full standard output' "$rc $(first "$err")" "1 gensort: cannot write 'standard output': No space left on device"
run bash -c '"$1" 10 - >&-' - "$gensort"
is 'a closed standard output' "$rc $(first "$err")" "1 gensort: cannot write 'standard output': Bad file descriptor"
run bash -c '"$1" 10 f >&- 2>&- <&-' - "$gensort"
is 'a file is written with all standard streams closed' "$rc $(stat -c %s f)" "0 1000"
run bash -c '"$1" -c 10 f 2>&-' - "$gensort"
is 'a checksum on a closed standard error fails' "$rc $(stat -c %s f)" "1 1000"
run bash -c '"$1" -c 10 f 2>/dev/full' - "$gensort"
is 'a checksum on a full device fails' "$rc" 1
for p in gensort valsort; do
  run bash -c '"$1" --help >/dev/full' - "$BIN/$p"
  is "$p --help into a full device" "$rc $err" "1 $p: cannot write 'standard output': No space left on device"
  run bash -c '"$1" --version >&-' - "$BIN/$p"
  is "$p --version with no standard output" "$rc $err" "1 $p: cannot write 'standard output': Bad file descriptor"
done
run bash -c '"$1" f 2>/dev/full' - "$valsort"
is 'a verdict that cannot be printed is a failure' "$rc" 1
run bash -c '"$1" - <&-' - "$valsort"
is 'a closed standard input' "$rc $err" "1 -: Bad file descriptor"
run bash -c '"$1" -o sum f 2>&-' - "$valsort"
is 'text of a closed standard error does not land in the summary' "$(stat -c %s sum)" 280

# Messages are not written among records, in a summary, or in the file that is checked.
"$gensort" --no-fsync 20 records; "$valsort" -q -o summary records
cat records summary >before || exit 1
for command in '-c 10 records 2>>records' '-c 10 - >>records 2>&1'; do
  run setsid sh -c "\"\$0\" $command" "$gensort"
  is "gensort $command: refused, the file is as before" "$rc $(cat records summary | cmp - before)" "1 "
done
for command in 'records 2>>records' '- <records 2>>records' '-s summary 2>>summary' '-o summary records 2>>summary'; do
  run setsid sh -c "\"\$0\" $command" "$valsort"
  is "valsort $command: refused, the file is as before" "$rc $(cat records summary | cmp - before)" "1 "
done

# A reader that exits early.
bash -c '"$1" 1000000 -; echo $? >rc' - "$gensort" 2>/dev/null | head -c 100 >/dev/null
is 'a broken pipe ends it by SIGPIPE' "$(cat rc)" 141
(trap '' PIPE; "$gensort" -t3 1000000 - 2>err; echo $? >rc) | head -c 100 >/dev/null
is 'a broken pipe is an error if SIGPIPE is ignored' "$(cat rc) $(first "$(cat err)")" "1 gensort: cannot write 'standard output': Broken pipe"

# Names that cannot be opened.
mkdir directory; : >file
for name in directory file/x no/where; do
  run "$gensort" 10 $name
  is "cannot open $name" "$rc/$out/${err%: *}" "1//gensort: cannot open '$name'"
done
run "$gensort" 10 $'no/\e[2J'
is 'names are printed safely' "$err" "gensort: cannot open 'no/\\x1b[2J': No such file or directory"
run "$gensort" 18446744073709551615 huge
is 'more than a file can hold' "$rc $(first "$err")" "1 gensort: cannot make room for 2^64 bytes or more in 'huge': File too large"
ok 'more than a file can hold leaves no file' [ ! -e huge ]
# The limit must work as root too. It is far below 1 GB.
run bash -c 'ulimit -f 100; "$1" -t2 --no-fsync 10000 limited' - "$gensort"
is 'a file beyond the size limit' "$rc $err" "1 gensort: cannot make room for 1000000 bytes in 'limited': File too large
gensort: removed the incomplete file 'limited'"
is 'a file beyond the size limit is removed' "$(ls limited 2>/dev/null)" ""
"$gensort" 10000 limited; cp limited before
run bash -c 'ulimit -f 100; "$1" -t2 --no-fsync -b5 20000 limited' - "$gensort"
is 'an old file beyond the size limit' "$rc $err" "1 gensort: cannot make room for 2000000 bytes in 'limited': File too large"
ok 'an old file beyond the size limit is unchanged' cmp limited before
run bash -c 'ulimit -f 1000; "$1" -t2 --no-fsync 10240 limited' - "$gensort"
is 'a file of just that size' "$rc $err $(stat -c %s limited)" "0  1024000"

# Files that exist already.
"$gensort" 3000 want
"$gensort" -b7 9000 old; "$gensort" 3000 old
ok 'a longer file is cut' cmp -s old want
"$gensort" -b7 100 old; "$gensort" 3000 old
ok 'a shorter file grows' cmp -s old want
"$gensort" -b7 3000 old; ln old link; ln -s old sym; "$gensort" 3000 sym
ok 'an equal file is overwritten in place, through links' cmp -s link want
mkfifo fifo
"$gensort" -t3 3000 fifo & cat fifo >got; wait $!
is 'a named pipe' "$? $(cmp -s got want && echo same)" "0 same"

[ "${SANITIZER:-coverage}" = coverage ] || done_testing # the shim and the sanitizers replace the same calls
# The limit would also apply to files of a sanitizer.
if [ -z "${SANITIZER:-}" ]; then
  err=$(bash -c 'ulimit -f 0; "$1" -q -o sum f 2>&1; echo $?' - "$valsort" | cat)
  is 'a summary beyond the limit' "${err##*$'\n'} ${err%$'\n'*} $(stat -c %s sum)" "1 valsort: cannot write 'sum': File too large 0"
fi

shim() { local plan=$1; shift; run env HETSORT_SHIM="$plan" LD_PRELOAD="$OBJ/shim.so" "$@"; }
c=$("$gensort" -c 20000 want 2>&1)

for t in 1 3; do
  shim short "$gensort" -ct$t 20000 got
  is "short and interrupted writes at offsets, $t threads" "$rc $err $(cmp -s got want && echo same)" "0 $c same"
  env HETSORT_SHIM=short LD_PRELOAD="$OBJ/shim.so" "$gensort" -t$t 20000 - >got
  is "short and interrupted writes in order, $t threads" "$? $(cmp -s got want && echo same)" "0 same"
  "$valsort" -t$t want 2>plain
  shim short "$valsort" -t$t -o sum want
  is "short and interrupted reads at offsets, $t threads" "$rc $err" "1 $(cat plain)"
  is "a short write of the summary, $t threads" "$(stat -c %s sum)" 280
  env HETSORT_SHIM=short LD_PRELOAD="$OBJ/shim.so" "$valsort" -t$t - < <(cat want) 2>got.text
  is "short and interrupted reads in order, $t threads" "$(cat got.text)" "$(cat plain)"
  shim short "$valsort" -s sum
  is "short and interrupted reads of a summary, $t threads" "$err" "$(cat plain)"
done

fails() { # fails PLAN MESSAGE ARGUMENT... - run gensort with a new file, and with an old one
  local plan=$1 want=$2; shift 2
  rm -f got
  shim "$plan" "$gensort" "$@" got
  is "$plan, new file" "$rc/$(first "$err")/$(ls got 2>/dev/null)" "1/gensort: $want/"
  cp want got
  shim "$plan" "$gensort" "$@" got
  is "$plan, old file" "$rc/$(first "$err")/$(stat -c %s got)" "1/gensort: $want/0"
}
fails write:1+=ENOSPC "cannot write 'got': No space left on device" -t3 20000
fails write:4+=EIO "cannot write 'got': Input/output error" -t2 20000
fails write:5+=EDQUOT "cannot write 'got': Disk quota exceeded" -t1 20000
fails fsync:1+=EIO "cannot sync 'got': Input/output error" 10
fails close:1+=ENOSPC "cannot close 'got': No space left on device" --no-fsync 10
fails alloc:1+=ENOMEM "cannot write 'got': Cannot allocate memory" 10
rm -f got
shim fallocate:1+=ENOSPC "$gensort" 10 got
is 'no space to reserve' "$rc/$(first "$err")/$(ls got 2>/dev/null)" \
  "1/gensort: cannot make room for 1000 bytes in 'got': No space left on device/"
for errno in EOPNOTSUPP ENOSYS; do
  shim fallocate:1+=$errno "$gensort" 10 got
  is "a file system or a kernel that cannot reserve ($errno)" "$rc/$err/$(stat -c %s got)" "0//1000"
  rm -f got
done
for errno in EIO EFBIG EDQUOT; do
  shim fallocate:1+=$errno "$gensort" 10 got
  is "any other error of fallocate is a failure before a record is written ($errno)" \
    "$rc ${err%%bytes*}$(ls got 2>/dev/null)" "1 gensort: cannot make room for 1000 "
done
# 18 TB are too large for ext4, and other file systems have no room for them. Nothing is written in any case.
shim write:1+=EIO "$gensort" --no-fsync 180000000000 huge
is 'a file too large for the file system' "$rc ${err%%\': *}" \
  "1 gensort: cannot make room for 18000000000000 bytes in 'huge"
shim fsync:2+=EIO "$gensort" 10 other
is 'the directory of a new file is synced too' "$rc/$(first "$err")/$(ls other 2>/dev/null)" "1/gensort: cannot sync 'other': Input/output error/"
shim fsync:1+=EIO "$gensort" --no-fsync 10 other
is '--no-fsync syncs nothing' "$rc/$err" "0/"
HETSORT_SHIM=fsync:1+=EIO LD_PRELOAD=$OBJ/shim.so "$gensort" 10 - 2>err | cat >got
is 'a pipe is not synced' "${PIPESTATUS[0]}/$(cat err)" "0/"
HETSORT_SHIM=write:3+=EIO LD_PRELOAD=$OBJ/shim.so "$gensort" -t3 20000 - 2>err | cat >got
is 'a stream ends at a write error' "${PIPESTATUS[0]} $(head -n 1 err)" "1 gensort: cannot write 'standard output': Input/output error"
is 'a stream is correct up to a write error' "$(stat -c %s got) $(cmp -s got <(head -c 819200 want) && echo same)" "819200 same"
for what in alloc:2+=ENOMEM thread:1+=EAGAIN thread:3+=EAGAIN; do
  shim $what "$gensort" -ct7 20000 got
  is "fewer threads generate: $what" "$rc $err $(cmp -s got want && echo same)" "0 $c same"
  shim $what "$valsort" -t7 want
  is "fewer threads validate: $what" "$err" "$(cat plain)"
done
for plan in read:1+=EIO read:3+=EIO; do
  shim $plan "$valsort" -t1 -q -o sum want
  is "$plan" "$rc $err $(stat -c %s sum)" "1 want: Input/output error 0"
  env HETSORT_SHIM=$plan LD_PRELOAD="$OBJ/shim.so" "$valsort" -q -t3 - < <(cat want) 2>err
  is "$plan in order" "$(cat err)" "-: Input/output error"
done
"$valsort" -qo sum want
shim read:1+=EIO "$valsort" -s sum
is 'an unreadable summary' "$rc $err" "1 sum: Input/output error"
# A file whose size changes while it is read has no verdict.
for size in 1999900 1228800 0 2000100; do
  cp want moving
  run env HETSORT_SHIM=resize=$size HETSORT_SHIM_FILE=moving LD_PRELOAD="$OBJ/shim.so" "$valsort" -q -t2 moving
  is "a file of $size instead of 2000000 bytes" "$rc $err" "1 valsort: size changed while reading 'moving'"
done
run env HETSORT_SHIM=resize=1999950 HETSORT_SHIM_FILE=moving LD_PRELOAD="$OBJ/shim.so" "$valsort" -q -t2 moving
is 'a file cut within a record' "$rc $err" "1 partial record found at end"
for plan in write:1+=ENOSPC fsync:1+=EIO close:1+=ENOSPC; do
  shim $plan "$valsort" -q -o sum want
  is "a summary that cannot be written: $plan" "$rc ${err%:*}" "1 valsort: cannot write 'sum'"
done
"$valsort" -q -o sum want 2>/dev/null; cp sum old
shim truncate:1+=EIO "$valsort" -q -o old want
is "an old summary that cannot be emptied" "$rc $err $(cmp -s old sum && echo same)" \
  "1 valsort: cannot empty 'old': Input/output error same"
shim alloc:1+=ENOMEM "$valsort" want
is 'no memory at all' "$rc $err" "1 want: Cannot allocate memory"

# After a signal, an incomplete file is removed. The job would take twenty seconds at this pace.
start_slow() { # start_slow - set pid, and return once the file has contents
  rm -f slow
  set -m # or else a process in the background ignores SIGINT
  HETSORT_SHIM=slow=80000 LD_PRELOAD=$OBJ/shim.so "$gensort" -t1 --no-fsync 1000000 slow 2>err & pid=$!
  set +m
  while [ ! -s slow ] && kill -0 $pid 2>/dev/null; do sleep 0.01; done
}
for sig in INT TERM HUP; do
  start_slow
  kill -$sig $pid
  { wait $pid; } 2>/dev/null
  is "SIG$sig" "$? $(ls slow 2>/dev/null) $(cat err)" \
    "$((128 + $(kill -l $sig)))  gensort: removed the incomplete file 'slow'"
done
start_slow
kill -KILL $pid
{ wait $pid; } 2>/dev/null
ok 'SIGKILL leaves a file that is visibly too short' [ "$(stat -c %s slow)" -lt 100000000 ]
"$gensort" --no-fsync 1000000 slow
HETSORT_SHIM=slow=2000000 LD_PRELOAD=$OBJ/shim.so "$gensort" -t1 1000000 slow 2>/dev/null & pid=$!
while [ "$(stat -c %s slow)" -eq 100000000 ] && kill -0 $pid 2>/dev/null; do sleep 0.01; done
kill -KILL $pid
{ wait $pid; } 2>/dev/null
is 'SIGKILL leaves an overwritten file one byte too short' "$(stat -c %s slow)" 99999999

done_testing
