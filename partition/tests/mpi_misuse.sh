#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# libhetpart_mpi: bad arguments and no memory on one rank alone end the call on all ranks.
# shellcheck source=partition/tests/over_ranks.sh
. "$ROOT/partition/tests/over_ranks.sh"
over_ranks misuse_test 1 2 3 4 7
over_ranks oom_test 1 2 3 4
done_testing
