/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a rank sends: for each destination its part of the runs, as one sorted stream. */
#ifndef HETSORT_SOURCE_H
#define HETSORT_SOURCE_H

#include "losertree.h"
#include "mem.h"
#include "runs.h"

enum { SOURCE_BATCH = 4096 };

typedef struct source {
	const runs *r;
	const uint64_t *cut; /* [(size + 1) * runs] as split_sorted leaves them */
	size_t size;
	int self;
	uint64_t *at;   /* [size * runs] the next place of each run, for each stream */
	head *heads;    /* [size * 2 * runs] of the trees */
	losertree *t;   /* [size] */
	entry *batch;   /* [2 * SOURCE_BATCH] for the sender and for the rank's own stream */
	uint64_t *send; /* [size] records for each rank */
} source;

/* source_open - streams to `size` ranks, of which this is `self`. r and cut live as long. To be
 * closed on failure too. */
status source_open(source *s, mem *m, const runs *r, const uint64_t *cut, size_t size, int self,
		   err *e);

/* source_fill - an exchange_fill: the next n records of the stream to rank `to`. */
void source_fill(void *s, int to, uint64_t skip, size_t n, unsigned char *buf);

void source_close(source *s, mem *m);

#endif
