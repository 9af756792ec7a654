/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where splitters lie, estimated from samples of all ranks. */
#ifndef HETSORT_EXCHANGE_SAMPLE_H
#define HETSORT_EXCHANGE_SAMPLE_H

#include "comm/comm.h"
#include "base/mem.h"
#include "spill/runs.h"

/* A splitter lies in [lo, hi), by an estimate. */
typedef struct bracket {
	const item *lo, *hi; /* NULL: open; in raw */
} bracket;

typedef struct brackets {
	bracket *b;         /* one a splitter, size - 1 in all */
	size_t count;       /* splitters */
	unsigned char *raw; /* as broadcast */
	size_t raw_bytes;
} brackets;

/* sample_brackets - collective: estimate the brackets of the size - 1 splitters from samples.
 * r        this rank's runs; sorted tells whether they are in order already.
 * target   target[j]: how many records, of all ranks, precede splitter j.
 * Each rank sends a bounded number of samples to rank 0, which sorts them. */
status sample_brackets(comm *c, mem *m, const runs *r, bool sorted, const uint64_t *target,
		       brackets *out, err *er);

/* sample_most_bytes - at most what sample_brackets allocates for each rank's samples. */
size_t sample_most_bytes(const layout *l);

/* sample_bracket_recs - of n records on p ranks, about how many lie in a bracket at most. */
double sample_bracket_recs(uint64_t n, size_t p);

void sample_brackets_free(mem *m, brackets *b);

#endif
