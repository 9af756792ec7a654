/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --apply, in one of two ways.
 *
 * By gathering: ranks of one host use the records where they are, in the page cache. Each rank
 * writes its share of the order, and its threads copy the records. Before, it marks the records of
 * an equal part of the input that are to be written. While they are written, which uses less than
 * all processors, a thread computes the checksum of the marked records from front to back, and
 * counts them: fewer than the numbers of this part show a number that occurs again. Memory: a byte
 * for each record of this part.
 *
 * By sorting: each rank learns the place in the output of each record that it will read. This place
 * becomes the key of the record where it is read (io/shape.h), so a sort brings the records in
 * order, in memory and on disk. Records without a place are dropped as by --top. Memory: 8 bytes
 * per record that the rank reads.
 *
 * Each rank reads the whole order. */
#include "base/arith.h"
#include "base/clock.h"
#include "base/pool.h"
#include "base/progress.h"
#include "base/size.h"
#include "io/file.h"
#include "io/reader.h"
#include "apply.h"

#include <endian.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum { ORDER_RECS = 1 << 15 }; /* read at a time */

static const layout number_layout = LAYOUT_BYTES(sizeof(uint64_t), 0, sizeof(uint64_t));

status apply_describe(job *j)
{
	rank_env *env = &j->env;
	const settings *o = env->o;
	const settings only = { .inputs = &o->apply, .ninputs = 1, .lay = number_layout };
	input *in = &j->apply.order;
	if (!o->apply)
		return ST_OK;
	const status rc = input_describe(in, &only, 0, name_is_per_rank(o->apply), &env->e);
	return rc == ST_OK && in->streams
		       ? err_set(&env->e, ST_REFUSED, "order %s must be a file", quoted(o->apply))
		       : rc;
}

/* Return whether this rank can use the records where they are. */
static bool may_gather(const job *j)
{
	const settings *o = j->env.o;
	const input *in = &j->files.in;
	const uint64_t bytes = j->shares.records * o->shape.file_bytes;
	const uint64_t half = (uint64_t)sysconf(_SC_PHYS_PAGES) / 2 * IO_FD_ALIGN;
	input whole = *in;
	whole.shape = (shape){ 0 };
	return !j->cpus.apart && !o->from_root && !(in->per_rank && j->env.c->size > 1) &&
	       !test_sizes_of(o)->run_recs && !o->memory.micropercent &&
	       bytes <= (o->memory.bytes ? o->memory.bytes : half) &&
	       input_may_be_mapped(&whole, o->direct) && input_is_cached(in, bytes);
}

status apply_count(job *j)
{
	rank_env *env = &j->env;
	const settings *o = env->o;
	const uint64_t n = j->shares.records, m = j->apply.order.records;
	settings *own = &j->apply.own;
	uint64_t all_may;
	if (!o->apply)
		return ST_OK;
	if (m > n || (m == 0 && n > 0))
		return err_set(&env->e, ST_REFUSED,
			       "order %s has %" PRIu64 " number%s, but the input has %" PRIu64
			       " record%s",
			       quoted(o->apply), m, plural(m), n, plural(n));
	const status rc = comm_reduce(env->c, may_gather(j), u64_min, &all_may);
	*own = *o;
	env->o = own;
	j->apply.records = n;
	j->apply.gathers = all_may && n > 0;
	if (j->apply.gathers) {
		/* records stay as they are; each rank reads what it writes */
		own->lay = (layout)LAYOUT_BYTES(o->shape.file_bytes, 0, 1);
		own->shape = j->files.in.shape = (shape){ 0 };
		own->merge = true;
		j->shares.records = m;
	} else if (m < n) {
		own->top = m;
	}
	return rc;
}

/* Find which records this rank reads: *n from *first on. */
static void find_share(const job *j, uint64_t *first, uint64_t *n)
{
	const rank_env *env = &j->env;
	const input *in = &j->files.in;
	const bool all = in->per_rank || env_scatters(env);
	*first = all ? in->shape.before : share_before(env, j->shares.in);
	*n = in->per_rank                           ? in->records
	     : !env_scatters(env)                   ? own_share(env, j->shares.in)
	     : env->c->rank == 0 /* it reads all */ ? j->shares.records
						    : 0;
}

uint64_t apply_bytes(const job *j)
{
	uint64_t first, n = 0;
	if (j->env.o->apply && !j->apply.gathers)
		find_share(j, &first, &n);
	return n * sizeof(uint64_t);
}

/* ------------------------------------------------------------------------------- by sorting */

/* Refuse number v at place `at`. */
static status refuse_number(job *j, uint64_t v, uint64_t at)
{
	return err_set(&j->env.e, ST_REFUSED,
		       "order %s: number %" PRIu64 " at place %" PRIu64 " is not below %" PRIu64
		       ", the number of records",
		       quoted(j->env.o->apply), v, at, j->apply.records);
}

static status refuse_again(job *j, uint64_t v, uint64_t first, uint64_t again)
{
	return err_set(&j->env.e, ST_REFUSED,
		       "order %s: number %" PRIu64 " is at place %" PRIu64
		       " and again at place %" PRIu64,
		       quoted(j->env.o->apply), v, first, again);
}

/* Note the places [at, at + n) of the order, which have these numbers. */
static status note_places(job *j, const uint64_t *number, size_t n, uint64_t at)
{
	const shape *s = &j->files.in.shape;
	for (size_t i = 0; i < n; i++) {
		const uint64_t v = le64toh(number[i]);
		if (v >= j->apply.records)
			return refuse_number(j, v, at + i);
		if (v < s->place_first || v - s->place_first >= s->places)
			continue;
		uint64_t *place = &j->apply.place[v - s->place_first];
		if (*place != UINT64_MAX)
			return refuse_again(j, v, *place, at + i);
		*place = at + i;
	}
	return ST_OK;
}

status phase_read_order(job *j)
{
	rank_env *env = &j->env;
	input *in = &j->apply.order;
	shape *s = &j->files.in.shape;
	const reader_plan rp = { .n = in->records, .lay = number_layout, .direct = env->o->direct };
	uint64_t *buf = mem_array(&env->m, ORDER_RECS, sizeof *buf, "an order", &env->e);
	reader *r = NULL;
	find_share(j, &s->place_first, &s->places);
	j->apply.place = mem_array(&env->m, s->places, sizeof *j->apply.place, "places", &env->e);
	s->place = j->apply.place;
	status rc = buf && s->place ? reader_open(&r, in, &rp, &env->e) : ST_RESOURCE;
	if (rc == ST_OK)
		memset(j->apply.place, 0xff, s->places * sizeof *j->apply.place);
	for (uint64_t at = 0, n; rc == ST_OK && at < in->records; at += n) {
		n = u64_min(in->records - at, ORDER_RECS);
		rc = reader_read(r, at, (size_t)n, buf, &env->e);
		if (rc == ST_OK)
			rc = note_places(j, buf, (size_t)n, at);
	}
	if (rc == ST_OK)
		rc = reader_check(r, &env->e);
	reader_close(r);
	mem_free(&env->m, buf);
	return rc;
}

/* ----------------------------------------------------------------------------- by gathering */

/* The check of the order for the records [lo, hi) of the input. */
typedef struct checking {
	job *j;
	sorted_given *of;
	atomic_uchar *mark; /* [hi - lo] whether the record is written */
	uint64_t lo, hi;
	atomic_uint_least64_t next; /* place of the order, or record */
	pthread_mutex_t lock;       /* for the next members */
	uint64_t bad;               /* the first place with a number that is too large */
	uint64_t found, marked;     /* numbers of these records; records that are marked */
	checksum sum;
	double verify_s;
	pthread_t thread; /* computes the checksum, */
	bool runs;        /* if it has been started */
} checking;

static void mark_main(void *checking_, unsigned worker)
{
	checking *c = checking_;
	const uint64_t m = c->of->start[1], part = c->hi - c->lo;
	uint64_t found = 0, bad = UINT64_MAX;
	(void)worker;
	for (uint64_t at; (at = atomic_fetch_add(&c->next, ORDER_RECS)) < m;)
		for (uint64_t i = at; i < u64_min(at + ORDER_RECS, m); i++) {
			const uint64_t v = le64toh(c->of->position[i]), in = v - c->lo;
			if (v >= c->j->apply.records)
				bad = u64_min(bad, i);
			if (in >= part)
				continue;
			atomic_store_explicit(&c->mark[in], 1, memory_order_relaxed);
			found++;
		}
	pthread_mutex_lock(&c->lock);
	c->found += found;
	c->bad = u64_min(c->bad, bad);
	pthread_mutex_unlock(&c->lock);
}

static void *sum_main(void *checking_)
{
	checking *c = checking_;
	const records *r = &c->of->recs;
	const uint32_t bytes = r->lay.record_bytes;
	const size_t step = reader_step_recs(&r->lay);
	const double t0 = now_s();
	for (uint64_t at = c->lo; at < c->hi; at += step) {
		const uint64_t end = u64_min(at + step, c->hi);
		for (uint64_t i = at, from; i < end; i++) {
			for (from = i; i < end && atomic_load_explicit(&c->mark[i - c->lo],
								       memory_order_relaxed);)
				i++;
			if (i > from)
				c->sum = checksum_join(c->sum,
						       checksum_records(&r->lay, record_at(r, from),
									(size_t)(i - from)));
			c->marked += i - from;
			progress_add(PROGRESS_IN, (i - from) * bytes);
		}
	}
	c->verify_s = now_s() - t0;
	return NULL;
}

/* Find a number that is in the order twice. */
static status find_again(checking *c)
{
	const uint64_t *position = c->of->position;
	memset(c->mark, 0, c->hi - c->lo);
	for (uint64_t i = 0; i < c->of->start[1]; i++) {
		const uint64_t v = le64toh(position[i]), in = v - c->lo;
		uint64_t first = 0;
		if (in >= c->hi - c->lo || !atomic_exchange(&c->mark[in], 1))
			continue;
		while (position[first] != position[i])
			first++;
		return refuse_again(c->j, v, first, i);
	}
	return err_set(&c->j->env.e, ST_IO, "order %s changed while it was being read",
		       quoted(c->j->env.o->apply));
}

/* Wait for the checksum of the records that are written. */
static status end_check(void *checking_, checksum *sum, err *e)
{
	checking *c = checking_;
	if (c->runs)
		pthread_join(c->thread, NULL);
	c->runs = false;
	c->j->env.stats->verify_s += c->verify_s;
	*sum = c->sum;
	(void)e; /* of this rank, where find_again() stores it */
	return c->marked == c->found ? ST_OK : find_again(c);
}

/* Check the numbers of the order, and begin to compute the checksum of the records. */
static status check_order(job *j, sorted_given *of)
{
	rank_env *env = &j->env;
	const size_t rank = (size_t)env->c->rank, ranks = (size_t)env->c->size;
	checking *c = j->apply.check = mem_array(&env->m, 1, sizeof *c, "an order", &env->e);
	if (!c)
		return ST_RESOURCE;
	*c = (checking){ .j = j,
			 .of = of,
			 .lo = part_begin(j->apply.records, rank, ranks),
			 .hi = part_begin(j->apply.records, rank + 1, ranks),
			 .bad = UINT64_MAX };
	c->mark = mem_array(&env->m, c->hi - c->lo, sizeof *c->mark, "an order", &env->e);
	if (!c->mark)
		return ST_RESOURCE;
	pthread_mutex_init(&c->lock, NULL);
	pool_run(j->cpus.threads, mark_main, c);
	pthread_mutex_destroy(&c->lock);
	if (c->bad != UINT64_MAX)
		return refuse_number(j, le64toh(of->position[c->bad]), c->bad);
	of->end = end_check;
	of->end_of = c;
	c->runs = j->data.n > 0 && thread_start(&c->thread, "checksum", sum_main, c) == 0;
	if (!c->runs)
		(void)sum_main(c);
	/* a rank that writes nothing does not come to the end of its pieces */
	return j->data.n > 0 ? ST_OK : end_check(c, &j->data.sum, &env->e);
}

/* Return n records of these files where they are, or read to *copy; NULL on failure. */
static const unsigned char *use_records(job *j, const reader *r, uint64_t n, uint32_t bytes,
					mapped *map, unsigned char **copy)
{
	rank_env *env = &j->env;
	const unsigned char *at = reader_map(r, map);
	if (at)
		return at;
	*copy = mem_array(&env->m, (size_t)n, bytes, "records", &env->e);
	return *copy && reader_read(r, 0, (size_t)n, *copy, &env->e) == ST_OK ? *copy : NULL;
}

void apply_plan(const job *j, sort_plan *b)
{
	enum { BATCH_BYTES = 512 << 10 };
	const uint64_t rec = j->env.o->lay.record_bytes;
	*b = (sort_plan){ .workers = j->cpus.threads + 2, /* some wait for the disk */
			  .write_bytes = BATCH_BYTES,
			  .piece_recs = (size_t)(BATCH_BYTES / rec + 1) };
	b->bytes = b->workers * (BATCH_BYTES + rec) + j->apply.records / (uint64_t)j->env.c->size;
	b->core_bytes = b->bytes;
}

status apply_read(job *j)
{
	rank_env *env = &j->env;
	job_apply *a = &j->apply;
	sorted_share *d = &j->data;
	const uint64_t n = a->records, m = a->order.records;
	const layout *l = &env->o->lay;
	const direct_io direct = env->o->direct;
	const reader_plan order = { .n = m, .lay = number_layout, .direct = direct };
	const reader_plan recs = { .n = n, .lay = *l, .direct = direct };
	*d = (sorted_share){ .n = (size_t)own_share(env, j->shares.out), .s = &a->given.s };
	d->cut = mem_array(&env->m, 2, sizeof *d->cut, "an order", &env->e);
	status rc = d->cut ? reader_open(&a->from, &a->order, &order, &env->e) : ST_RESOURCE;
	if (rc == ST_OK)
		rc = reader_open(&d->memory.mapped, &j->files.in, &recs, &env->e);
	if (rc != ST_OK)
		return rc;
	const void *position =
		use_records(j, a->from, m, sizeof(uint64_t), &a->map, (unsigned char **)&a->place);
	const unsigned char *at = use_records(j, d->memory.mapped, n, l->record_bytes,
					      &d->memory.map, &d->memory.raw);
	mem_hold(&env->m, d->memory.map.bytes);
	if (!position || !at)
		return env->e.code;
	a->given = (sorted_given){ .recs = { at, *l, (uint32_t)env->c->rank },
				   .count = n,
				   .position = position,
				   .start = { 0, m } };
	sorted_given_make(&a->given);
	d->cut[0] = share_before(env, j->shares.out);
	d->cut[1] = d->cut[0] + d->n;
	rc = check_order(j, &a->given);
	return rc == ST_OK ? reader_check_map(a->from, &a->map, &env->e) : rc;
}

void apply_close(job *j)
{
	checking *c = j->apply.check;
	if (c && c->runs)
		pthread_join(c->thread, NULL);
	if (c)
		mem_free(&j->env.m, c->mark);
	mem_free(&j->env.m, c);
	mapped_close(&j->apply.map);
	reader_close(j->apply.from);
	mem_free(&j->env.m, j->apply.place);
	input_free(&j->apply.order);
}
