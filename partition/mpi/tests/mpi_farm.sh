#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# libhetpart_mpi: each item of a farm is worked on once, results arrive, a failure stops all ranks.
# shellcheck source=partition/tests/over_ranks.sh
. "$ROOT/partition/tests/over_ranks.sh"
over_ranks farm_test 1 2 3 4 7
done_testing
