/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scatter of planned shares: rank 0 reads blocks and sends them to one rank after the other, two
 * blocks under way. A rank that has its share sorts it while others get theirs. If rank 0 cannot
 * read, it goes on sending blocks, so that no rank waits for ever, and the agreement at the end of
 * the phase reports the failure. */
#include "scatter.h"
#include "base/minmax.h"

#include <string.h>

/* All of a share. */
static status send_share(scatter_sender *d, int to, uint64_t at, uint64_t n)
{
	transfer t = { .to = to, .at = at, .left = n, .slots = d->buf };
	double waited_s = 0;
	status rc = ST_OK;
	while (rc == ST_OK && (t.left > 0 || t.done < t.begun))
		rc = scatter_may_send(&t)
			     ? scatter_send(&t, d)
			     : scatter_wait(d->env->c, &t.req[t.done++ % SCATTER_SLOTS], &waited_s);
	result_shift(d->env->stats, PH_EXCHANGE, waited_s);
	return rc;
}

static status serve_all(scatter_sender *d)
{
	const scatter_plan *sp = d->k->sp;
	const uint64_t *share = d->k->s->in;
	status rc = ST_OK;
	for (size_t i = 0; i < sp->p && rc == ST_OK; i++) {
		const uint32_t to = sp->order[i];
		uint64_t at = 0;
		for (uint32_t r = 0; r < to; r++)
			at += share[r];
		if (to != 0)
			rc = send_share(d, (int)to, at, share[to]);
	}
	return rc == ST_OK ? scatter_sender_check(d) : rc;
}

/* Rank 0: the others' shares, then its own. The sum of what it read is that of the input. */
static status scatter_out(scatter_sender *d, read_runs *out)
{
	rank_env *env = d->env;
	const run_formation_plan *p = d->k->p;
	status rc = serve_all(d);
	if (rc == ST_OK)
		rc = p->b->spills ? run_formation_input(d->k->in, p, &env->m, out, &env->e)
				  : read_runs_input(d->k->in, &p->load, &env->m, out, &env->e);
	out->sum = checksum_join(out->sum, d->sum);
	return rc;
}

/* To their place in memory; entries while they are in the cache. */
static status take_to_memory(receiver *b, const read_runs_plan *p, read_runs *d)
{
	rank_env *env = b->env;
	status rc = ST_OK;
	while (rc == ST_OK && d->n < p->n) {
		const uint64_t left = p->n - d->n;
		unsigned char *to = d->recs + d->n * p->lay.record_bytes;
		size_t n = (size_t)u64_min(left, b->block_recs);
		rc = receiver_take(b, to, n, &n, &env->e);
		if (rc != ST_OK)
			break;
		(void)read_runs_arrived(d, n);
	}
	return rc == ST_OK ? read_runs_sort(p, &env->m, d, &env->e) : rc;
}

static status take_to_disk(receiver *b, const run_formation_plan *p, read_runs *out)
{
	rank_env *env = b->env;
	read_runs none = { 0 };
	return run_formation_stream(receiver_take, b, &none, p, &env->m, out, &env->e);
}

static status take_share(rank_env *env, const run_formation_plan *p, read_runs *out)
{
	receiver b;
	status rc = receiver_open(&b, env);
	if (rc == ST_OK && !p->b->spills)
		rc = read_runs_room(&p->load, &env->m, p->load.n, out, &env->e);
	rc = comm_agree(env->c, rc);
	if (rc == ST_OK) {
		receiver_expect(&b, p->load.n);
		rc = p->b->spills ? take_to_disk(&b, p, out) : take_to_memory(&b, &p->load, out);
		if (rc != ST_OK)
			(void)receiver_drain(&b);
	}
	receiver_close(&b);
	return rc;
}

status scatter_records(rank_env *env, const scatter_job *k, read_runs *out)
{
	scatter_sender d = { .env = env, .k = k, .slots = SCATTER_SLOTS };
	if (env->c->rank != 0)
		return take_share(env, k->p, out);
	status rc = comm_agree(env->c, scatter_sender_open(&d));
	if (rc == ST_OK)
		rc = scatter_out(&d, out);
	scatter_sender_close(&d);
	return rc;
}

status scatter_input(rank_env *env, const scatter_job *k, read_runs *out)
{
	return env->o->scatter == SCATTER_DYNAMIC ? scatter_on_request(env, k, out)
						  : scatter_records(env, k, out);
}
