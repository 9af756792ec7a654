/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorting records in memory by a sort on demand (demand.h). All threads add the records. Then each
 * thread takes one bucket after another and copies its records to their places in the output.
 *
 * The numbers that represent the records need no extra memory: they are stored at the end of the
 * output, which is written from the front. Before the output reaches the numbers, the numbers of
 * the remaining buckets move to allocated memory. */
#include "bucket_sort.h"
#include "base/arith.h"
#include "base/pool.h"
#include "demand_state.h"
#include "classifier.h"
#include "gather.h"

#include <stdatomic.h>

enum { PIECE = 16384, SIMPLE = 16384, STREAMING_BYTES = 8 << 20 };

bucket_sort_sizes bucket_sort_sizes_for(uint64_t n)
{
	return (bucket_sort_sizes){ SIMPLE, demand_sizes_for(n), STREAMING_BYTES };
}

/* One sort, shared by all threads. */
typedef struct bucket_job {
	bucket_sort_task t;
	demand *d;
	bool streaming;
	_Atomic uint64_t next, end; /* records still to add, or places still to write */
	_Atomic size_t misfits;
	_Atomic status rc;
} bucket_job;

/* Record the failure of a thread, unless another thread has failed before. */
static void bucket_fail(bucket_job *j, status rc, const err *own)
{
	status ok = ST_OK;
	if (atomic_compare_exchange_strong(&j->rc, &ok, rc))
		*j->t.e = *own;
}

static void bucket_add(void *arg, unsigned worker)
{
	bucket_job *j = arg;
	err own = { 0 };
	for (uint64_t i; (i = atomic_fetch_add(&j->next, PIECE)) < j->t.n && j->rc == ST_OK;) {
		const status rc = demand_add(j->d, worker, i, u64_min(PIECE, j->t.n - i), &own);
		if (rc != ST_OK)
			bucket_fail(j, rc, &own);
	}
}

static void bucket_put(void *arg, unsigned worker)
{
	bucket_job *j = arg;
	err own = { 0 };
	demand_room *room;
	demand_piece p;
	(void)worker;
	const status rc = demand_room_open(&room, j->d, &own);
	if (rc != ST_OK) {
		bucket_fail(j, rc, &own);
		return;
	}
	for (uint64_t i = j->next; i < j->end && j->rc == ST_OK;) {
		const uint64_t end = demand_border(j->d, i);
		if (!atomic_compare_exchange_weak(&j->next, &i, end))
			continue;
		demand_take(j->d, room, i, end, &p);
		p.streaming = j->streaming;
		j->misfits += demand_gather(&p, 0, p.n, j->t.out + i * j->t.in->lay.record_bytes);
		i = j->next;
	}
	demand_room_close(room);
}

static status bucket_put_places(bucket_job *j, uint64_t from, uint64_t to)
{
	j->next = from;
	j->end = to;
	if (from < to)
		pool_run(j->t.threads, bucket_put, j);
	return j->rc;
}

/* Open the sort on demand and add all records. *kept gets the memory of the sample, and of the
 * numbers if `lent` is NULL: one array for all numbers can have huge pages. */
static status bucket_begin(bucket_job *j, unsigned char **kept, unsigned char *lent,
			   size_t room_bytes)
{
	const bucket_sort_task *t = &j->t;
	const uint32_t bytes = t->in->lay.record_bytes;
	demand_plan p = { .in = *t->in,
			  .n = t->n,
			  .lanes = t->threads,
			  .threads = t->threads,
			  .room = lent,
			  .room_bytes = room_bytes,
			  .sizes = &t->sizes->demand };
	if (t->n > t->sizes->simple)
		p.samples = classifier_sample_size(t->n, demand_buckets(p.sizes, t->n));
	const size_t sample_bytes = p.samples * bytes, own_bytes = lent ? 0 : room_bytes;
	*kept = mem_array(t->m, 1, sample_bytes + own_bytes, "sample", t->e);
	if (!*kept)
		return ST_RESOURCE;
	if (!lent)
		p.room = *kept + sample_bytes;
	p.sample = *kept;
	uint64_t random = t->n;
	for (size_t i = 0; i < p.samples; i++) {
		const uint64_t at = part_random_place(t->n, i, p.samples, &random);
		record_copy(*kept + i * bytes, record_at(t->in, at), bytes);
	}
	const status rc = demand_open(&j->d, t->m, &p, t->e);
	if (rc != ST_OK)
		return rc;
	pool_run(t->threads, bucket_add, j);
	return j->rc == ST_OK ? demand_end(j->d, t->e) : j->rc;
}

/* Sort with numbers in the last room_bytes of the output; 0: in allocated memory. First write the
 * buckets that end before these bytes. Then move the numbers of the remaining buckets to allocated
 * memory, and write these buckets. */
static status bucket_sort_job(bucket_job *j, size_t room_bytes)
{
	const bucket_sort_task *t = &j->t;
	const uint32_t bytes = t->in->lay.record_bytes;
	unsigned char *kept, *room = room_bytes ? t->out + t->n * bytes - room_bytes : NULL;
	j->streaming = t->n >= t->sizes->streaming_bytes / bytes;
	status rc = bucket_begin(j, &kept, room, room_bytes);
	if (rc == ST_OK && room) {
		const uint64_t free = (uint64_t)(room - t->out) / bytes;
		uint64_t border = 0;
		for (uint64_t end; border < t->n && (end = demand_border(j->d, border)) <= free;)
			border = end;
		rc = bucket_put_places(j, 0, border);
		if (rc == ST_OK)
			rc = demand_leave_room(j->d, border, t->e);
		if (rc == ST_OK)
			rc = bucket_put_places(j, border, t->n);
	} else if (rc == ST_OK) {
		rc = bucket_put_places(j, 0, t->n);
	}
	demand_close(j->d);
	mem_free(t->m, kept);
	return rc == ST_OK ? gather_misfits(j->misfits, t->e) : rc;
}

status bucket_sort_sized(const bucket_sort_task *t)
{
	const layout *l = &t->in->lay;
	bucket_job j = { .t = *t };
	if (t->n <= t->sizes->simple)
		j.t.threads = 1;
	if (t->n <= t->sizes->simple || l->record_bytes < KEY_WINDOW_BYTES)
		return bucket_sort_job(&j, 0);
	size_t misfits;
	if (presorted_sort(t->in, t->n, t->out, t->threads, &misfits))
		return gather_misfits(misfits, t->e);
	if (word_sort_fits(l, t->out))
		return word_sort(t);
	if (l->record_bytes <= SHORT_MOST_BYTES)
		return short_sort(t);
	return bucket_sort_job(&j, size_min(t->n * l->record_bytes / 2,
					    demand_room_bytes(t->n, t->threads, t->threads)));
}

status bucket_sort_begin(const bucket_sort_task *t, demand **d, unsigned char **kept)
{
	const bucket_sort_sizes sizes = bucket_sort_sizes_for(t->n);
	bucket_job j = { .t = *t };
	j.t.sizes = &sizes;
	if (t->n <= sizes.simple)
		j.t.threads = 1;
	const size_t room_bytes = demand_room_bytes(t->n, j.t.threads, j.t.threads);
	const status rc = bucket_begin(&j, kept, NULL, room_bytes);
	*d = j.d;
	return rc;
}

uint64_t bucket_sort_begin_most_bytes(const layout *l, uint64_t n, unsigned threads)
{
	return demand_most_bytes(n, threads, threads + 1) + CHUNK_BYTES +
	       demand_samples(n) * l->record_bytes;
}

uint64_t bucket_sort_most_bytes(const layout *l, uint64_t n, unsigned threads)
{
	const bucket_sort_sizes sizes = bucket_sort_sizes_for(n);
	if (n > sizes.simple && l->record_bytes >= KEY_WINDOW_BYTES &&
	    l->record_bytes <= SHORT_MOST_BYTES)
		return short_sort_most_bytes(n, threads, &sizes);
	return bucket_sort_begin_most_bytes(l, n, threads);
}

status bucket_sort_records(mem *m, const records *in, size_t n, unsigned char *out,
			   unsigned threads, err *e)
{
	const bucket_sort_sizes sizes = bucket_sort_sizes_for(n);
	return bucket_sort_sized(&(bucket_sort_task){ m, in, n, out, threads, &sizes, e });
}
