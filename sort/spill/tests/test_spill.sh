#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Failures of the system while runs are on disk: short and interrupted calls, a full file system, and one without
# unnamed files or direct I/O. The status is right, the message names the directory, and no file is left.
# test_spill.c tests the rest.
set -u
. "$ROOT/scripts/tap.sh"
[ "${SANITIZER:-coverage}" = coverage ] || skip_all "the shim and the sanitizers replace the same calls"
cd "$TEST_TMP" || exit 1
spill=$OBJ/sort/spill/tests/test_spill dir=$TEST_TMP/spill
mkdir spill

shim() { local plan=$1; shift; run timeout 60 env HETSORT_SHIM="$plan" LD_PRELOAD="$OBJ/shim.so" "$@"; }

fails() { # fails NAME CODE WORDS - the last execution: its code and message, and no file is left
  is "$1: exit code, left over" "$rc/$(ls -A spill)" "$2/"
  case $err in *"$3"*) ok "$1: message" true ;; *) is "$1: message" "$err" "...$3..." ;; esac
}
works() { is "$1" "$rc/$err/$(ls -A spill)" "0//"; }

shim '' "$spill" "$dir" 10000000
works "no failure"
shim short "$spill" "$dir" 10000000
works "short and interrupted calls"
shim fallocate:1+=EOPNOTSUPP "$spill" "$dir" 10000000
works "a file system that cannot reserve"
shim tmpfile:1+=EOPNOTSUPP "$spill" "$dir" 10000000
works "a file system without unnamed files"
shim tmpfile:3+=EMFILE "$spill" "$dir" 10000000
fails "too many open files" 4 "cannot create '$dir/(spill file)': Too many open files"
shim tmpfile:1+=EACCES "$spill" "$dir" 10000000
fails "no permission to create a file" 3 "cannot create '$dir/(spill file)': Permission denied"
shim fallocate:2+=ENOSPC "$spill" "$dir" 10000000
fails "no space to reserve" 4 "cannot reserve 2444 KiB for '$dir/(spill file)': No space left"
for n in 2 4; do # the first is the probe's
  shim write:$n+=ENOSPC "$spill" "$dir" 10000000
  fails "disk full at write $n" 4 "cannot write '$dir/(spill file)': No space left on device"
  shim write:$n+=EIO "$spill" "$dir" 10000000
  fails "error at write $n" 3 "cannot write '$dir/(spill file)': Input/output error"
  shim read:$n+=EIO "$spill" "$dir" 10000000
  fails "error at read $n" 3 "cannot read '$dir/(spill file)' at byte"
done
shim write:1+=EINVAL "$spill" "$dir" 1000
fails "all writes are refused" 3 "Invalid argument"
shim alloc:1+=ENOMEM "$spill" "$dir" 10000000
fails "no memory" 4 "no memory for spill buffers: 4100 KiB"
(ulimit -n 6; exec 2>message; "$spill" "$dir" 100; echo $? >code)
is "limit of open files: exit code" "$(cat code)" 4
ok "limit of open files: message" grep -q "Too many open files" message
(ulimit -f 100; trap '' XFSZ; exec 2>message; "$spill" "$dir" 10000000; echo $? >code)
is "limit of a file's size: exit code" "$(cat code)" 4
ok "limit of a file's size: message" grep -q "File too large" message

# --- one of two directories is full once: the run is written to the other directory
mkdir other && "$BIN/gensort" --no-fsync 100000 in && "$BIN/hetsort" -o expected in || exit 1
again() { # again PLAN ARGUMENT... - a sort with that fault: its status and output, what is left, runs written again
  shim "$1" "$BIN/hetsort" --memory 8M --tmpdir spill --tmpdir other --direct never --report report -o out "${@:2}"
  is "two directories, $1 ${*:2}" \
    "$rc/$err/$(cmp out expected)/$(find spill other -mindepth 1)/$(sed -n 's/.*"runs_again": \([0-9]*\).*/\1/p' report)" \
    "0////1"
  rm -f out report
}
for call in fallocate:1=ENOSPC fallocate:3=EDQUOT write:9=ENOSPC write:5=EDQUOT; do again $call in; done
again write:9=ENOSPC - <in
shim tmpfile:4=ENOSPC "$BIN/hetsort" --memory 8M --tmpdir spill --tmpdir other -v -o out in
is "no room for a file: exit code, output" "$rc/$(cmp out expected)" 0/
ok "no room for a file: reported" grep -q "^rank 0: no more room in '\(spill\|other\)'$" <<<"$err"
rm -f out
shim write:9+=ENOSPC "$BIN/hetsort" --memory 8M --tmpdir spill --tmpdir other --direct never --report report -o out in
is "no room in either directory: exit code, output, left over" "$rc/$(ls out 2>/dev/null)/$(find spill other -mindepth 1)" 4//
ok "no room in either directory: message" grep -q "cannot write '\(spill\|other\)/(spill file)': No space left on device" <<<"$err"
shim write:9=EIO "$BIN/hetsort" --memory 8M --tmpdir spill --tmpdir other --direct never -o out in
is "a disk error does not mean a full disk: exit code, output" "$rc/$(ls out 2>/dev/null)" 3/

# --- a tmpfs, which has no direct I/O: with room, too small, and filled by another program
# shellcheck disable=SC2016  # expanded by the inner shell
on_small_tmpfs='mount -t tmpfs -o size=4m none "$2" || exit 77
  "$@"; rc=$?; rm -f spill/other; ls -A spill; df --output=used spill | tail -n 1; exit $rc'
if [ "$(id -u)" -eq 0 ]; then own_mounts="unshare -m"; else own_mounts="unshare -rm"; fi
small() { run $own_mounts sh -c "$on_small_tmpfs" - "$spill" "$dir" "$@"; }
small 3000000
if [ "$rc" -ne 77 ] && [ "$rc" -ne 1 ]; then # 77, 1: not allowed to mount here
  is "tmpfs with room" "$rc/$err/${out// /}" "0//0"
  small 5000000
  is "small tmpfs: exit code, left over" "$rc/${out// /}" "4/0"
  is "small tmpfs: message" "$err" \
    "temporary directory '$dir' has 4 MiB free, but runs need 5.03 MB; use --tmpdir to choose another directory"
  small 3000000 2500000
  is "full tmpfs: exit code, left over" "$rc/${out// /}" "4/0"
  is "full tmpfs: message" "$err" "cannot write '$dir/(spill file)': No space left on device; use --tmpdir to choose another directory"
fi
done_testing
