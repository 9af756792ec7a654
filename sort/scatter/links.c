/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What messages from rank 0 cost: a startup and seconds a byte for each rank, from --links or
 * measured with messages to one rank after the other, as they will be sent: long enough to see what
 * a link carries once buffers and buckets of tokens are used up. */
#include "base/clock.h"
#include "base/minmax.h"
#include "scatter.h"

#include <math.h>
#include <string.h>

enum { PINGS = 5, TAG_PING = 0, FIRST_BYTES = 64 << 10, ENOUGH_BYTES = 16 << 20 };

static const double LIMIT_S = 0.2;        /* for all links together, */
static const double LEAST_LIMIT_S = 0.05; /* but so long for one in any case */
static const double LEAST_BYTE_S = 1e-12; /* no link is faster than 1 TB/s */

typedef struct links {
	unsigned char *buf;
	size_t bytes;   /* of a message */
	uint64_t most;  /* bytes to one rank */
	double limit_s; /* of one link */
} links;

status scatter_plan_make(rank_env *env, scatter_plan *sp)
{
	const size_t p = (size_t)env->c->size;
	*sp = (scatter_plan){ 0 };
	if (!env_scatters(env))
		return ST_OK;
	sp->p = p;
	sp->startup_s = mem_array(&env->m, p, sizeof *sp->startup_s, "links", &env->e);
	sp->byte_s = mem_array(&env->m, p, sizeof *sp->byte_s, "links", &env->e);
	sp->arrive_s = mem_array(&env->m, p, sizeof *sp->arrive_s, "links", &env->e);
	sp->order = mem_array(&env->m, p, sizeof *sp->order, "order of service", &env->e);
	return sp->startup_s && sp->byte_s && sp->arrive_s && sp->order ? ST_OK : ST_RESOURCE;
}

void scatter_plan_free(rank_env *env, scatter_plan *sp)
{
	mem_free(&env->m, sp->startup_s);
	mem_free(&env->m, sp->byte_s);
	mem_free(&env->m, sp->arrive_s);
	mem_free(&env->m, sp->order);
}

status scatter_wait(comm *c, comm_req *r, double *wait_s)
{
	const double t0 = now_s();
	bool done = false;
	status rc = ST_OK;
	comm_wait_begin(c);
	for (unsigned tries = 0; rc == ST_OK && !done;) {
		const size_t before = r->done;
		rc = comm_test(c, r, &done);
		if (r->done != before)
			tries = 0; /* a piece of it has moved: the next one will soon */
		else if (rc == ST_OK && !done)
			nap(tries++);
	}
	*wait_s += now_s() - t0;
	return comm_wait_end(c, rc);
}

/* One message, and its end seen from both sides: a sender is done when it is taken. */
static status one(comm *c, int to, unsigned char *buf, size_t bytes)
{
	comm_req r;
	double waited_s = 0;
	const status rc = c->rank == 0 ? comm_send(c, buf, bytes, to, TAG_PING, &r)
				       : comm_recv(c, buf, bytes, 0, TAG_PING, &r);
	return rc == ST_OK ? scatter_wait(c, &r, &waited_s) : rc;
}

/* The quickest of some messages, seen from rank 0; at `to` the other end. */
static status quickest(comm *c, int to, unsigned char *buf, size_t bytes, double *least_s)
{
	status rc = ST_OK;
	for (int i = 0; i < PINGS && rc == ST_OK; i++) {
		const double t0 = now_s();
		rc = one(c, to, buf, bytes);
		const double s = now_s() - t0;
		*least_s = i == 0 || s < *least_s ? s : *least_s;
	}
	return rc;
}

/* So many bytes; the short message at the end is taken when all of them are there, and not only in
 * a buffer on the way. */
static status volley(comm *c, int to, const links *l, uint64_t bytes, double *s)
{
	const double t0 = now_s();
	status rc = ST_OK;
	for (uint64_t at = 0; at < bytes && rc == ST_OK; at += l->bytes)
		rc = one(c, to, l->buf, bytes - at < l->bytes ? (size_t)(bytes - at) : l->bytes);
	if (rc == ST_OK)
		rc = one(c, to, l->buf, 1);
	*s = now_s() - t0;
	return rc;
}

/* At rank 0: volleys of twice as many bytes each; the last one counts. Where a bucket of tokens
 * limits the link, the first ones go at full speed. */
static uint64_t next_volley(const links *l, uint64_t last, double past_s, double now, double before)
{
	const uint64_t sent = 2 * last;
	const bool settled = sent >= ENOUGH_BYTES && fabs(now - before) < 0.05 * before;
	return settled || past_s > l->limit_s || sent + 2 * last > l->most ? 0 : 2 * last;
}

/* Rank 0 says how many bytes come next. */
static status tell(comm *c, int to, uint64_t *bytes)
{
	comm_word w = comm_word_for(c, *bytes, to, TAG_PING);
	status rc = one(c, to, (unsigned char *)&w, sizeof w);
	if (rc == ST_OK && c->rank != 0)
		rc = comm_word_check(c, &w, 0, TAG_PING);
	*bytes = w.value;
	return rc;
}

static status sustained(comm *c, int to, const links *l, double *moving_s, uint64_t *moved)
{
	double past_s = 0; /* in volleys, whatever else the machine did meanwhile */
	double byte_s = 0;
	for (uint64_t bytes = FIRST_BYTES;;) {
		double s = 0;
		status rc = tell(c, to, &bytes);
		if (rc == ST_OK && bytes > 0)
			rc = volley(c, to, l, bytes, &s);
		if (rc != ST_OK || bytes == 0)
			return rc;
		const double before_s = byte_s;
		past_s += *moving_s = s;
		*moved = bytes;
		byte_s = s / (double)bytes;
		bytes = next_volley(l, bytes, past_s, byte_s, before_s);
	}
}

static status measure_link(rank_env *env, int to, const links *l, scatter_plan *sp)
{
	const bool grows =
		l->most >= 4 * (uint64_t)FIRST_BYTES; /* else one message is all there is */
	double moving_s = 0;
	uint64_t moved = l->bytes;
	status rc = quickest(env->c, to, l->buf, 1, &sp->startup_s[to]);
	if (rc == ST_OK)
		rc = grows ? sustained(env->c, to, l, &moving_s, &moved)
			   : quickest(env->c, to, l->buf, l->bytes, &moving_s);
	sp->byte_s[to] = fmax((moving_s - sp->startup_s[to]) / (double)moved, LEAST_BYTE_S);
	return rc;
}

static status measure_links(rank_env *env, const links *l, scatter_plan *sp)
{
	status rc = ST_OK;
	for (int to = 1; to < env->c->size && rc == ST_OK; to++)
		if (env->c->rank == 0 || env->c->rank == to)
			rc = measure_link(env, to, l, sp);
	return rc;
}

/* Rank 0's own number is not looked at. */
static status read_links(rank_env *env, const rank_speeds *g, scatter_plan *sp)
{
	const status rc = rank_numbers_load(env, g, env->o->links, "link", sp->byte_s);
	for (size_t i = 0; rc == ST_OK && i < g->p; i++)
		sp->byte_s[i] = 1e-6 / sp->byte_s[i];
	return rc;
}

status scatter_links(rank_env *env, const rank_speeds *g, uint64_t total, scatter_plan *sp)
{
	if (env->o->links)
		return comm_agree(env->c, g->p ? read_links(env, g, sp) : ST_OK);
	const uint64_t share = total / (uint64_t)env->c->size + 1;
	const size_t block = scatter_block_recs(env->o), bytes = env->o->lay.record_bytes;
	const size_t n = (size_t)u64_min(share, block); /* no more than there will be */
	const links l = { mem_array(&env->m, n, bytes, "measuring links", &env->e), n * bytes,
			  share * bytes, fmax(LIMIT_S / fmax(env->c->size - 1, 1), LEAST_LIMIT_S) };
	status rc = comm_agree(env->c, l.buf ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK) {
		memset(l.buf, 1, l.bytes); /* the first touch is not part of the message */
		rc = comm_agree(env->c, measure_links(env, &l, sp));
	}
	mem_free(&env->m, l.buf);
	return rc;
}
