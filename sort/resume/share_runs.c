/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rank 0 collects the runs, deals them out, and tells all ranks of all runs, of which each keeps
 * its own. Memory: 72 bytes for each run at rank 0; elsewhere 64 KiB, and 16 bytes for each rank.
 */
#include "share_runs.h"
#include "collect.h"
#include "deal.h"

#include <string.h>

/* What a rank has to say. */
static status own_runs(const states *s, run_list *l, err *e)
{
	status rc = ST_OK;
	for (size_t i = 0; i < s->count; i++)
		for (size_t k = 0; rc == ST_OK && k < s->s[i].made.runs; k++)
			rc = run_list_add(l, &s->s[i].made.run[k], e);
	return rc;
}

/* Could there be such a run? Not every number that comes has to be one that was sent. */
static bool is_sound(const share_runs_query *q, const run_note *n)
{
	return n->recs > 0 && n->recs <= q->records && n->first <= q->records - n->recs &&
	       n->stride > 0 && n->stride <= RESUME_MOST_STRIDE && n->rank >= 0 &&
	       n->rank < RESUME_MOST_RANKS && n->group >= 0 && n->group < q->c->size &&
	       q->g->of[n->group] == n->group;
}

static size_t drop_unsound(const share_runs_query *q, run_note *run, size_t n)
{
	size_t k = 0;
	for (size_t i = 0; i < n; i++)
		if (is_sound(q, &run[i]))
			run[k++] = run[i];
	return k;
}

/* Rank 0: runs become those that are used. */
static status deal_out(const share_runs_query *q, run_note *run, size_t *n, const deal *d, err *e)
{
	deal dealt = *d;
	const deal_query dq = {
		.records = q->records, .ranks = q->c->size, .group = q->g->of, .share = q->planned
	};
	*n = drop_unsound(q, run, *n);
	return deal_runs(&dq, q->m, run, n, &dealt, e);
}

/* Do these stretches make up the input, one for each rank? */
static status take_stretches(const share_runs_query *q, const deal *d, uint64_t *share,
			     shared_runs *out, err *e)
{
	const int p = q->c->size;
	uint64_t before = 0;
	bool ok = true;
	for (int i = 0; i < p; i++)
		share[i] = UINT64_MAX;
	for (int i = 0; ok && i < p; i++) {
		const int32_t rank = d->rank_at[i];
		ok = rank >= 0 && rank < p && share[rank] == UINT64_MAX && d->end[i] >= before;
		if (!ok)
			break;
		share[rank] = d->end[i] - before;
		if (rank == q->c->rank) {
			out->place = i;
			out->first = before;
		}
		before = d->end[i];
	}
	return ok && before == q->records
		       ? ST_OK
		       : err_set(e, ST_PEER,
				 "the shares that rank 0 has dealt out are not those "
				 "of this input");
}

typedef struct taking {
	const share_runs_query *q;
	shared_runs *out;
	uint64_t end; /* of this rank's stretch */
} taking;

/* Runs come in the order of the input. */
static status take(void *taking_, const void *one, err *e)
{
	taking *x = taking_;
	shared_runs *out = x->out;
	run_note n;
	status rc = ST_OK;
	memcpy(&n, one, sizeof n);
	if (!is_sound(x->q, &n) || n.group != x->q->g->own)
		return ST_OK;
	if (states_of(x->q->found, n.rank))
		rc = run_list_add(&out->used, &n, e);
	const run_note *last = out->own.runs ? &out->own.run[out->own.runs - 1] : NULL;
	const uint64_t from = last ? last->first + last->recs : out->first;
	if (rc == ST_OK && n.first >= from && n.first + n.recs <= x->end)
		rc = run_list_add(&out->own, &n, e);
	return rc;
}

status share_runs(const share_runs_query *q, uint64_t *share, shared_runs *out, err *e)
{
	comm *c = q->c;
	const size_t p = (size_t)c->size;
	void *all = NULL;
	size_t count = 0;
	run_list mine = { .run = NULL };
	*out = (shared_runs){ .first = 0 };
	deal d = { .rank_at = mem_array(q->m, p, sizeof *d.rank_at, "ranks", e),
		   .end = mem_array(q->m, p, sizeof *d.end, "ranks", e) };
	status rc = d.rank_at && d.end ? own_runs(q->found, &mine, e) : ST_RESOURCE;
	rc = comm_agree(c, rc);
	if (rc == ST_OK)
		rc = collect_items(c, q->m, mine.run, mine.runs, sizeof *mine.run, &all, &count, e);
	if (rc == ST_OK)
		rc = comm_agree(c, c->rank == 0 ? deal_out(q, all, &count, &d, e) : ST_OK);
	if (rc == ST_OK)
		rc = comm_bcast(c, d.rank_at, p * sizeof *d.rank_at, 0);
	if (rc == ST_OK)
		rc = comm_bcast(c, d.end, p * sizeof *d.end, 0);
	if (rc == ST_OK)
		rc = comm_agree(c, take_stretches(q, &d, share, out, e));
	if (rc == ST_OK) {
		taking x = { q, out, out->first + share[c->rank] };
		rc = comm_agree(c,
				hand_out_items(c, q->m, all, count, sizeof *mine.run, take, &x, e));
	}
	out->rank_at = d.rank_at;
	mem_free(q->m, d.end);
	mem_free(q->m, all);
	run_list_free(&mine);
	return rc;
}

void shared_runs_free(mem *m, shared_runs *s)
{
	mem_free(m, s->rank_at);
	run_list_free(&s->own);
	run_list_free(&s->used);
	*s = (shared_runs){ .first = 0 };
}
