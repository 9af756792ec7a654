/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading of a rank's share of the input into memory. Threads take chunks of the input in order.
 * While the records of a chunk are in the cache, their keys go to the buckets of a sort on demand.
 * A bucket is sorted later, when one of its records is needed in order. The buckets are chosen from
 * a sample: some blocks of a file that are read before the rest, or copies of some records that are
 * already in memory. Memory: the records, the sample, and demand_most_bytes(). */
#include "read_runs.h"
#include "base/clock.h"
#include "base/arith.h"
#include "base/pool.h"
#include "base/size.h"
#include "base/trace.h"
#include "io/file.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
	STREAM_BYTES = 4 << 20,
	STEP_BYTES = 256 << 10,       /* as in reader_load */
	WAITING = 2,                  /* additional threads, so that the disk always has work */
	SAMPLED_BYTES = 16 << 20,     /* shorter inputs are sampled after reading, in memory */
	SAMPLE_BLOCK_EVERY = 8 << 20, /* few seeks, for disks with a moving head */
	LEAST_BLOCKS = 32,            /* of a sample */
	MOST_BLOCKS = 512,
	ADD_RECS = 1 << 15, /* of records in memory that a thread takes at a time */
};

typedef struct reading {
	read_runs *d;
	const read_runs_plan *p;
	const reader *from;   /* NULL: all records are in memory */
	uint64_t next;        /* the first record that no thread has taken */
	double begun_s;       /* by the clock */
	pthread_mutex_t lock; /* for next, the sums in d, the speed history, and the next members */
	double sort_s;        /* sum over the threads */
	err e;                /* the failure that comes first in the input */
	uint64_t failed_at;   /* the first record of the chunk that failed */
} reading;

/* ------------------------------------------------------------------------------------- memory */

void read_runs_free(mem *m, read_runs *d)
{
	sorted_memory_close(&d->memory);
	if (d->mapped)
		mem_drop(m, d->map.bytes);
	mapped_close(&d->map);
	reader_close(d->mapped);
	mem_free(m, d->keys_sample);
	mem_free(m, d->raw);
	mem_free(m, d->memory.e);
	mem_free(m, d->start);
	sorted_disk_close(&d->disk, m);
	mem_free(m, d->names);
	sorted_files_close(d->files);
	mem_free(m, d->cut);
	*d = (read_runs){ 0 };
}

status read_runs_room(const read_runs_plan *p, mem *m, size_t room, uint64_t offset, read_runs *d,
		      err *e)
{
	size_t bytes;
	d->room = room;
	if (!size_mul(room, p->lay.record_bytes, &bytes) || bytes > SIZE_MAX - 2 * IO_FD_ALIGN)
		return err_set(e, ST_RESOURCE, "no memory for records: %zu x %u bytes", room,
			       p->lay.record_bytes);
	d->raw = mem_array(m, bytes + 2 * IO_FD_ALIGN, 1, "records", e);
	if (!d->raw)
		return ST_RESOURCE;
	const size_t to_page = (size_t)(-(uintptr_t)d->raw % IO_FD_ALIGN);
	d->recs = d->raw + to_page + offset % IO_FD_ALIGN;
	d->memory.recs = (records){ d->recs, p->lay, p->rank };
	return ST_OK;
}

/* ------------------------------------------------------------------------------------- sample */

static status alloc_sample(mem *m, const read_runs_plan *p, uint64_t n, read_runs *d, size_t *room,
			   err *e)
{
	const size_t bucket = p->sizes->bucket_recs;
	*room = bucket ? (size_t)u64_min(n, 8 * (n / bucket + 1))
		       : sort_plan_sample_recs(&p->lay, n);
	d->keys_sample = mem_array(m, *room, p->lay.record_bytes, "sample", e);
	return d->keys_sample ? ST_OK : ST_RESOURCE;
}

/* Sample a block of consecutive records at a random place in each of several equal parts. */
status read_runs_sample(mem *m, const read_runs_plan *p, const reader *from, uint64_t together,
			read_runs *d, err *e)
{
	const uint32_t bytes = p->lay.record_bytes;
	const uint64_t n = p->n, every = n * bytes / SAMPLE_BLOCK_EVERY;
	size_t room;
	status rc = alloc_sample(m, p, together, d, &room, e);
	const uint64_t blocks = u64_min(u64_min(u64_max(every, LEAST_BLOCKS), MOST_BLOCKS), room);
	uint64_t state = n;
	for (uint64_t i = 0; rc == ST_OK && i < blocks; i++) {
		const uint64_t lo = n / blocks * i, each = room / blocks;
		const uint64_t at = lo + splitmix(&state) % (n / blocks);
		const size_t k = reader_chunk(from, at, u64_min(each, n - at));
		rc = reader_read(from, at, k, d->keys_sample + d->keys_samples * bytes, e);
		d->keys_samples += k;
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
		(void)demand_add(c->x->d->memory.order, c->lane, first, n, &c->e);
	trace_end(TRACE_SORT, span);
	c->sort_s += now_s() - t0;
}

/* Put the keys of chunks into buckets until no chunk is left. Chunks are read, or are in memory. */
static void reading_main(void *reading_, unsigned worker)
{
	reading *x = reading_;
	read_runs *d = x->d;
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
				.arrived = d->memory.order ? arriving_to_buckets : NULL,
				.arrived_to = &c,
				.in_place = d->mapped != NULL };
		const double t0 = now_s();
		unsigned char *to = (unsigned char *)record_at(&d->memory.recs, at);
		if (x->from)
			(void)reader_load(x->from, at, n, to, &got, &c.e);
		else
			arriving_to_buckets(&c, at, n);
		pthread_mutex_lock(&x->lock);
		if (c.e.code != ST_OK && (x->e.code == ST_OK || at < x->failed_at)) {
			x->e = c.e;
			x->failed_at = at;
		}
		d->sum = checksum_join(d->sum, got.sum);
		d->verify_s += got.verify_s;
		x->sort_s += c.sort_s;
		speed_history_add(speeds, t0 - x->begun_s, now_s() - x->begun_s, (double)n);
		pthread_mutex_unlock(&x->lock);
	}
}

/* Begin the sort on demand of up to `most` records. */
static status reading_open_order(const reading *x, mem *m, uint64_t most, err *e)
{
	read_runs *d = x->d;
	const size_t bucket = x->p->sizes->bucket_recs;
	const demand_sizes tiny = { .bucket = (uint32_t)bucket,
				    .cap = (uint32_t)size_max(4 * bucket, 64),
				    .depth = demand_sizes_for(most).depth };
	const demand_plan p = { .in = d->memory.recs,
				.n = most,
				.lanes = x->p->threads + WAITING,
				.threads = x->p->threads,
				.sample = d->keys_sample,
				.samples = d->keys_samples,
				.sizes = bucket ? &tiny : NULL };
	return demand_open(&d->memory.order, m, &p, e);
}

/* End adding to the sort, and make the sorted sequence. */
static status reading_end_order(reading *x, err *e)
{
	read_runs *d = x->d;
	const double t0 = now_s(), span = trace_begin();
	status rc = demand_end(d->memory.order, e);
	trace_end(TRACE_SORT, span);
	if (rc == ST_OK)
		rc = sorted_memory_make(&d->memory, d->n, e);
	d->s = &d->memory.s;
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
	read_runs *d = x->d;
	const uint32_t bytes = x->p->lay.record_bytes;
	status rc = ST_OK;
	if (!d->memory.order) {
		size_t room;
		uint64_t state = d->n;
		rc = alloc_sample(m, x->p, d->n, d, &room, e);
		for (size_t i = 0; rc == ST_OK && i < room; i++) {
			const uint64_t at = part_random_place(d->n, i, room, &state);
			record_copy(d->keys_sample + d->keys_samples++ * bytes,
				    record_at(&d->memory.recs, at), bytes);
		}
		if (rc == ST_OK)
			rc = reading_open_order(x, m, most, e);
	}
	x->next = d->added;
	if (rc == ST_OK)
		rc = reading_threads(x, e);
	d->added = d->n;
	return rc;
}

status read_runs_add(const read_runs_plan *p, mem *m, read_runs *d, err *e)
{
	reading x = { .d = d, .p = p, .begun_s = now_s() };
	return reading_add(&x, m, u64_max(p->most_recs, d->n), e);
}

status read_runs_sort(const read_runs_plan *p, mem *m, read_runs *d, err *e)
{
	reading x = { .d = d, .p = p, .begun_s = now_s() };
	const status rc = reading_add(&x, m, d->n, e);
	return rc == ST_OK ? reading_end_order(&x, e) : rc;
}

/* ------------------------------------------------------------------------------------- files */

status read_runs_check(const read_runs *d, status rc, err *e)
{
	err changed = { ST_OK, "" };
	if (d->mapped && (rc == ST_OK || rc == ST_INTERNAL) &&
	    reader_check_map(d->mapped, &d->map, &changed) != ST_OK)
		*e = changed;
	return changed.code == ST_OK ? rc : changed.code;
}

status read_runs_input(const input *in, const read_runs_plan *p, mem *m, read_runs *d, err *e)
{
	const reader_plan rp = { p->first, p->n, p->lay, p->direct };
	const size_t test_bytes = p->sizes->sampled_bytes;
	const bool sampled =
		p->n > 0 && p->n * p->lay.record_bytes >= (test_bytes ? test_bytes : SAMPLED_BYTES);
	reader *r;
	*d = (read_runs){ .n = p->n };
	status rc = reader_open(&r, in, &rp, e);
	/* records in the page cache are used there, not copied */
	const unsigned char *at = rc == ST_OK && sampled ? reader_map(r, &d->map) : NULL;
	if (at) {
		mem_hold(m, d->map.bytes);
		d->mapped = r;
		d->room = d->n;
		d->memory.recs = (records){ at, p->lay, p->rank };
	} else if (rc == ST_OK) {
		rc = read_runs_room(p, m, p->n, reader_align(r, 0), d, e);
	}
	reading x = { .d = d, .p = p, .from = r, .begun_s = now_s() };
	if (rc == ST_OK && sampled)
		rc = read_runs_sample(m, p, r, d->n, d, e);
	if (rc == ST_OK && sampled)
		rc = reading_open_order(&x, m, d->n, e);
	if (rc == ST_OK)
		rc = reading_threads(&x, e);
	if (rc == ST_OK)
		rc = sampled ? reading_end_order(&x, e) : read_runs_sort(p, m, d, e);
	if (rc == ST_OK)
		rc = reader_check(r, e);
	if (!at)
		reader_close(r);
	return rc;
}

/* ------------------------------------------------------------------------------------ streams */

static bool may_grow(const read_runs_plan *p, const read_runs *d)
{
	return d->room <= p->most_recs / 2;
}

uint64_t read_runs_most(const read_runs_plan *p, const read_runs *d)
{
	uint64_t room = d->room;
	while (room > 0 && room <= p->most_recs / 2)
		room *= 2;
	return room;
}

status read_runs_grow(const read_runs_plan *p, mem *m, read_runs *d, err *e)
{
	if (!may_grow(p, d))
		return err_set(e, ST_RESOURCE,
			       "the input has more than the %" PRIu64
			       " records that fit within the memory limit",
			       p->most_recs);
	const read_runs old = *d;
	if (read_runs_room(p, m, 2 * old.room, 0, d, e) != ST_OK) {
		*d = old;
		return ST_RESOURCE;
	}
	memcpy(d->recs, old.recs, d->n * p->lay.record_bytes);
	if (d->memory.order)
		demand_move(d->memory.order, d->recs);
	mem_free(m, old.raw);
	return ST_OK;
}

status read_runs_take(void *record_stream_, unsigned char *to, size_t n, size_t *got, err *e)
{
	record_stream *s = record_stream_;
	const uint32_t bytes = s->lay.record_bytes;
	*got = 0;
	for (bool ended = false; *got < n && !ended;) {
		const size_t step = size_min(n - *got, STEP_BYTES / bytes + 1);
		unsigned char *at = to + *got * bytes;
		size_t k = 0;
		const double span = trace_begin();
		const status rc = file_read_some(s->fd, at, step * bytes, &k, s->path, e);
		trace_end(TRACE_READ, span);
		if (rc == ST_OK && k % bytes)
			return err_set(e, ST_REFUSED,
				       "input %s ends with a partial record of %zu byte%s",
				       quoted(s->path), k % bytes, plural(k % bytes));
		if (rc != ST_OK)
			return rc;
		k /= bytes;
		s->sum = checksum_join(s->sum,
				       reader_entries(&s->lay, at, k, 0, NULL, &s->verify_s));
		*got += k;
		ended = k < step;
	}
	return ST_OK;
}

status read_runs_stream(const read_runs_plan *p, record_stream *s, mem *m, read_runs *d,
			bool *ended, err *e)
{
	const size_t chunk = STREAM_BYTES / p->lay.record_bytes + 1;
	uint64_t room = p->most_recs; /* halved, so that doubling it reaches most_recs */
	while (room / 2 > 2 * chunk)
		room /= 2;
	*d = (read_runs){ 0 };
	*ended = false;
	status rc = read_runs_room(p, m, room ? (size_t)room : 1, 0, d, e);
	while (rc == ST_OK && !*ended && (d->n < d->room || may_grow(p, d))) {
		if (d->n == d->room && (rc = read_runs_grow(p, m, d, e)) != ST_OK)
			break;
		const size_t n = size_min(d->room - d->n, chunk);
		size_t got = 0;
		rc = read_runs_take(s, d->recs + d->n * p->lay.record_bytes, n, &got, e);
		d->n += got;
		*ended = got < n;
	}
	d->sum = s->sum;
	d->verify_s = s->verify_s;
	return rc;
}

checksum read_runs_arrived(read_runs *d, size_t n)
{
	const layout *l = &d->memory.recs.lay;
	const checksum sum =
		reader_entries(l, d->recs + d->n * l->record_bytes, n, d->n, NULL, &d->verify_s);
	d->n += n;
	return sum;
}
