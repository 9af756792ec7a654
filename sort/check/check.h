/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Check that records are in order. Each record is read once, by all threads. Of several ranks each
 * looks at its own records; their first and last records show whether all are in order. Memory: 4
 * MiB per thread. */
#ifndef HETSORT_CHECK_CHECK_H
#define HETSORT_CHECK_CHECK_H

#include "base/mem.h"
#include "io/input.h"
#include "kernel/checksum.h"

/* A record and its place. */
typedef struct check_place {
	const char *file;
	uint64_t number; /* in its file, from 0 */
	unsigned char *rec;
} check_place;

typedef struct check_result {
	bool in_order;
	check_place before, at;  /* if not: the first record that is wrong, and the one before */
	check_place first, last; /* if there are any records */
	uint64_t records, equal; /* equal: records with the key of the record before */
	checksum sum;
	unsigned char *recs; /* of these places */
} check_result;

typedef struct check_plan {
	layout lay;
	unsigned threads; /* 0: one per processor */
	direct_io direct;
	bool sum;          /* count and sum all records; continue after a disorder */
	bool unique;       /* two records with one key are a disorder */
	uint64_t first, n; /* these records of the sequence; n UINT64_MAX: to its end */
} check_plan;

/* check_order - look at records of the input, as one sequence; a stream is read to its end. in
 * outlives r. ST_INVALID, without a sentence: they are not in order, and r says where. ST_REFUSED:
 * a stream ends with a part of a record. ST_IO, ST_RESOURCE. The caller frees r->recs with
 * mem_free, on failure too. */
status check_order(input *in, const check_plan *p, mem *m, check_result *r, err *e);

#endif
