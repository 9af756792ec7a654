/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sizes that are large in use, and that tests make small, so that a few records reach what
 * otherwise takes many gigabytes. No option sets them. */
#ifndef HETSORT_TESTING_TEST_SIZES_H
#define HETSORT_TESTING_TEST_SIZES_H

#include "base/settings.h"

typedef struct test_sizes {   /* 0: the usual size */
	size_t bucket_recs;   /* records of a bucket in memory */
	size_t sampled_bytes; /* least size of an input that is sampled, or mapped, before it is
				 read */
	size_t run_recs;      /* records of a run on disk; the sort spills, whatever the memory */
	size_t uring_segment_bytes; /* of a transfer by io_uring */
} test_sizes;

/* test_sizes_of - those of a sort: all 0 but in tests. */
static inline const test_sizes *test_sizes_of(const settings *o)
{
	static const test_sizes usual;
	return o->test_sizes ? o->test_sizes : &usual;
}

#endif
