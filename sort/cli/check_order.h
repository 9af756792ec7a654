/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The check that records are in order. All threads together read each record once. If there are
 * several ranks, each checks its own records. Their first and last records then show whether all
 * are in order. Memory: 4 MiB per thread. */
#ifndef HETSORT_CLI_CHECK_ORDER_H
#define HETSORT_CLI_CHECK_ORDER_H

#include "base/mem.h"
#include "io/input.h"
#include "kernel/inspect.h"

/* A record and its place. */
typedef struct check_place {
	const char *file;
	uint64_t number; /* in its file, from 0 */
	unsigned char *rec;
} check_place;

typedef struct check_result {
	bool in_order;
	check_place before, at;  /* if not in order: `at` is the first wrong record */
	check_place first, last; /* if there are any records */
	uint64_t records, equal; /* equal: records with the key of their predecessor */
	checksum sum;
	unsigned char *recs; /* memory of the records of these places */
} check_result;

typedef struct check_plan {
	layout lay;
	unsigned threads; /* 0: one per processor */
	direct_io direct;
	bool sum;          /* count and sum all records, also after a disorder */
	bool unique;       /* records with equal keys are a disorder */
	uint64_t first, n; /* check n records from this one on; n UINT64_MAX: all */
} check_plan;

/* check_order - check records of the input, as one sequence; a stream is read to its end. in must
 * outlive r. The caller frees r->recs with mem_free, on failure, too. Return ST_INVALID, without a
 * message, if the records are not in order; r says where. ST_REFUSED: a stream ends with a part of
 * a record. ST_IO, ST_RESOURCE. */
status check_order(const input *in, const check_plan *p, mem *m, check_result *r, err *e);

/* ---------------------------------------------------------------------------- the order of keys
 *
 * Each field is read as the number that it is. These functions share no code with kernel/key.h,
 * which the sort uses, so that a fault there is detected here. Pure. */

/* order_compare - return a number below 0, 0 or above 0 if a sorts before, equal to or after b. */
int order_compare(const layout *l, const unsigned char *a, const unsigned char *b)
	__attribute__((pure));

/* order_wrong - return whether this result of order_compare(record, next record) is a disorder.
 * unique: equal keys are wrong. */
static inline bool order_wrong(int order, bool unique)
{
	return unique ? order >= 0 : order > 0;
}

typedef struct order_seen {
	size_t wrong; /* the first record that is wrong after its predecessor; n: none */
	size_t equal; /* records with the key of their predecessor */
} order_seen;

/* order_look - check n consecutive records. */
order_seen order_look(const layout *l, const unsigned char *recs, size_t n, bool unique);

#endif
