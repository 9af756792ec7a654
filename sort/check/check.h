/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Are records in order? Each is read once, by all threads. Memory: 4 MiB for each of them. Of
 * several ranks each looks at records of its own, and what it tells of the first and the last of
 * them shows whether all are in order. */
#ifndef HETSORT_CHECK_CHECK_H
#define HETSORT_CHECK_CHECK_H

#include "base/mem.h"
#include "io/input.h"
#include "kernel/checksum.h"

/* A record, and where it lies. */
typedef struct check_place {
	const char *file;
	uint64_t number; /* in its file, from 0 */
	unsigned char *rec;
} check_place;

typedef struct check_result {
	bool in_order;
	check_place before, at;  /* else: the first record that may not follow the one before it */
	check_place first, last; /* where there are any */
	uint64_t records, equal; /* equal: so many have the key of the one before */
	checksum sum;
} check_result;

typedef struct check_plan {
	layout lay;
	unsigned threads; /* 0: one for each processor */
	direct_io direct;
	bool sum;          /* count and checksum are wanted: goes on behind a disorder */
	bool unique;       /* no two records may have one key */
	uint64_t first, n; /* these records of the sequence; UINT64_MAX: to its end */
} check_plan;

/* check_order - of records of the input, as one sequence; all of a stream. in outlives r.
 * ST_INVALID, without a sentence: they are not in order; else all of r is known. ST_REFUSED: a
 * stream ends with a part of a record; ST_IO, ST_RESOURCE. r is to be freed on failure too. */
status check_order(input *in, const check_plan *p, mem *m, check_result *r, err *e);
void check_free(check_result *r, mem *m);

#endif
