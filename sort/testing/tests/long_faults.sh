#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# All faults: every allocation, file call, thread and message of every sort fails; then two faults at a time at random
# places, until a hundred thousand faults have struck. Most of the time would be spent in syncs, so the files are in
# memory if it allows direct I/O.
set -u
shm=$(mktemp -d /dev/shm/hetsort-faults.XXXXXX 2>/dev/null) && trap 'rm -rf "$shm"' EXIT
if [ -n "$shm" ] && dd if=/dev/zero of="$shm/try" bs=4096 count=1 oflag=direct status=none 2>/dev/null; then
  rm "$shm/try"
  TEST_TMP=$shm
fi
TEST_TMP=$TEST_TMP "$BIN/failpoints/fault_walk" full 100000
