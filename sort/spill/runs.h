/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a rank has after reading: sorted runs, each of consecutive records of its input, in memory
 * or on disk. A record's place is its number in all runs, one run after the other; equal keys of a
 * rank are in the order of their places. */
#ifndef HETSORT_SPILL_RUNS_H
#define HETSORT_SPILL_RUNS_H

#include "kernel/permutation.h"
#include "spill.h"

/* What looking up records on disk takes; for one thread. */
typedef struct runs_lookup {
	unsigned char *raw;
	spill_view view; /* in raw */
	/* spill_key; a pointer, so that the library, whose runs are in memory, links no spilling */
	status (*key)(spill *s, spill_view *v, size_t run, uint64_t i, const unsigned char **rec,
		      err *e);
	item *it;
	err e; /* the first failure to read; what is looked up after it means nothing */
} runs_lookup;

typedef struct runs {
	records recs;   /* base NULL: on disk */
	const entry *e; /* run k is e[start[k] .. start[k + 1]), sorted by (key, position) */
	const permutation *order; /* or, where e is NULL: of the single run, all of recs */
	size_t count;             /* runs, >= 1 */
	const uint64_t *start;    /* [count + 1]; positions of a run lie between its places */
	/* on disk, where there are no entries: an item for each stride-th record of a run, with its
	 * place for a position; those of run k are sample[sample_at[k] .. sample_at[k + 1]) */
	spill *spill;
	runs_lookup *lookup;
	const unsigned char *sample;
	const size_t *sample_at; /* [count + 1] */
	size_t stride;
} runs;

static inline uint64_t runs_total(const runs *r)
{
	return r->start[r->count];
}

/* runs_entry - the one at a place of runs in memory. */
static inline entry runs_entry(const runs *r, uint64_t place)
{
	if (r->e)
		return r->e[place];
	return entry_make(permutation_record(r->order, place), &r->recs.lay,
			  permutation_position(r->order, place));
}

/* runs_before - the first place in [lo, hi), which lie in one run, whose record does not precede
 * item it; hi where all do. Reads the disk if the runs are on disk. */
uint64_t runs_before(const runs *r, uint64_t lo, uint64_t hi, const item *it);

/* runs_item - the record at a place, into it (item_bytes() wide). May read the disk, too. */
void runs_item(const runs *r, uint64_t place, item *it);

/* runs_failure - the first failure to read, or ST_OK. */
status runs_failure(const runs *r, err *e);

/* runs_sample - sample s of run k on disk. */
static inline const item *runs_sample(const runs *r, size_t k, size_t s)
{
	return (const void *)(r->sample + (r->sample_at[k] + s) * item_bytes(&r->recs.lay));
}

static inline size_t runs_samples(const runs *r, size_t k)
{
	return r->sample_at[k + 1] - r->sample_at[k];
}

/* runs_samples_before - how many samples of run k precede item it. */
size_t runs_samples_before(const runs *r, size_t k, const item *it);

/* runs_between_samples - by the samples alone, the first place of run k that does not precede item
 * it is in [*lo, *hi]. */
void runs_between_samples(const runs *r, size_t k, const item *it, uint64_t *lo, uint64_t *hi);

#endif
