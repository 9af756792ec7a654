/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each thread makes and sorts a run of its own; then the threads merge the runs in pieces, from the
 * one array into the other. */
#include "entries.h"
#include "base/minmax.h"
#include "pairwise_merge.h"
#include "merge_partition.h"
#include "base/pool.h"
#include "radix.h"

#include <stdatomic.h>

enum { LEAST_RUN = 1 << 12, PIECE_RECS = 1 << 13 };

typedef struct team {
	const records *in;
	entry *a, *b;
	size_t runs;
	const uint64_t *start; /* [runs + 1] of each run, in a */
	merge_partition p;
	entry *scratch; /* [threads * p.most] */
	atomic_size_t next;
} team;

static void make(const records *in, uint64_t from, uint64_t to, entry *e)
{
	const layout *l = &in->lay;
	const unsigned char *rec = record_at(in, from);
	for (uint64_t i = from; i < to; i++, rec += l->record_bytes)
		e[i] = entry_make(rec, l, i);
}

static void sort_runs(void *team_, unsigned worker)
{
	team *t = team_;
	(void)worker;
	for (size_t k; (k = atomic_fetch_add(&t->next, 1)) < t->runs;) {
		const uint64_t from = t->start[k], to = t->start[k + 1];
		make(t->in, from, to, t->a);
		radix_sort(t->a + from, t->b + from, to - from, t->in);
	}
}

static void merge_pieces(void *team_, unsigned worker)
{
	team *t = team_;
	for (size_t i; (i = atomic_fetch_add(&t->next, 1)) < t->p.count;)
		merge_partition_merge(&t->p, i, t->b + t->p.first[i],
				      t->scratch + worker * t->p.most);
}

static status sort_by_team(mem *m, team *t, unsigned threads, err *e)
{
	const entry_runs r = { *t->in, t->a, t->runs };
	pool_run(threads, sort_runs, t);
	atomic_store(&t->next, 0);
	status rc = merge_partition_cut(&t->p, m, &r, t->start, t->start + 1, PIECE_RECS, e);
	if (rc == ST_OK) {
		t->scratch = mem_array(m, threads * t->p.most, sizeof *t->scratch, "merging", e);
		if (t->scratch)
			pool_run(threads, merge_pieces, t);
		else
			rc = ST_RESOURCE;
		mem_free(m, t->scratch);
	}
	merge_partition_free(&t->p, m);
	return rc;
}

/* Samples twice, cuts, and a piece for each thread, which may come out some times as long. */
uint64_t entries_most_bytes(uint64_t n, unsigned threads)
{
	const uint64_t samples = n / (PIECE_RECS / 32) + threads;
	const uint64_t piece = PIECE_RECS + (uint64_t)threads * (PIECE_RECS / 32);
	if (threads < 2)
		return 0;
	return 2 * samples * sizeof(entry) + threads * piece * sizeof(entry) +
	       (n / PIECE_RECS + threads + 3) * (threads + 1) * sizeof(uint64_t);
}

status entries_of(mem *m, const records *in, size_t n, entry *a, entry *b, unsigned threads,
		  entry **sorted, err *e)
{
	const size_t count = size_min(size_min(n / LEAST_RUN, threads), PAIRWISE_MAX);
	*sorted = a;
	if (count < 2) {
		make(in, 0, n, a);
		radix_sort(a, b, n, in);
		return ST_OK;
	}
	uint64_t *start = mem_array(m, count + 1, sizeof *start, "runs", e);
	if (!start)
		return ST_RESOURCE;
	for (size_t k = 0; k <= count; k++)
		start[k] = (uint64_t)((unsigned __int128)n * k / count);
	team t = { .in = in, .a = a, .b = b, .runs = count, .start = start };
	const status rc = sort_by_team(m, &t, (unsigned)count, e);
	mem_free(m, start);
	*sorted = b;
	return rc;
}
