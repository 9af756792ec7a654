#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Measured links are as slow as the real links of the hosts, even if a token bucket lets the first 128 kB through at full
# speed. Tests the links from rank 0, of hetsort --source root, and the links of the exchange, on virtual hosts.
# shellcheck disable=SC2317  # functions are called through others
set -u
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
# shellcheck source=partition/tests/slow_links.sh
. "$ROOT/partition/tests/slow_links.sh"
"$BIN/gensort" --no-fsync 200000 in || exit 1

explained() {
  run timeout 120 "$ROOT/scripts/cluster" --id "$id" mpirun -n 3 "$BIN/hetsort" --explain --source root in
  read -r one two <<<"$(sed -n 's/.*links in MB\/s, measured: //p' <<<"$out")"
}
measures_links explained

# all links at the same time; rank 0 has a link without a limit, but no partner is faster than the third rank
exchange() {
  run timeout 120 "$ROOT/scripts/cluster" --id "$id" mpirun -n 3 "$BIN/hetsort" --explain --links auto in
  read -r _ one two <<<"$(sed -n 's/^links in MB\/s, measured: //p' <<<"$out")"
}
measures_links exchange
done_testing
