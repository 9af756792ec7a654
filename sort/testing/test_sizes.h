/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sizes that are large in use, and that tests make small, so that few records suffice for tests
 * that otherwise need many gigabytes. No option sets them. */
#ifndef HETSORT_TESTING_TEST_SIZES_H
#define HETSORT_TESTING_TEST_SIZES_H

#include "base/settings.h"

/* 0: the usual size. */
typedef struct test_sizes {
	size_t bucket_recs;         /* records of a bucket in memory */
	size_t sampled_bytes;       /* shorter inputs are neither sampled nor mapped */
	size_t run_recs;            /* records of a run on disk; any sort spills then */
	size_t uring_segment_bytes; /* of a transfer by io_uring */
} test_sizes;

/* test_sizes_of - return the sizes of a sort: all 0 except in tests. */
static inline const test_sizes *test_sizes_of(const settings *o)
{
	static const test_sizes usual;
	return o->test_sizes ? o->test_sizes : &usual;
}

#endif
