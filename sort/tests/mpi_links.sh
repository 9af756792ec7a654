#!/usr/bin/env bash
# hetsort --source root: measured links are as slow as the hosts' really are, also where a bucket of
# tokens lets the first 128 kB through at full speed. On virtual hosts.
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
done_testing
