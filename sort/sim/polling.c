/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Omitted tests of messages, see sim.h. The blocks between this rank and another one in one
 * direction are a stream. A stream must be tested after one of its blocks has been started or has
 * arrived, and after its reader has released a block. In each round over all ranks, the exchange
 * asks shared_window_news() for the ranks to test; the function below returns only ranks whose
 * stream is due. Memory: a quarter of a byte for each pair of ranks. */
#include "sim.h"
#include "base/arith.h"
#include "comm/shared_window.h"
#include "engine.h"
#include "exchange/exchange.h"

#include <stdlib.h>

/* The streams of a rank in one direction. */
typedef struct side {
	uint64_t *due;      /* set of ranks whose streams must be tested */
	uint64_t under_way; /* number of blocks */
	bool asked;         /* false: the first round of the exchange, which tests all */
} side;

typedef struct poller {
	bool all; /* its exchange is between all ranks of the job */
	side side[NEWS_KINDS];
	int awaited; /* the rank whose next block its reader waits for, or -1 */
} poller;

static struct {
	poller *of; /* [ranks], then their sets; NULL: every message is tested */
	size_t words;
	double test_s;
} poll;

status polling_open(int ranks, double test_s, err *e)
{
	const size_t n = (size_t)ranks;
	poll.words = rank_set_words(ranks);
	poll.test_s = test_s;
	poll.of = calloc(n, sizeof *poll.of + NEWS_KINDS * poll.words * sizeof(uint64_t));
	if (!poll.of)
		return err_set(e, ST_RESOURCE, "no memory for the messages of %d ranks", ranks);
	uint64_t *sets = (void *)(poll.of + n);
	for (size_t i = 0; i < n; i++) {
		poll.of[i].awaited = -1;
		for (size_t k = 0; k < NEWS_KINDS; k++)
			poll.of[i].side[k].due = sets + (i * NEWS_KINDS + k) * poll.words;
	}
	return ST_OK;
}

void polling_close(void)
{
	free(poll.of);
	poll.of = NULL;
}

static poller *polling_own(void)
{
	poller *p = poll.of && actor_self() ? &poll.of[engine_here()->rank] : NULL;
	return p && p->all ? p : NULL;
}

void polling_note(int rank, const comm_req *r, int peer, int change)
{
	if (!poll.of)
		return;
	side *s = &poll.of[rank].side[r->sending ? NEWS_FREED : NEWS_SENT];
	rank_set_add(s->due, peer);
	s->under_way += (uint64_t)change;
}

/* Omit tests only if the exchange is between all ranks, not between few peers. */
WRAPPED(status, exchange_open, exchange **out, const exchange_plan *p, err *e)
{
	if (poll.of && actor_self())
		poll.of[engine_here()->rank].all = p->peers.count == p->c->size;
	return __real_exchange_open(out, p, e);
}

/* Let the first round of the exchange test all streams. */
WRAPPED(status, exchange_start, exchange *x)
{
	poller *p = polling_own();
	for (size_t k = 0; p && k < NEWS_KINDS; k++)
		p->side[k].asked = false;
	return __real_exchange_start(x);
}

/* Keep only the streams that are due, and charge one test for each stream. The number of streams is
 * the number of blocks under way divided by the blocks of a window. */
WRAPPED(void, shared_window_news, shared_window *w, shared_news kind, uint64_t *who)
{
	poller *p = polling_own();
	__real_shared_window_news(w, kind, who);
	if (!p)
		return;
	side *s = &p->side[kind];
	for (size_t i = 0; i < poll.words; i++) {
		if (s->asked)
			who[i] = s->due[i];
		s->due[i] = 0;
	}
	s->asked = true;
	const uint64_t streams = s->under_way / u64_max(scale_last_windows()->blocks, 1);
	actor_owe(poll.test_s * (double)streams);
}

/* Mark as due the stream that the reader waits for, because the reader has released its previous
 * block. */
static void polling_release(poller *p)
{
	if (p && p->awaited >= 0)
		rank_set_add(p->side[NEWS_SENT].due, p->awaited);
}

WRAPPED(status, exchange_next, exchange *x, int src, const unsigned char **recs, size_t *n)
{
	poller *p = polling_own();
	if (p)
		p->awaited = src;
	polling_release(p);
	const status rc = __real_exchange_next(x, src, recs, n);
	if (p)
		p->awaited = -1;
	return rc;
}

/* Repeat this when the reader waits, because only then it has certainly released the block. */
void polling_waits(void)
{
	polling_release(polling_own());
}
