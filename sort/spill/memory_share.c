/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading of a rank's share of the input into memory. Threads take chunks of the input in order.
 * While the records of a chunk are in the cache, their keys go to the buckets of a sort on demand.
 * A bucket is sorted later, when one of its records is needed in order. The buckets are chosen from
 * a sample: some blocks of a file that are read before the rest, or copies of some records that are
 * already in memory. Memory: the records, the sample, and demand_most_bytes(). */
#include "memory_share.h"
#include "base/clock.h"
#include "base/arith.h"
#include "base/pool.h"
#include "base/size.h"
#include "base/trace.h"
#include "sort_plan.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>

enum {
	WAITING = 2,                  /* additional threads, so that the disk always has work */
	SAMPLED_BYTES = 16 << 20,     /* shorter inputs are sampled after reading, in memory */
	SAMPLE_BLOCK_EVERY = 8 << 20, /* few seeks, for disks with a moving head */
	LEAST_BLOCKS = 32,            /* of a sample */
	MOST_BLOCKS = 512,
	ADD_RECS = 1 << 15, /* of records in memory that a thread takes at a time */
};

typedef struct reading {
	sorted_share *d;
	const load_plan *p;
	const reader *from;   /* NULL: all records are in memory */
	uint64_t next;        /* the first record that no thread has taken */
	double begun_s;       /* by the clock */
	pthread_mutex_t lock; /* for next, the sums in d, the speed history, and the next members */
	double sort_s;        /* sum over the threads */
	err e;                /* the failure that comes first in the input */
	uint64_t failed_at;   /* the first record of the chunk that failed */
} reading;

/* ------------------------------------------------------------------------------------- memory */

status memory_share_room(const load_plan *p, mem *m, size_t room, uint64_t offset, sorted_share *d,
			 err *e)
{
	memory_share *to = &d->memory;
	size_t bytes;
	to->room = room;
	if (!size_mul(room, p->lay.record_bytes, &bytes) || bytes > SIZE_MAX - 2 * IO_FD_ALIGN)
		return err_set(e, ST_RESOURCE, "no memory for records: %zu x %u bytes", room,
			       p->lay.record_bytes);
	to->raw = mem_array(m, bytes + 2 * IO_FD_ALIGN, 1, "records", e);
	if (!to->raw)
		return ST_RESOURCE;
	const size_t to_page = (size_t)(-(uintptr_t)to->raw % IO_FD_ALIGN);
	to->recs = to->raw + to_page + offset % IO_FD_ALIGN;
	to->seq.recs = (records){ to->recs, p->lay, p->rank };
	return ST_OK;
}

/* ------------------------------------------------------------------------------------- sample */

static status alloc_sample(mem *m, const load_plan *p, uint64_t n, bucket_sample *s, size_t *room,
			   err *e)
{
	const size_t bucket = p->sizes->bucket_recs;
	*room = bucket ? (size_t)u64_min(n, 8 * (n / bucket + 1))
		       : sort_plan_sample_recs(&p->lay, n);
	s->recs = mem_array(m, *room, p->lay.record_bytes, "sample", e);
	return s->recs ? ST_OK : ST_RESOURCE;
}

/* Sample a block of consecutive records at a random place in each of several equal parts. */
status memory_share_sample(mem *m, const load_plan *p, const reader *from, uint64_t together,
			   bucket_sample *s, err *e)
{
	const uint32_t bytes = p->lay.record_bytes;
	const uint64_t n = p->n, every = n * bytes / SAMPLE_BLOCK_EVERY;
	size_t room;
	status rc = alloc_sample(m, p, together, s, &room, e);
	const uint64_t blocks = u64_min(u64_min(u64_max(every, LEAST_BLOCKS), MOST_BLOCKS), room);
	uint64_t state = n;
	for (uint64_t i = 0; rc == ST_OK && i < blocks; i++) {
		const uint64_t lo = n / blocks * i, each = room / blocks;
		const uint64_t at = lo + splitmix(&state) % (n / blocks);
		const size_t k = reader_chunk(from, at, u64_min(each, n - at));
		rc = reader_read(from, at, k, s->recs + s->n * bytes, e);
		s->n += k;
	}
	return rc;
}

/* ------------------------------------------------------------------------------------- threads */

/* A chunk on its way into memory. */
typedef struct arriving {
	const reading *x;
	unsigned lane; /* the number of the thread, for demand_add() */
	double sort_s;
	err e;
} arriving;

static void arriving_to_buckets(void *arriving_, uint64_t first, size_t n)
{
	arriving *c = arriving_;
	const double t0 = now_s(), span = trace_begin();
	if (c->e.code == ST_OK)
		(void)demand_add(c->x->d->memory.seq.order, c->lane, first, n, &c->e);
	trace_end(TRACE_SORT, span);
	c->sort_s += now_s() - t0;
}

/* Put the keys of chunks into buckets until no chunk is left. Chunks are read, or are in memory. */
static void reading_main(void *reading_, unsigned worker)
{
	reading *x = reading_;
	sorted_share *d = x->d;
	speed_history *speeds = x->from ? x->p->speed_history : NULL;
	for (;;) {
		arriving c = { .x = x, .lane = worker };
		size_t n = 0;
		pthread_mutex_lock(&x->lock);
		const uint64_t at = x->next, left = d->n - at;
		if (x->e.code == ST_OK && left > 0)
			n = x->from ? reader_chunk(x->from, at, left)
				    : (size_t)u64_min(left, ADD_RECS);
		x->next += n;
		pthread_mutex_unlock(&x->lock);
		if (n == 0)
			return;
		loading got = { .pos = at,
				.arrived = d->memory.seq.order ? arriving_to_buckets : NULL,
				.arrived_to = &c,
				.in_place = d->memory.mapped != NULL };
		const double t0 = now_s(), busy_s = speeds ? speeds->clock_s() : 0;
		unsigned char *to = (unsigned char *)record_at(&d->memory.seq.recs, at);
		if (x->from)
			(void)reader_load(x->from, at, n, to, &got, &c.e);
		else
			arriving_to_buckets(&c, at, n);
		const double used_s = speeds ? speeds->clock_s() - busy_s : 0;
		pthread_mutex_lock(&x->lock);
		if (c.e.code != ST_OK && (x->e.code == ST_OK || at < x->failed_at)) {
			x->e = c.e;
			x->failed_at = at;
		}
		d->sum = checksum_join(d->sum, got.sum);
		d->verify_s += got.verify_s;
		x->sort_s += c.sort_s;
		speed_history_add(speeds, t0 - x->begun_s, now_s() - x->begun_s, (double)n, used_s);
		pthread_mutex_unlock(&x->lock);
	}
}

/* Begin the sort on demand of up to `most` records. */
static status reading_open_order(const reading *x, mem *m, uint64_t most, err *e)
{
	memory_share *d = &x->d->memory;
	const size_t bucket = x->p->sizes->bucket_recs;
	const demand_sizes tiny = { .bucket = (uint32_t)bucket,
				    .cap = (uint32_t)size_max(4 * bucket, 64),
				    .depth = demand_sizes_for(most).depth };
	const demand_plan p = { .in = d->seq.recs,
				.n = most,
				.lanes = x->p->threads + WAITING,
				.threads = x->p->threads,
				.sample = d->sample.recs,
				.samples = d->sample.n,
				.sizes = bucket ? &tiny : NULL };
	return demand_open(&d->seq.order, m, &p, e);
}

/* End adding to the sort, and make the sorted sequence. */
static status reading_end_order(reading *x, err *e)
{
	sorted_share *d = x->d;
	const double t0 = now_s(), span = trace_begin();
	sorted_memory *seq = &d->memory.seq;
	status rc = demand_end(seq->order, e);
	trace_end(TRACE_SORT, span);
	if (rc == ST_OK)
		rc = sorted_memory_make(seq, d->n, e);
	d->s = &seq->s;
	d->sort_s += now_s() - t0;
	return rc;
}

static status reading_threads(reading *x, err *e)
{
	/* no more threads than chunks */
	const uint64_t chunks = x->from ? reader_chunks(x->from) : x->d->n / ADD_RECS + 1;
	const unsigned most = x->p->threads + (x->from ? WAITING : 0);
	pthread_mutex_init(&x->lock, NULL);
	const unsigned threads =
		pool_run((unsigned)u64_min(most, u64_max(chunks, 1)), reading_main, x);
	pthread_mutex_destroy(&x->lock);
	x->d->sort_s += x->sort_s / threads;
	return err_join(e, &x->e);
}

/* Put the keys of the records since the last call into buckets; at most `most` records arrive. */
static status reading_add(reading *x, mem *m, uint64_t most, err *e)
{
	sorted_share *d = x->d;
	const uint32_t bytes = x->p->lay.record_bytes;
	status rc = ST_OK;
	bucket_sample *s = &d->memory.sample;
	if (!d->memory.seq.order) {
		size_t room;
		uint64_t state = d->n;
		rc = alloc_sample(m, x->p, d->n, s, &room, e);
		for (size_t i = 0; rc == ST_OK && i < room; i++) {
			const uint64_t at = part_random_place(d->n, i, room, &state);
			record_copy(s->recs + s->n++ * bytes, record_at(&d->memory.seq.recs, at),
				    bytes);
		}
		if (rc == ST_OK)
			rc = reading_open_order(x, m, most, e);
	}
	x->next = d->memory.added;
	if (rc == ST_OK)
		rc = reading_threads(x, e);
	d->memory.added = d->n;
	return rc;
}

status memory_share_add(const load_plan *p, mem *m, sorted_share *d, err *e)
{
	reading x = { .d = d, .p = p, .begun_s = now_s() };
	return reading_add(&x, m, u64_max(p->most_recs, d->n), e);
}

status memory_share_sort(const load_plan *p, mem *m, sorted_share *d, err *e)
{
	reading x = { .d = d, .p = p, .begun_s = now_s() };
	const status rc = reading_add(&x, m, d->n, e);
	return rc == ST_OK ? reading_end_order(&x, e) : rc;
}

/* ------------------------------------------------------------------------------------- files */

status memory_share_check(const sorted_share *d, status rc, err *e)
{
	err changed = { ST_OK, "" };
	const memory_share *in = &d->memory;
	if (in->mapped && (rc == ST_OK || rc == ST_INTERNAL) &&
	    reader_check_map(in->mapped, &in->map, &changed) != ST_OK)
		*e = changed;
	return changed.code == ST_OK ? rc : changed.code;
}

status memory_share_input(const input *in, const load_plan *p, mem *m, sorted_share *d, err *e)
{
	const reader_plan rp = { p->first, p->n, p->lay, p->direct };
	const size_t test_bytes = p->sizes->sampled_bytes;
	const bool sampled =
		p->n > 0 && p->n * p->lay.record_bytes >= (test_bytes ? test_bytes : SAMPLED_BYTES);
	reader *r;
	*d = (sorted_share){ .n = p->n };
	status rc = reader_open(&r, in, &rp, e);
	/* records in the page cache are used there, not copied */
	const unsigned char *at = rc == ST_OK && sampled ? reader_map(r, &d->memory.map) : NULL;
	if (at) {
		mem_hold(m, d->memory.map.bytes);
		d->memory.mapped = r;
		d->memory.room = d->n;
		d->memory.seq.recs = (records){ at, p->lay, p->rank };
	} else if (rc == ST_OK) {
		rc = memory_share_room(p, m, p->n, reader_align(r, 0), d, e);
	}
	reading x = { .d = d, .p = p, .from = r, .begun_s = now_s() };
	if (rc == ST_OK && sampled)
		rc = memory_share_sample(m, p, r, d->n, &d->memory.sample, e);
	if (rc == ST_OK && sampled)
		rc = reading_open_order(&x, m, d->n, e);
	if (rc == ST_OK)
		rc = reading_threads(&x, e);
	if (rc == ST_OK)
		rc = sampled ? reading_end_order(&x, e) : memory_share_sort(p, m, d, e);
	if (rc == ST_OK)
		rc = reader_check(r, e);
	if (!at)
		reader_close(r);
	return rc;
}

/* ------------------------------------------------------------------------------------ growing */

uint64_t memory_share_most(const load_plan *p, const sorted_share *d)
{
	uint64_t room = d->memory.room;
	while (room > 0 && room <= p->most_recs / 2)
		room *= 2;
	return room;
}

status memory_share_grow(const load_plan *p, mem *m, sorted_share *d, err *e)
{
	if (d->memory.room > p->most_recs / 2)
		return err_set(e, ST_RESOURCE,
			       "the input has more than the %" PRIu64
			       " records that fit within the memory limit",
			       p->most_recs);
	memory_share *to = &d->memory;
	const memory_share old = *to;
	if (memory_share_room(p, m, 2 * old.room, 0, d, e) != ST_OK) {
		*to = old;
		return ST_RESOURCE;
	}
	memcpy(to->recs, old.recs, d->n * p->lay.record_bytes);
	if (to->seq.order)
		demand_move(to->seq.order, to->recs);
	mem_free(m, old.raw);
	return ST_OK;
}
