/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorting records in memory by a sort on demand (demand.h). All threads add the records. Then each
 * thread takes one bucket after another and copies its records to their places in the output.
 *
 * The numbers that represent the records need no extra memory: they are stored at the end of the
 * output, which is written from the front. Before it is written up to the numbers, the numbers of
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
	mem *m;
	const bucket_sort_sizes *sizes;
	unsigned threads;
	demand *d;
	const records *in;
	uint64_t n;
	unsigned char *out;
	bool streaming;
	_Atomic uint64_t next, end; /* records still to add, or places still to write */
	_Atomic size_t misfits;
	_Atomic status rc;
	err *e;
} bucket_job;

/* Record the failure of a thread, unless another thread has failed before. */
static void bucket_fail(bucket_job *j, status rc, const err *own)
{
	status ok = ST_OK;
	if (atomic_compare_exchange_strong(&j->rc, &ok, rc))
		*j->e = *own;
}

static void bucket_add(void *arg, unsigned worker)
{
	bucket_job *j = arg;
	err own = { 0 };
	for (uint64_t i; (i = atomic_fetch_add(&j->next, PIECE)) < j->n && j->rc == ST_OK;) {
		const status rc = demand_add(j->d, worker, i, u64_min(PIECE, j->n - i), &own);
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
		j->misfits += demand_gather(j->d, &p, 0, p.n, j->streaming,
					    j->out + i * j->in->lay.record_bytes);
		i = j->next;
	}
	demand_room_close(room);
}

static status bucket_put_places(bucket_job *j, uint64_t from, uint64_t to)
{
	j->next = from;
	j->end = to;
	if (from < to)
		pool_run(j->threads, bucket_put, j);
	return j->rc;
}

/* Open the sort on demand and add all records. *kept gets the memory of the sample, and of the
 * numbers if `lent` is NULL: one array for all numbers can have huge pages. */
static status bucket_begin(bucket_job *j, unsigned char **kept, unsigned char *lent,
			   size_t room_bytes, err *e)
{
	const uint32_t bytes = j->in->lay.record_bytes;
	demand_plan p = { .in = *j->in,
			  .n = j->n,
			  .lanes = j->threads,
			  .threads = j->threads,
			  .room = lent,
			  .room_bytes = room_bytes,
			  .sizes = &j->sizes->demand };
	j->e = e;
	if (j->n > j->sizes->simple) {
		const uint64_t want = j->n / j->sizes->demand.bucket + BUCKETS_LEAST;
		p.samples = classifier_sample_size(j->n, (uint32_t)u64_min(want, BUCKETS_MAX));
	}
	const size_t sample_bytes = p.samples * bytes, own_bytes = lent ? 0 : room_bytes;
	*kept = mem_array(j->m, 1, sample_bytes + own_bytes, "sample", e);
	if (!*kept)
		return ST_RESOURCE;
	if (!lent)
		p.room = *kept + sample_bytes;
	p.sample = *kept;
	uint64_t random = j->n;
	for (size_t i = 0; i < p.samples; i++) {
		const uint64_t at = classifier_sample_place(j->n, p.samples, i, &random);
		record_copy(*kept + i * bytes, record_at(j->in, at), bytes);
	}
	const status rc = demand_open(&j->d, j->m, &p, e);
	if (rc != ST_OK)
		return rc;
	pool_run(j->threads, bucket_add, j);
	return j->rc == ST_OK ? demand_end(j->d, e) : j->rc;
}

/* Sort with numbers in the last room_bytes of the output; 0: in allocated memory. First write the
 * buckets that end before these bytes. Then move the numbers of the remaining buckets to allocated
 * memory, and write these buckets. */
static status bucket_sort_job(bucket_job *j, size_t room_bytes, err *e)
{
	const uint32_t bytes = j->in->lay.record_bytes;
	unsigned char *kept, *room = room_bytes ? j->out + j->n * bytes - room_bytes : NULL;
	j->streaming = j->n >= j->sizes->streaming_bytes / bytes;
	status rc = bucket_begin(j, &kept, room, room_bytes, e);
	if (rc == ST_OK && room) {
		const uint64_t free = (uint64_t)(room - j->out) / bytes;
		uint64_t border = 0;
		for (uint64_t end; border < j->n && (end = demand_border(j->d, border)) <= free;)
			border = end;
		rc = bucket_put_places(j, 0, border);
		if (rc == ST_OK)
			rc = demand_leave_room(j->d, border, e);
		if (rc == ST_OK)
			rc = bucket_put_places(j, border, j->n);
	} else if (rc == ST_OK) {
		rc = bucket_put_places(j, 0, j->n);
	}
	demand_close(j->d);
	mem_free(j->m, kept);
	return rc == ST_OK ? gather_misfits(j->misfits, e) : rc;
}

status bucket_sort_sized(mem *m, const records *in, size_t n, unsigned char *out, unsigned threads,
			 const bucket_sort_sizes *sizes, err *e)
{
	const uint32_t bytes = in->lay.record_bytes;
	const bool simple = n <= sizes->simple;
	size_t room_bytes = 0;
	if (!simple && bytes >= KEY_WINDOW_BYTES) {
		if (presorted_sort(in, n, out, threads))
			return ST_OK;
		if (word_sort_fits(&in->lay, out))
			return word_sort(m, in, n, out, threads, sizes, e);
		if (bytes <= SHORT_MOST_BYTES)
			return short_sort(m, in, n, out, threads, sizes, e);
		room_bytes = size_min(n * bytes / 2, demand_room_bytes(n, threads, threads));
	}
	bucket_job j = { .m = m,
			 .in = in,
			 .n = n,
			 .out = out,
			 .threads = simple ? 1 : threads,
			 .sizes = sizes };
	return bucket_sort_job(&j, room_bytes, e);
}

status bucket_sort_begin(demand **d, unsigned char **kept, mem *m, const records *in, uint64_t n,
			 unsigned threads, err *e)
{
	const bucket_sort_sizes sizes = bucket_sort_sizes_for(n);
	bucket_job j = { .m = m,
			 .in = in,
			 .n = n,
			 .threads = n <= sizes.simple ? 1 : threads,
			 .sizes = &sizes };
	const size_t room_bytes = demand_room_bytes(n, j.threads, j.threads);
	const status rc = bucket_begin(&j, kept, NULL, room_bytes, e);
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
	return bucket_sort_sized(m, in, n, out, threads, &sizes, e);
}
