#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# --check with ranks that are processes: there is one result, with which all of them exit.
set -u
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
hetsort=$BIN/hetsort
"$BIN/gensort" --no-fsync 30001 in && "$hetsort" --no-fsync --ranks 3 -o p.%r in && cat p.[0-2] >sorted || exit 1
sum=$("$hetsort" -c --checksum sorted)
for ranks in 1 2 4; do
  run timeout 120 "$ROOT/scripts/mpirun" "$ranks" "$hetsort" -c --checksum sorted
  is "$ranks processes" "$rc/$err/$out" "0//$sum"
done
for ranks in 2 3; do # three have a part each
  run timeout 120 "$ROOT/scripts/mpirun" "$ranks" "$hetsort" -c --checksum p.%r
  is "$ranks processes, three parts" "$rc/$err/$out" "0//$sum"
done
run timeout 120 "$ROOT/scripts/mpirun" 2 "$hetsort" -c p.1 p.2 p.0
is "not in order: status" "$rc" 1
is "not in order: one message" "$(grep -c "^hetsort: record 0 of 'p.0' is out of order" <<<"$err")" 1
own=(unshare -m) && [ "$(id -u)" -eq 0 ] || own=(unshare -rm)
if "${own[@]}" mount -t tmpfs -o ro none /dev/shm 2>/dev/null; then
  for _ in 1 2 3 4; do # ranks end at different times
    run timeout 120 "${own[@]}" sh -c 'mount -t tmpfs -o ro none /dev/shm && exec "$@"' sh \
      "$ROOT/scripts/mpirun" 4 "$hetsort" -c --checksum sorted
    is "4 processes without /dev/shm" "$rc/$err/$out" "0//$sum"
  done
fi
head -c 150 sorted >partial
run timeout 120 "$ROOT/scripts/mpirun" 2 "$hetsort" -c sorted partial
is "half a record: status" "$rc" 2
is "half a record: one message" "$(grep -c "'partial' has 150 bytes" <<<"$err")" 1
done_testing
