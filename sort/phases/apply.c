/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --apply: the order, a file of numbers, is inverted while it is read. Each rank learns the place in
 * the output of each record that it will read. This place becomes the key of the record
 * (io/shape.h), so a sort brings the records in order, in memory and on disk. Records without a
 * place are dropped as by --top. Each rank reads the whole order. Memory: 8 bytes per record that
 * the rank reads. */
#include "base/arith.h"
#include "base/size.h"
#include "io/file.h"
#include "io/reader.h"
#include "apply.h"

#include <endian.h>
#include <inttypes.h>
#include <string.h>

enum { ORDER_RECS = 1 << 15 }; /* read at a time */

static const layout number_layout = LAYOUT_BYTES(sizeof(uint64_t), 0, sizeof(uint64_t));

status apply_describe(job *j)
{
	rank_env *env = &j->env;
	const settings *o = env->o;
	const settings alone = { .inputs = &o->apply, .ninputs = 1, .lay = number_layout };
	input *in = &j->apply.order;
	if (!o->apply)
		return ST_OK;
	const status rc = input_describe(in, &alone, 0, name_is_per_rank(o->apply), &env->e);
	return rc == ST_OK && in->streams ? err_set(&env->e, ST_REFUSED, "order %s must be a file",
						    quoted(o->apply))
					  : rc;
}

status apply_count(job *j)
{
	rank_env *env = &j->env;
	const settings *o = env->o;
	const uint64_t n = j->shares.records, m = j->apply.order.records;
	if (!o->apply || m == n)
		return ST_OK;
	if (m == 0 || m > n)
		return err_set(&env->e, ST_REFUSED,
			       "order %s has %" PRIu64 " number%s, but the input has %" PRIu64
			       " record%s",
			       quoted(o->apply), m, plural(m), n, plural(n));
	j->apply.selecting = *o;
	j->apply.selecting.top = m;
	env->o = &j->apply.selecting;
	return ST_OK;
}

/* Find which records this rank reads: *n from *first on. */
static void find_share(const job *j, uint64_t *first, uint64_t *n)
{
	const rank_env *env = &j->env;
	const input *in = &j->files.in;
	const bool all = in->per_rank || env_scatters(env);
	*first = all ? in->shape.before : share_before(env, j->shares.in);
	*n = in->per_rank                            ? in->records
	     : !env_scatters(env)                    ? own_share(env, j->shares.in)
	     : env->c->rank == 0 /* it reads all */ ? j->shares.records
						     : 0;
}

uint64_t apply_bytes(const job *j)
{
	uint64_t first, n = 0;
	if (j->env.o->apply)
		find_share(j, &first, &n);
	return n * sizeof(uint64_t);
}

/* Note the places [at, at + n) of the order, which have these numbers. */
static status note_places(job *j, const uint64_t *number, size_t n, uint64_t at)
{
	err *e = &j->env.e;
	shape *s = &j->files.in.shape;
	const uint64_t total = j->shares.records;
	for (size_t i = 0; i < n; i++) {
		const uint64_t v = le64toh(number[i]);
		if (v >= total)
			return err_set(e, ST_REFUSED,
				       "order %s: number %" PRIu64 " at place %" PRIu64
				       " is not below %" PRIu64 ", the number of records",
				       quoted(j->env.o->apply), v, at + i, total);
		if (v < s->place_first || v - s->place_first >= s->places)
			continue;
		uint64_t *place = &j->apply.place[v - s->place_first];
		if (*place != UINT64_MAX)
			return err_set(e, ST_REFUSED,
				       "order %s: number %" PRIu64 " is at place %" PRIu64
				       " and again at place %" PRIu64,
				       quoted(j->env.o->apply), v, *place, at + i);
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

void apply_close(job *j)
{
	mem_free(&j->env.m, j->apply.place);
	input_free(&j->apply.order);
}
