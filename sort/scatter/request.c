/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scatter on request: rank 0 answers each request with the next chunk of the input, sized by
 * factoring. It serves several ranks side by side, as a slow rank also takes its chunk slowly. The
 * others sort a chunk before they request the next one, so a slow rank requests less often. A rank
 * without room for a chunk receives and drops it, and reports the failure with its next request. */
#include "scatter.h"
#include "base/minmax.h"
#include "base/clock.h"
#include "base/pool.h"

#include <hetpart.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
	TAG_REQUEST = SCATTER_SLOTS,
	TAG_COUNT,
	LEAST_RUN = 1 << 16,
	CHUNKS = 32,
	LANES = 8 /* chunks under way at once, at most */
};

/* What a rank asks for. */
enum { MORE = 1, NO_MORE = 2 };

uint64_t scatter_least_chunk(const rank_env *env, uint64_t total)
{
	const uint64_t n = total / ((uint64_t)env->c->size * CHUNKS);
	const uint64_t block = scatter_block_recs(env->o);
	return u64_max(n, block);
}

/* ------------------------------------------------------------------------------------- rank 0 */

/* One of the others. */
typedef struct request {
	comm_req req;
	comm_word word;
	bool asked; /* it waits for an answer */
	bool left;  /* it knows that there is nothing more */
	transfer *lane;
} request;

/* The requests, what is left for them, and the transfers: each carries one chunk or none. */
typedef struct counter {
	scatter_sender *d;
	request *a;
	hetpart_chunks chunks;
	transfer lane[LANES]; /* free if it leads to rank 0 */
	size_t lanes;
	int there; /* ranks that may ask again */
	double waited_s;
} counter;

static status send_word(comm *c, uint64_t word, int to, int tag, double *wait_s)
{
	comm_req r;
	const comm_word w = comm_word_for(c, word, to, tag);
	const status rc = comm_send(c, &w, sizeof w, to, tag, &r);
	return rc == ST_OK ? scatter_wait(c, &r, wait_s) : rc;
}

static transfer *free_lane(counter *k)
{
	for (size_t i = 0; i < k->lanes; i++)
		if (k->lane[i].to == 0)
			return &k->lane[i];
	return NULL;
}

static status answer(counter *k, request *a, int to, transfer *lane)
{
	const rank_env *env = k->d->env;
	const uint64_t at = k->d->k->s->records - k->chunks.left;
	if (a->word.value != MORE || k->d->failed != ST_OK)
		k->chunks.left = 0; /* it fails anyhow: let all come to the border */
	const uint64_t n = hetpart_chunks_next(&k->chunks);
	a->asked = false;
	a->left = n == 0;
	k->there -= a->left;
	if (n) {
		unsigned char *const slots = lane->slots;
		*lane = (transfer){ .to = to, .at = at, .left = n, .slots = slots };
		a->lane = lane;
	}
	return a->word.value != NO_MORE ? send_word(env->c, n, to, TAG_COUNT, &k->waited_s) : ST_OK;
}

static status listen(counter *k, request *a, int to)
{
	return comm_recv(k->d->env->c, &a->word, sizeof a->word, to, TAG_REQUEST, &a->req);
}

/* A block of a chunk has arrived; if it was the last one, the rank may ask again. */
static status move_on(counter *k, request *a, bool *any)
{
	transfer *t = a->lane;
	bool arrived = false;
	if (t->done == t->begun)
		return ST_OK;
	const status rc = comm_test(k->d->env->c, &t->req[t->done % SCATTER_SLOTS], &arrived);
	if (rc != ST_OK || !arrived)
		return rc;
	*any = true;
	if (++t->done < t->begun || t->left > 0)
		return ST_OK;
	const int to = t->to;
	t->to = 0;
	a->lane = NULL;
	return listen(k, a, to);
}

/* Has it asked? */
static status hear(comm *c, request *a, int from)
{
	const status rc = comm_test(c, &a->req, &a->asked);
	return rc == ST_OK && a->asked ? comm_word_check(c, &a->word, from, TAG_REQUEST) : rc;
}

static status attend(counter *k, int i, bool *any)
{
	request *a = &k->a[i];
	if (a->left)
		return ST_OK;
	if (a->lane)
		return move_on(k, a, any);
	const status rc = a->asked ? ST_OK : hear(k->d->env->c, a, i);
	transfer *lane = free_lane(k);
	if (rc != ST_OK || !a->asked || !lane)
		return rc;
	*any = true;
	return answer(k, a, i, lane);
}

/* The next block of the oldest chunk that has a slot for it: a rank has its chunk as soon as it can
 * take it, and sorts while others get theirs. Chunks are handed out from the beginning of the input
 * on, so the oldest is the one whose next record is the first. */
static status send_next(counter *k, bool *any)
{
	transfer *oldest = NULL;
	for (size_t i = 0; i < k->lanes; i++) {
		transfer *t = &k->lane[i];
		if (t->to && scatter_may_send(t) && (!oldest || t->at < oldest->at))
			oldest = t;
	}
	*any |= oldest != NULL;
	return oldest ? scatter_send(oldest, k->d) : ST_OK;
}

static void open_lanes(counter *k)
{
	const size_t bytes = SCATTER_SLOTS * scatter_slot_bytes(k->d->env->o);
	for (size_t i = 0; i < k->lanes; i++)
		k->lane[i].slots = k->d->buf + i * bytes;
}

static status answer_all(scatter_sender *d, request *a)
{
	rank_env *env = d->env;
	counter k = { .d = d,
		      .a = a,
		      .chunks = { .rule = HETPART_CHUNK_FACTORING,
				  .nprocs = (uint64_t)env->c->size - 1,
				  .chunk = scatter_least_chunk(env, d->k->s->records),
				  .left = d->k->s->records },
		      .lanes = d->slots / SCATTER_SLOTS,
		      .there = env->c->size - 1 };
	status rc = ST_OK;
	open_lanes(&k);
	for (int i = 1; i < env->c->size && rc == ST_OK; i++)
		rc = listen(&k, &a[i], i);
	comm_wait_begin(env->c);
	for (unsigned tries = 0; rc == ST_OK && k.there > 0;) {
		bool any = false;
		for (int i = 1; i < env->c->size && rc == ST_OK; i++)
			rc = attend(&k, i, &any);
		if (rc == ST_OK)
			rc = send_next(&k, &any);
		tries = any ? 0 : tries + 1;
		if (!any) {
			const double t0 = now_s();
			nap(tries);
			k.waited_s += now_s() - t0;
		}
	}
	result_shift(env->stats, PH_EXCHANGE, k.waited_s);
	return comm_wait_end(env->c, rc);
}

/* ------------------------------------------------------------------------------------ the others
 */

typedef struct scatter_worker {
	rank_env *env;
	read_runs *d; /* what has come so far */
	const read_runs_plan *p;
	receiver in;
	double sorted_s; /* so far */
	status failed;
} scatter_worker;

/* What is loaded so far goes to buckets by key. */
static status sort_chunk(scatter_worker *t, size_t at)
{
	rank_env *env = t->env;
	const double t0 = now_s();
	const status rc = read_runs_add(t->p, &env->m, t->d, &env->e);
	const double took_s = now_s() - t0;
	result_shift(env->stats, PH_SORT, took_s);
	speed_history_add(t->p->speed_history, t->sorted_s, t->sorted_s + took_s,
			  (double)(t->d->n - at));
	t->sorted_s += took_s;
	return rc;
}

/* Room for n more records; if there is none, they are taken and forgotten. */
static void make_room(scatter_worker *t, uint64_t n)
{
	read_runs *d = t->d;
	while (t->failed == ST_OK && d->room - d->n < n)
		t->failed = read_runs_grow(t->p, &t->env->m, d, &t->env->e);
}

static status take_chunk(scatter_worker *t, uint64_t n)
{
	const layout *l = &t->env->o->lay;
	read_runs *d = t->d;
	make_room(t, n);
	receiver_expect(&t->in, n);
	while (n > 0 && t->failed == ST_OK) {
		unsigned char *to = d->recs + d->n * l->record_bytes;
		size_t k = (size_t)u64_min(n, t->in.block_recs);
		t->failed = receiver_take(&t->in, to, k, &k, &t->env->e);
		if (t->failed != ST_OK)
			break;
		(void)read_runs_arrived(d, k);
		n -= k;
	}
	return receiver_drain(&t->in);
}

/* One request and what comes of it; *n 0: nothing any more. */
static status one_chunk(scatter_worker *t, uint64_t *n, double *wait_s)
{
	comm *c = t->env->c;
	const size_t at = t->d->n;
	comm_req r;
	comm_word w;
	const uint64_t word = t->failed == ST_OK ? MORE : NO_MORE;
	status rc = send_word(c, word, 0, TAG_REQUEST, wait_s);
	*n = 0;
	if (rc != ST_OK || word == NO_MORE)
		return rc;
	rc = comm_recv(c, &w, sizeof w, 0, TAG_COUNT, &r);
	if (rc == ST_OK)
		rc = scatter_wait(c, &r, wait_s);
	if (rc == ST_OK)
		rc = comm_word_check(c, &w, 0, TAG_COUNT);
	if (rc == ST_OK)
		*n = w.value;
	if (rc == ST_OK && *n)
		rc = take_chunk(t, *n);
	if (rc == ST_OK && *n && t->failed == ST_OK)
		t->failed = sort_chunk(t, at);
	return rc;
}

static status take_all(scatter_worker *t)
{
	rank_env *env = t->env;
	double waited_s = 0;
	uint64_t n = 1;
	status rc = ST_OK;
	while (rc == ST_OK && n > 0)
		rc = one_chunk(t, &n, &waited_s);
	result_shift(env->stats, PH_EXCHANGE, waited_s);
	if (rc == ST_OK)
		rc = t->failed;
	return rc == ST_OK ? read_runs_sort(t->p, &env->m, t->d, &env->e) : rc;
}

/* ------------------------------------------------------------------------------------- together */

/* Rank 0 has no records, but an array of none. */
static status hand_out(rank_env *env, const scatter_job *k, read_runs *out)
{
	const read_runs_plan *p = &k->p->load;
	const size_t others = (size_t)env->c->size - 1;
	scatter_sender d = { .env = env,
			     .k = k,
			     .slots = SCATTER_SLOTS * (others < LANES ? others : LANES) };
	request *a = mem_array(&env->m, (size_t)env->c->size, sizeof *a, "requests", &env->e);
	status rc = a ? scatter_sender_open(&d) : ST_RESOURCE;
	if (rc == ST_OK)
		rc = read_runs_room(p, &env->m, 0, out, &env->e);
	rc = comm_agree(env->c, rc);
	if (rc == ST_OK)
		rc = answer_all(&d, a);
	if (rc == ST_OK)
		rc = scatter_sender_check(&d);
	if (rc == ST_OK)
		rc = read_runs_sort(p, &env->m, out, &env->e);
	out->sum = d.sum;
	scatter_sender_close(&d);
	mem_free(&env->m, a);
	return rc;
}

static status ask_for(rank_env *env, const read_runs_plan *p, read_runs *out)
{
	scatter_worker t = { .env = env, .d = out, .p = p };
	status rc = receiver_open(&t.in, env);
	if (rc == ST_OK)
		rc = read_runs_room(p, &env->m, p->n + p->n / 8 + t.in.block_recs, out, &env->e);
	rc = comm_agree(env->c, rc);
	if (rc == ST_OK)
		rc = take_all(&t);
	receiver_close(&t.in);
	return rc;
}

status scatter_on_request(rank_env *env, const scatter_job *k, read_runs *out)
{
	const status rc =
		env->c->rank == 0 ? hand_out(env, k, out) : ask_for(env, &k->p->load, out);
	return comm_agree(env->c, rc);
}
