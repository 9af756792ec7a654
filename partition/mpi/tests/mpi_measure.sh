#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# libhetpart_mpi: measured costs are sane, and all ranks make the same plan of them.
# shellcheck source=partition/tests/over_ranks.sh
. "$ROOT/partition/tests/over_ranks.sh"
over_ranks measure_test 1 2 3 4 7
done_testing
