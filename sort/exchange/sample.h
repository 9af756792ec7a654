/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where splitters lie, estimated from samples of all ranks. */
#ifndef HETSORT_EXCHANGE_SAMPLE_H
#define HETSORT_EXCHANGE_SAMPLE_H

#include "comm/comm.h"
#include "base/mem.h"
#include "spill/sorted.h"

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

/* sample_phase - where in each part of its records, in order, a rank draws a sample: at this part
 * of 2^64, another one on each rank. At the same ones, ranks whose keys are alike would all draw
 * the same keys, and tell nothing of what lies between. */
static inline uint64_t sample_phase(int rank, unsigned round)
{
	return (uint64_t)rank * UINT64_C(0x9e3779b97f4a7c15) + round * UINT64_C(0x5851f42d4c957f2d);
}

/* sample_place - that of part i of n of `width` records; at: sample_phase(). */
static inline uint64_t sample_place(uint64_t width, size_t i, size_t n, uint64_t at)
{
	const uint64_t from = (uint64_t)((unsigned __int128)width * i / n);
	const uint64_t to = (uint64_t)((unsigned __int128)width * (i + 1) / n);
	return from + (uint64_t)((unsigned __int128)(to - from) * at >> 64);
}

/* sample_margin - how far a place may be off that is estimated from such samples, each for `weight`
 * records of a rank: at most by the sum of one weight a rank, and but for one time in a million by
 * five times the standard deviation, from the sum of their squares. */
double sample_margin(double sum, double square);

/* sample_brackets - collective: estimate the brackets of the size - 1 splitters from samples.
 * s        this rank's sequence.
 * as_read  its records as they lie in memory, by position, to be sampled there: no bucket has to be
 *          sorted, and brackets are wider. NULL: the sequence is sampled.
 * target   target[j]: how many records, of all ranks, precede splitter j.
 * Each rank sends a bounded number of samples to rank 0, which sorts them. */
status sample_brackets(comm *c, mem *m, sorted *s, const records *as_read, const uint64_t *target,
		       brackets *out, err *er);

/* sample_most_bytes - at most what sample_brackets allocates for each rank's samples. */
size_t sample_most_bytes(const layout *l);

/* sample_bracket_recs - of n records on p ranks, about how many lie in a bracket at most. */
double sample_bracket_recs(uint64_t n, size_t p);

void sample_brackets_free(mem *m, brackets *b);

#endif
