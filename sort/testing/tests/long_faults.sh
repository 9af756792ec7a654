#!/usr/bin/env bash
# The whole walk: every allocation, file call, thread and message of every sort fails; then two at a
# time, anywhere, until a hundred thousand faults have struck. Most sorts sync what they write, for which
# a disk takes longer than all the rest: so in memory, where that can be read past the cache.
set -u
shm=$(mktemp -d /dev/shm/hetsort-faults.XXXXXX 2>/dev/null) && trap 'rm -rf "$shm"' EXIT
if [ -n "$shm" ] && dd if=/dev/zero of="$shm/try" bs=4096 count=1 oflag=direct status=none 2>/dev/null; then
  rm "$shm/try"
  TEST_TMP=$shm
fi
TEST_TMP=$TEST_TMP "$BIN/failpoints/fault_walk" full 100000
