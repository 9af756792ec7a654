# shellcheck shell=bash disable=SC2154,SC2317  # run and the test set them; called through others
# SPDX-License-Identifier: GPL-3.0-or-later
# Start three virtual hosts, n0 with links of 20 and 100 Mbit/s to the others; source it after tap.sh.
# $id is the cluster, which is stopped when the test ends.
run "$ROOT/scripts/cluster" doctor
if [ "$rc" != 0 ] || ! grep -q '^ok Open MPI' <<<"$out" || ! grep -q '^ok token bucket' <<<"$out"; then
  skip_all "no virtual hosts with limited links here"
fi
id=$("$ROOT/scripts/cluster" up 3 --cpu 0.5) || exit 1
trap '"$ROOT/scripts/cluster" down "$id"' EXIT
for limit in "n1 20mbit" "n2 100mbit"; do
  # shellcheck disable=SC2086  # host and rate
  "$ROOT/scripts/cluster" --id "$id" rate $limit || exit 1
done

right() { awk -v one="$one" -v two="$two" 'BEGIN {exit !(one > 1.75 && one < 3.25 && two > 8.75 && two < 16.25)}'; }

# A busy machine may keep a rank from answering, so one measurement in five must be right.
measures_links() { # measures_links MEASURE - a function that sets rc, and one and two, the rates in MB/s
  local tries=1
  "$1"
  while ! right && [ $tries -lt 5 ]; do tries=$((tries + 1)); "$1"; done
  is "measured" "$rc" 0
  ok "$one and $two MB/s where the links carry 2.5 and 12.5" right
}
