/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The first of two steps of an exchange: what belongs to a group of ranks goes to its members,
 * which merge it. What a rank has then takes the place of what it has read, as one sorted run, and
 * the exchange that follows is among the members of its group. Memory: a second copy of a share,
 * windows. */
#include "exchange/stream_merge.h"
#include "phases.h"

/* What comes, in order. */
typedef struct gathered {
	unsigned char *recs;
	entry *e;
	uint64_t *start; /* of the only run */
	uint64_t n, room;
	layout lay;
} gathered;

typedef struct regrouping {
	rank_env *env;
	const settled *k;
	two_level t;
	uint64_t *cut; /* [(peers + 1) * count] */
	outgoing out;
	exchange *x;
	stream_merge merge;
	gathered g;
} regrouping;

static void take_records(void *regrouping_, const head *h, size_t n)
{
	gathered *g = &((regrouping *)regrouping_)->g;
	const uint32_t bytes = g->lay.record_bytes;
	for (size_t i = 0; i < n && g->n < g->room; i++, g->n++) {
		unsigned char *to = g->recs + g->n * bytes;
		record_copy(to, h[i].rec, bytes);
		g->e[g->n] = entry_make(to, &g->lay, g->n);
	}
}

static status open_gathered(regrouping *x)
{
	mem *m = &x->env->m;
	gathered *g = &x->g;
	g->room = x->t.recs;
	g->lay = x->env->o->lay;
	g->recs = mem_array(m, g->room, g->lay.record_bytes, "received records", &x->env->e);
	g->e = mem_array(m, g->room, sizeof *g->e, "entries", &x->env->e);
	g->start = mem_array(m, 2, sizeof *g->start, "runs", &x->env->e);
	return g->recs && g->e && g->start ? ST_OK : ST_RESOURCE;
}

/* What each peer gets of each run. */
static status cut_for_peers(regrouping *x, const cuts *c)
{
	const size_t n = (size_t)x->t.step[0].peers.count, count = c->s->count;
	x->cut = mem_array(&x->env->m, (n + 1) * count, sizeof *x->cut, "cuts", &x->env->e);
	if (!x->cut)
		return ST_RESOURCE;
	for (size_t i = 0; i <= n; i++)
		for (size_t k = 0; k < count; k++)
			x->cut[i * count + k] = c->cut[x->t.first[i] * count + k];
	return outgoing_open(&x->out, &x->env->m, c->s, x->cut, n, x->k->mp->budget.ahead_bytes,
			     &x->env->e);
}

static status open_all(regrouping *x, const cuts *c)
{
	rank_env *env = x->env;
	const peer_flow *f = &x->t.step[0];
	const exchange_plan p = { .c = env->c,
				  .m = &env->m,
				  .record_bytes = env->o->lay.record_bytes,
				  .fill = outgoing_fill,
				  .outgoing = &x->out,
				  .peers = f->peers,
				  .most_peers = x->t.most_peers,
				  .send = f->send,
				  .recv = f->recv,
				  .threads = env->o->exchange_threads,
				  .budget_bytes = (size_t)x->k->mp->windows_bytes,
				  .total = x->k->s->records };
	x->merge = (stream_merge){ .out = &x->out,
				   .own = f->peers.own,
				   .own_place = (uint32_t)f->peers.own,
				   .k = (uint32_t)f->peers.count,
				   .lay = env->o->lay,
				   .put = take_records,
				   .to = x };
	status rc = stream_merge_open(&x->merge, &env->m, &env->e);
	if (rc == ST_OK)
		rc = open_gathered(x);
	if (rc == ST_OK)
		rc = cut_for_peers(x, c);
	return rc == ST_OK ? exchange_open(&x->x, &p, &env->e) : rc;
}

static void note_traffic(const regrouping *x)
{
	const peer_flow *f = &x->t.step[0];
	const uint64_t bytes = x->env->o->lay.record_bytes;
	for (int i = 0; i < f->peers.count; i++) {
		if (i == f->peers.own)
			continue;
		result_sent(x->env->stats, peers_rank(&f->peers, i), f->send[i] * bytes);
		x->env->stats->received_bytes += f->recv[i] * bytes;
	}
}

static status move(regrouping *x)
{
	rank_env *env = x->env;
	exchange_times times = { 0, 0 };
	status rc = exchange_start(x->x);
	x->merge.x = x->x;
	if (rc == ST_OK)
		rc = stream_merge_run(&x->merge);
	if (rc == ST_OK)
		rc = exchange_finish(x->x, &times, &env->e);
	if (rc == ST_OK)
		rc = outgoing_failure(&x->out, &env->e);
	if (rc == ST_OK && x->g.n != x->t.recs)
		rc = err_set(&env->e, ST_PEER, "other records came than were announced");
	env->stats->move_s += times.move_s;
	note_traffic(x);
	return rc;
}

/* What came takes the place of what was read, and what the members of the group get of it, that of
 * the cuts. */
static status replace(regrouping *x, read_runs *d, cuts *c)
{
	mem *m = &x->env->m;
	peer_flow *f = &x->t.step[1];
	const size_t n = (size_t)f->peers.count;
	uint64_t *cut = mem_array(m, n + 1, sizeof *cut, "cuts", &x->env->e);
	if (!cut)
		return ST_RESOURCE;
	for (size_t i = 0; i < n; i++)
		cut[i + 1] = cut[i] + f->send[i];
	const checksum sum = d->sum;
	if (read_runs_check(d, ST_OK, &x->env->e) != ST_OK) {
		mem_free(m, cut);
		return x->env->e.code;
	}
	read_runs_free(m, d);
	x->g.start[1] = x->g.n;
	*d = (read_runs){ .raw = x->g.recs,
			  .recs = x->g.recs,
			  .entries = x->g.e,
			  .n = (size_t)x->g.n,
			  .room = (size_t)x->g.room,
			  .start = x->g.start,
			  .sum = sum };
	d->r = (sorted_memory){ .recs = { d->recs, x->env->o->lay, (uint32_t)x->env->c->rank },
				.e = d->entries };
	sorted_memory_make(&d->r, 1, d->start);
	d->s = &d->r.s;
	mem_free(m, c->cut);
	c->cut = cut;
	c->s = d->s;
	c->flow = *f;
	c->most_peers = x->t.most_peers;
	*f = (peer_flow){ 0 };
	x->g = (gathered){ 0 };
	return ST_OK;
}

static void close_all(regrouping *x)
{
	mem *m = &x->env->m;
	exchange_free(x->x);
	outgoing_close(&x->out, m);
	if (atomic_load(&x->env->c->broken))
		return; /* somebody may still be sending of these */
	mem_free(m, x->cut);
	stream_merge_close(&x->merge);
	mem_free(m, x->g.recs);
	mem_free(m, x->g.e);
	mem_free(m, x->g.start);
	two_level_free(&x->t, m);
}

/* Records of this rank for each one. */
static uint64_t *count_for_each(rank_env *env, const cuts *c)
{
	const size_t p = (size_t)env->c->size, count = c->s->count;
	uint64_t *send = mem_array(&env->m, p, sizeof *send, "counts", &env->e);
	for (size_t i = 0; send && i < p; i++)
		for (size_t k = 0; k < count; k++)
			send[i] += c->cut[(i + 1) * count + k] - c->cut[i * count + k];
	return send;
}

status phase_regroup(rank_env *env, const settled *k, read_runs *d, cuts *c)
{
	regrouping x = { .env = env, .k = k };
	if (k->mp->exchange != EXCHANGE_TWO_LEVEL)
		return ST_OK;
	uint64_t *send = count_for_each(env, c);
	const two_level_query q = { .send = send,
				    .out = k->s->out,
				    .before = k->s->before,
				    .room_recs = k->mp->between_recs,
				    .asked = env->o->exchange == EXCHANGE_BY_TWO_LEVELS };
	status rc = comm_agree(env->c, send ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK)
		rc = two_level_plan(&x.t, env->c, &env->m, &q, &env->e);
	mem_free(&env->m, send);
	if (rc == ST_OK && !x.t.pays) {
		env->stats->exchange = EXCHANGE_FEW_MESSAGES;
	} else if (rc == ST_OK) {
		rc = comm_agree(env->c, open_all(&x, c));
		if (rc == ST_OK)
			rc = comm_agree(env->c, move(&x));
		if (rc == ST_OK)
			rc = replace(&x, d, c);
	}
	close_all(&x);
	return read_runs_check(d, rc, &env->e);
}
