#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# libhetpart_mpi: a link that a bucket of tokens limits is measured as slow as it is in the long run,
# not as fast as the first 128 kB go. On virtual hosts.
# shellcheck disable=SC2317  # functions are called through others
# shellcheck source=partition/tests/over_ranks.sh
. "$ROOT/partition/tests/over_ranks.sh"
# shellcheck source=partition/tests/slow_links.sh
. "$ROOT/partition/tests/slow_links.sh"

measured() {
  run timeout 120 "$ROOT/scripts/cluster" --id "$id" mpirun -n 3 "$OBJ/partition/mpi/tests/link_test"
  read -r one two <<<"$(awk '$1 == "link" {print $3}' <<<"$out" | paste -sd' ')"
}
measures_links measured
done_testing
