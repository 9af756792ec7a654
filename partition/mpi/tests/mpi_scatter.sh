#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# libhetpart_mpi: each item of a scatter arrives once, in order, where the plan says.
# shellcheck source=partition/tests/over_ranks.sh
. "$ROOT/partition/tests/over_ranks.sh"
over_ranks scatter_test 1 2 3 4 7
done_testing
