#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# libhetsort's calls over ranks: the one right answer, and misuse or want of memory on one rank is
# a sentence on all of them.
# shellcheck source=partition/tests/over_ranks.sh
. "$ROOT/partition/tests/over_ranks.sh"
tests=$OBJ/sort/tests/mpi
over_ranks library_test 1 2 3 4 7
over_ranks misuse_test 1 2 3
over_ranks oom_test 1 2 3
done_testing
