/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All ranks read the input together, in rounds. The records of a round are consecutive in the
 * input. Each rank reads a part of them, and sends each record to the rank that the splitters give.
 * Splitters are estimated from samples; the merge makes the shares exact. The records of a round
 * arrive in the order of the input, so runs are stable. Memory in addition to the runs: the records
 * of a round with an entry for each, and the windows of the exchange.
 *
 * A rank that cannot read or keep records takes part in all rounds, because others wait for it. */
#include "distribute_disk.h"
#include "exchange.h"
#include "splitter_search.h"
#include "base/clock.h"
#include "base/arith.h"
#include "kernel/gather.h"
#include "model/rank_result.h"
#include "testing/failpoint.h"

#include <stdlib.h>

enum { ROUND_BYTES = 8 << 20, MOST_SAMPLES = 1024, MOST_SAMPLE_BYTES = 1 << 20 };

/* Return the rank that a record is sent to. place: the number of the record among those that this
 * rank reads, or in the whole input if every rank reads all of it. */
static size_t splitters_rank(const splitters *g, const records *r, const entry *e, uint64_t place)
{
	lower_bound b = { .lo = 0, .hi = g->count };
	while (lower_bound_open(&b)) {
		const item *it = splitters_item(g, b.mid);
		int c = entry_item_key_cmp(e, it, r);
		if (c == 0)
			c = place_cmp(r->rank, place, it->rank, it->lo);
		lower_bound_step(&b, c >= 0);
	}
	return b.lo;
}

size_t splitters_place(const splitters *g, const records *r, uint64_t first, size_t n, entry *out)
{
	size_t misfits = 0;
	memcpy(g->at, g->start, (g->count + 1) * sizeof *g->at);
	for (size_t i = 0; i < n; i++) {
		const entry e = entry_make(record_at(r, i), &r->lay, i);
		const size_t k = splitters_rank(g, r, &e, first + i);
		if (g->at[k] < g->start[k + 1])
			out[g->at[k]++] = e;
		else
			misfits++;
	}
	return misfits;
}

/* ----------------------------------------------------------------------------- the estimate
 *
 * Splitters are estimated from records at random places, which are read one by one before the
 * rounds. Equal records are ordered by their place in the input. So the shares are nearly as
 * planned for any order of the input, even for repeated keys. Each rank reads at most MOST_SAMPLES
 * samples. Rank 0 has memory for the items of all samples. */

static size_t sample_room(const layout *l)
{
	return size_min(MOST_SAMPLE_BYTES / item_bytes(l), MOST_SAMPLES);
}

/* Divide the share of this rank into k parts, and draw a record at a random place in each part. */
static status estimate_draw(rank_env *env, const share_plan *s, const reader *from,
			    unsigned char *rec, unsigned char *to)
{
	const layout *l = &env->o->lay;
	const uint64_t first = share_before(env, s->in), n = own_share(env, s->in);
	const size_t k = (size_t)u64_min(n, sample_room(l));
	const records one = { rec, *l, 0 };
	/* each job draws other places, so no input can be made to mislead the samples */
	uint64_t state = unique_number();
	for (size_t i = 0; i < k; i++, to += item_bytes(l)) {
		const uint64_t place = first + part_random_place(n, i, k, &state);
		const status rc = reader_read(from, place, 1, rec, &env->e);
		if (rc != ST_OK)
			return rc;
		const entry e = entry_make(rec, l, 0);
		item *it = (void *)to;
		item_of(it, &e, &one);
		it->lo |= place;
	}
	return ST_OK;
}

/* At rank 0: choose as each splitter the first sample that is preceded by about as many records as
 * the ranks before the splitter will write. */
static status estimate_choose(rank_env *env, const share_plan *s, const unsigned char *all,
			      splitters *g)
{
	const size_t p = (size_t)env->c->size, room = sample_room(&g->lay);
	const size_t isz = item_bytes(&g->lay);
	weighed *w = mem_array(&env->m, p * room, sizeof *w, "samples", &env->e);
	layout lay = g->lay;
	double before = 0;
	size_t n = 0, at = 0;
	if (!w)
		return ST_RESOURCE;
	for (size_t r = 0; r < p; r++) {
		const size_t k = (size_t)u64_min(s->in[r], room);
		const double weight = k ? (double)s->in[r] / (double)k : 0;
		for (size_t i = 0; i < k; i++)
			w[n++] = (weighed){ (const void *)(all + (r * room + i) * isz), weight };
	}
	qsort_r(w, n, sizeof *w, item_order, &lay);
	for (size_t i = 0; i < g->count; i++) {
		while (at + 1 < n && before + w[at].weight / 2 < (double)s->before[i])
			before += w[at++].weight;
		if (n > 0)
			memcpy(splitters_item(g, i), w[at].it, isz);
	}
	mem_free(&env->m, w);
	return ST_OK;
}

/* Collective: estimate the splitters. The caller frees g->raw, also after a failure. */
static status estimate_splitters(rank_env *env, const share_plan *s, const reader *from,
				 splitters *g)
{
	const layout *l = &env->o->lay;
	const size_t p = (size_t)env->c->size, isz = item_bytes(l), bytes = sample_room(l) * isz;
	g->count = p - 1;
	g->lay = *l;
	g->raw = mem_array(&env->m, g->count, isz, "splitters", &env->e);
	unsigned char *mine = mem_array(&env->m, bytes + l->record_bytes, 1, "samples", &env->e);
	unsigned char *all =
		mem_array(&env->m, env->c->rank == 0 ? p : 0, bytes, "samples", &env->e);
	status rc = g->raw && mine && all ? estimate_draw(env, s, from, mine + bytes, mine)
					  : ST_RESOURCE;
	rc = comm_agree(env->c, rc);
	if (rc == ST_OK)
		rc = comm_gather(env->c, mine, all, bytes, 0);
	if (rc == ST_OK && env->c->rank == 0)
		rc = estimate_choose(env, s, all, g);
	mem_free(&env->m, mine);
	mem_free(&env->m, all);
	rc = comm_agree(env->c, rc);
	return rc == ST_OK ? comm_bcast(env->c, g->raw, g->count * isz, 0) : rc;
}

/* ------------------------------------------------------------------------------- the rounds */

typedef struct rounds {
	rank_env *env;
	const distribute_plan *k;
	splitters g;
	reader *from; /* all of the input */
	uint64_t round, count;
	unsigned char *raw;       /* records of this rank and round, */
	entry *out;               /* and their entries by destination */
	uint64_t *send, *recv;    /* [size] records of the round */
	uint64_t *start;          /* [size + 1] first entry of a destination, for g */
	exchange *x;              /* NULL: between rounds */
	int src;                  /* the rank whose stream is read */
	const unsigned char *rec; /* the rest of its block */
	size_t left;
	checksum sum;  /* of the records that this rank has read, */
	uint64_t read; /* and their number */
	double verify_s, waited_s;
	uint64_t received;
	atomic_size_t misfits; /* entries that do not match their records */
	err e;                 /* the first failure, after which the rounds continue */
} rounds;

/* Return how many records rank r reads before this round. */
static uint64_t read_before(const rounds *x, int r, uint64_t round)
{
	return (uint64_t)((unsigned __int128)x->k->s->in[r] * round / x->count);
}

static void round_fill(void *rounds_, int to, uint64_t skip, size_t n, unsigned char *buf)
{
	rounds *x = rounds_;
	const records r = { x->raw, x->env->o->lay, 0 };
	atomic_fetch_add(&x->misfits, gather(&r, x->out + x->start[to] + skip, n, 0, buf));
}

/* Read this rank's records of the round, none after a failure, and order them by destination. */
static void round_read(rounds *x)
{
	const rank_env *env = x->env;
	const size_t p = (size_t)env->c->size;
	const records r = { x->raw, env->o->lay, 0 };
	loading got = { .entries = NULL };
	uint64_t first = 0;
	size_t n = (size_t)(read_before(x, env->c->rank, x->round + 1) -
			    read_before(x, env->c->rank, x->round));
	for (int i = 0; i < env->c->size; i++)
		first += read_before(x, i, x->round + (i < env->c->rank));
	if (x->e.code == ST_OK)
		(void)reader_load(x->from, first, n, x->raw, &got, &x->e);
	if (x->e.code != ST_OK)
		n = 0;
	x->sum = checksum_join(x->sum, got.sum);
	x->verify_s += got.verify_s;
	x->read += n;
	memset(x->send, 0, p * sizeof *x->send);
	for (size_t i = 0; i < n; i++) {
		const entry e = entry_make(record_at(&r, i), &r.lay, i);
		x->send[splitters_rank(&x->g, &r, &e, first + i)]++;
	}
	for (size_t k = 0; k < p; k++)
		x->start[k + 1] = x->start[k] + x->send[k];
	x->misfits += splitters_place(&x->g, &r, first, n, x->out);
	FAIL_FLIP(FAIL_ENTRIES, x->out, n * sizeof(entry));
}

/* Read this rank's records of a round, exchange the counts, and start the exchange. */
static status round_begin(rounds *x)
{
	rank_env *env = x->env;
	const size_t record_bytes = env->o->lay.record_bytes;
	round_read(x);
	status rc = comm_alltoall(env->c, x->send, x->recv, sizeof *x->recv);
	const exchange_plan plan = { .c = env->c,
				     .m = &env->m,
				     .record_bytes = record_bytes,
				     .fill = round_fill,
				     .outgoing = x,
				     .peers = peers_all(env->c),
				     .most_peers = env->c->size,
				     .send = x->send,
				     .recv = x->recv,
				     .threads = env->o->exchange_threads,
				     .budget_bytes = (size_t)x->k->windows_bytes,
				     .total = x->k->s->records };
	/* a wrong number would make this rank wait without end */
	for (int i = 0; rc == ST_OK && i < env->c->size; i++)
		if (x->recv[i] > read_before(x, i, x->round + 1) - read_before(x, i, x->round))
			rc = err_set(&x->e, ST_PEER,
				     "rank %d reports more records than it can have read", i);
	if (!atomic_load(&env->c->broken))
		rc = comm_agree(env->c, rc == ST_OK ? exchange_open(&x->x, &plan, &x->e) : rc);
	if (rc == ST_OK)
		rc = exchange_start(x->x);
	x->src = 0;
	for (int i = 0; rc == ST_OK && i < env->c->size; i++)
		if (i != env->c->rank) {
			result_sent(env->stats, i, x->send[i] * record_bytes);
			x->received += x->recv[i];
		}
	return rc;
}

/* End the exchange of a round. Damaged blocks are reported after the last round. */
static status round_end(rounds *x)
{
	exchange_times t = { 0, 0 };
	(void)exchange_finish(x->x, &t, &x->e);
	x->waited_s += t.wait_s;
	x->env->stats->move_s += t.move_s;
	exchange_free(x->x);
	x->x = NULL;
	x->round++;
	return atomic_load(&x->env->c->broken) ? ST_PEER : ST_OK;
}

/* Go to the next block of this round or of a later one. x->left is 0 after the last round. */
static status rounds_next(rounds *x)
{
	status rc = ST_OK;
	while (rc == ST_OK && x->left == 0 && x->round < x->count) {
		if (!x->x)
			rc = round_begin(x);
		else if (x->src == x->env->c->size)
			rc = round_end(x);
		else if ((rc = exchange_next(x->x, x->src, &x->rec, &x->left)) == ST_OK)
			x->src += x->left == 0;
	}
	if (rc != ST_OK) { /* no rank can continue */
		exchange_free(x->x);
		x->x = NULL;
		x->count = x->round;
	}
	return rc;
}

/* Copy up to n received records for run_formation_stream(); *got is less than n at the end. */
static status rounds_take(void *rounds_, unsigned char *to, size_t n, size_t *got, err *e)
{
	rounds *x = rounds_;
	const size_t bytes = x->env->o->lay.record_bytes;
	*got = 0;
	for (size_t k; *got < n; *got += k) {
		const status rc = x->left ? ST_OK : rounds_next(x);
		if (rc != ST_OK)
			return x->e.code ? err_join(e, &x->e)
					 : err_set(e, rc, "the exchange of records failed");
		if (x->left == 0)
			break;
		k = size_min(n - *got, x->left);
		memcpy(to + *got * bytes, x->rec, k * bytes);
		x->rec += k * bytes;
		x->left -= k;
	}
	return ST_OK;
}

static status rounds_open(rounds *x, const reader_plan *rp)
{
	rank_env *env = x->env;
	const size_t p = (size_t)env->c->size, each = env->o->lay.record_bytes + sizeof(entry);
	uint64_t most = 0;
	for (size_t r = 0; r < p; r++)
		most = u64_max(most, x->k->s->in[r]);
	/* with the short runs of tests, also have several rounds */
	const uint64_t test_recs = test_sizes_of(env->o)->run_recs;
	const uint64_t wanted = test_recs ? test_recs : ROUND_BYTES / each + 1;
	x->count = most / wanted + 1;
	const size_t room = (size_t)(own_share(env, x->k->s->in) / x->count + 1);
	x->raw = mem_array(&env->m, room, env->o->lay.record_bytes, "records of a round", &env->e);
	x->out = mem_array(&env->m, room, sizeof *x->out, "entries", &env->e);
	x->send = mem_array(&env->m, 4 * p + 1, sizeof *x->send, "counts", &env->e);
	if (!x->raw || !x->out || !x->send)
		return ST_RESOURCE;
	x->recv = x->send + p;
	x->g.at = x->recv + p;
	x->g.start = x->start = x->g.at + p;
	return reader_open(&x->from, x->k->in, rp, &env->e);
}

status distribute_disk(rank_env *env, const distribute_plan *k, read_runs *out)
{
	rounds x = { .env = env, .k = k };
	const reader_plan rp = { 0, k->s->records, env->o->lay, env->o->direct, k->p->load.io };
	status rc = comm_agree(env->c, rounds_open(&x, &rp));
	if (rc == ST_OK)
		rc = estimate_splitters(env, k->s, x.from, &x.g);
	if (rc == ST_OK) {
		rank_result *r = env->stats;
		rc = run_formation_stream(rounds_take, &x, k->p, &env->m, out, &env->e);
		do /* receive and drop the records of the remaining rounds */
			x.left = 0;
		while (rounds_next(&x) == ST_OK && x.left);
		if (rc == ST_OK)
			rc = err_join(&env->e, &x.e);
		if (rc == ST_OK)
			rc = gather_misfits(atomic_load(&x.misfits), &env->e);
		if (rc == ST_OK)
			rc = reader_check(x.from, &env->e);
		r->in = x.read;
		r->received_bytes += x.received * env->o->lay.record_bytes;
		result_shift(r, PH_EXCHANGE, x.waited_s);
		out->sum = x.sum;
		out->verify_s += x.verify_s;
	}
	mem_free(&env->m, x.g.raw);
	reader_close(x.from);
	exchange_free(x.x);
	if (!atomic_load(&env->c->broken)) { /* otherwise messages may still use them */
		mem_free(&env->m, x.raw);
		mem_free(&env->m, x.out);
		mem_free(&env->m, x.send);
	}
	return rc;
}
