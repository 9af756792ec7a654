/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Limits of requests so small that a fuzzer runs thousands of them in a second. */
#ifndef HETPLAN_TESTS_FUZZ_LIMITS_H
#define HETPLAN_TESTS_FUZZ_LIMITS_H

#include "hetplan/hetplan.h"

static const hp_limits small = {
	.line_bytes = 4096,
	.values = 600,
	.depth = 8,
	.procs = 6,
	.loads = 3,
	.items = 300,
	.best_upto = 1000,
	.installments = 3,
	.max_mem_bytes = 1 << 24,
};

#endif
