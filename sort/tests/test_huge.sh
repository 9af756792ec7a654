#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Sizes beyond any memory, as sparse files: counts beyond 2^32, bytes beyond 2^40, sums beyond 2^63. They are planned to
# the last record, or refused; no record is read.
# shellcheck disable=SC2016  # inner shells expand
set -u
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
hetsort=$BIN/hetsort

plans() { # plans RECORDS ARGUMENT... - the shares of all ranks, read and written, add up
  local n=$1; shift
  run "$hetsort" --explain "$@"
  is "$n records, ${*: -1}: exit code" "$rc" 0
  is "$n records, ${*: -1}: all are planned" "$(awk '$1 ~ /^[0-9]$/ && NF == 7 {r += $4; w += $5} END {printf "%.0f %.0f", r, w}' <<<"$out")" "$n $n"
}
if truncate -s 15T huge 2>/dev/null; then
  truncate -s 8589934597 ones
  plans 8589934597 --ranks 4 --record-size 1 --key 0,1 ones
  plans 8589934597 --ranks 7 --speeds 1,2,3,4,5,6,7 --record-size 1 --key 0,1 ones
  truncate -s 429496729700 wide # 2^32 + 1 records, 100 GB for each rank
  plans 4294967297 --ranks 4 --speeds 1,1,0.667,0.667 wide
  truncate -s 16492674416600 huge
  run "$hetsort" --memory 64M --ranks 3 --strategy distribute -o out wide
  is "2^32 + 1 records in 64 MB: refused" "$rc/$(ls out 2>/dev/null)" 4/
  ok "2^32 + 1 records in 64 MB: message" \
    grep -qE "^hetsort: not enough memory for 4294967297 records of 100 bytes \(--memory: 64 MiB, for 3 ranks\); (use --memory=|they need )[0-9]{4}M" <<<"$err"
  run timeout 60 "$hetsort" --memory 64M -o out huge
  is "15 TB on one rank: refused before anything is read" "$rc/$(ls out 2>/dev/null)" 4/
  ok "15 TB on one rank: all records are counted" \
    grep -qE "^hetsort: not enough memory for 164926744166 records of 100 bytes \(--memory: 64 MiB\); (use --memory=|they need )[0-9]{2}G" <<<"$err"
else
  echo "# no sparse files of this size here"
fi
own_mounts="unshare -rm"
if [ "$(id -u)" -eq 0 ]; then own_mounts="unshare -m"; fi
mkdir large
# Only file systems in memory have files of up to 2^63 - 1 bytes.
beyond='mount -t tmpfs none large && truncate -s 9223372036854775800 large/in.0 large/in.1 large/in.2 && truncate -s 116 large/rest || exit 77; shift 0; exec "$@"'
# The last three files have 2^64 + 100 bytes together; a sum without a check would be 100.
for in in "--ranks 2 large/in.0 large/in.1" "--ranks 3 large/in.%r" "--ranks 3 --record-size 1 --key 0,1 large/in.%r" \
  "--record-size 1 --key 0,1 large/in.0 large/in.1 large/rest"; do
  # shellcheck disable=SC2086  # words
  run $own_mounts sh -c "$beyond" sh "$hetsort" --explain $in
  if [ "$rc" -eq 77 ] || [ "$rc" -eq 1 ]; then echo "# cannot mount such a file system"; continue; fi
  is "more than 2^63 bytes, $in" "$rc" 2
  ok "more than 2^63 bytes, $in: message" grep -q "more than a file can hold\|too many records" <<<"$err"
done
# More than 2^48 records on a rank: 16 bytes for each of 2^62 records exceed 64 bits.
# shellcheck disable=SC2086  # words
for options in "--explain" "--ranks 3 -o large/out" "--ranks 3 --strategy distribute --explain"; do
  run $own_mounts sh -c "$beyond" sh sh -c 'truncate -s 4611686018427387904 large/one && exec "$0" "$@"' \
    "$hetsort" --record-size 1 --key 0,1 $options large/one
  if [ "$rc" -eq 77 ] || [ "$rc" -eq 1 ]; then echo "# cannot mount such a file system"; continue; fi
  is "more than 2^48 records on a rank, $options" "$rc" 2
  ok "more than 2^48 records on a rank, $options: message" grep -q "[0-9]* records are too many for one rank" <<<"$err"
done
done_testing
