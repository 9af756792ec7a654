/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs of one group that follow each other are a segment. Each segment gets ranks of its group, one
 * at least; where a group has more segments than ranks, it loses the smallest. Ranks that find no
 * runs go where most is missing. That settles in which order ranks follow each other, and between
 * which records each border between two of them lies. Then the borders are moved: for a load that
 * no rank is to exceed, each takes from left to right as much as it may, and the least load that is
 * enough is found by bisection. O((runs + ranks) log runs), at one rank. */
#include "deal.h"
#include "base/lower_bound.h"
#include "base/minmax.h"

#include <stdlib.h>
#include <string.h>

enum { READ_AGAIN = 3, BISECTIONS = 100 };

/* Runs [from, to) of a group. */
typedef struct segment {
	size_t from, to;
	uint64_t recs;
	int32_t group;
	int ranks;  /* that it gets */
	int before; /* ranks without runs that come before it */
} segment;

/* Where the stretch of a rank may end. */
typedef struct limits {
	uint64_t lo, hi;
} limits;

typedef struct dealing {
	const deal_query *q;
	run_note *run;
	size_t runs;
	segment *seg; /* [segs + 1]: the last one is the end of the input */
	size_t segs;
	int *ranks_of, *segs_of; /* [ranks] of groups */
	uint64_t *cost;          /* [runs] of all before a run */
	limits *at;              /* [ranks] */
} dealing;

static uint64_t end_of(const run_note *n)
{
	return n->first + n->recs;
}

static int by_place(const void *a_, const void *b_)
{
	const run_note *a = a_, *b = b_;
	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	if (a->recs != b->recs)
		return a->recs > b->recs ? -1 : 1;
	return (a->group > b->group) - (a->group < b->group);
}

/* Of those that begin with the same record, from i on: one of the group before it, or the longest.
 */
static size_t best_of(const dealing *x, size_t i, int32_t group)
{
	for (size_t k = i; k < x->runs && x->run[k].first == x->run[i].first; k++)
		if (x->run[k].group == group)
			return k;
	return i;
}

/* Only runs that have no records in common, in order. */
static void choose(dealing *x)
{
	uint64_t at = 0;
	size_t n = 0;
	qsort(x->run, x->runs, sizeof *x->run, by_place);
	for (size_t i = 0; i < x->runs; i++) {
		const uint64_t first = x->run[i].first;
		if (first < at)
			continue;
		const size_t k = best_of(x, i, n ? x->run[n - 1].group : -1);
		x->run[n] = x->run[k]; /* n <= i: none that is still to be seen but equal ones */
		at = end_of(&x->run[n++]);
	}
	x->runs = n;
}

static void find_segments(dealing *x)
{
	x->segs = 0;
	for (size_t i = 0; i < x->runs; i++) {
		if (i == 0 || x->run[i].group != x->run[i - 1].group)
			x->seg[x->segs++] = (segment){ .from = i, .group = x->run[i].group };
		segment *s = &x->seg[x->segs - 1];
		s->to = i + 1;
		s->recs += x->run[i].recs;
	}
	x->seg[x->segs] = (segment){ .from = x->runs, .to = x->runs };
}

static void count_groups(const dealing *x)
{
	for (int i = 0; i < x->q->ranks; i++)
		x->ranks_of[i] = x->segs_of[i] = 0;
	for (int i = 0; i < x->q->ranks; i++)
		x->ranks_of[x->q->group[i]]++;
	for (size_t i = 0; i < x->segs; i++)
		x->segs_of[x->seg[i].group]++;
}

static int by_recs(const void *a_, const void *b_)
{
	const segment *const *a = a_, *const *b = b_;
	return ((*a)->recs > (*b)->recs) - ((*a)->recs < (*b)->recs);
}

/* What no rank can take is read again. */
static status drop_segments(dealing *x, mem *m, err *e)
{
	size_t n = 0;
	segment **s = mem_array(m, x->segs, sizeof *s, "segments", e);
	if (!s)
		return ST_RESOURCE;
	for (size_t i = 0; i < x->segs; i++)
		s[i] = &x->seg[i];
	qsort(s, x->segs, sizeof *s, by_recs);
	for (size_t i = 0; i < x->segs; i++) {
		int *had = &x->segs_of[s[i]->group];
		if (*had > x->ranks_of[s[i]->group]) {
			--*had;
			for (size_t k = s[i]->from; k < s[i]->to; k++)
				x->run[k].recs = 0;
		}
	}
	mem_free(m, s);
	for (size_t i = 0; i < x->runs; i++)
		if (x->run[i].recs)
			x->run[n++] = x->run[i];
	x->runs = n;
	find_segments(x);
	count_groups(x);
	return ST_OK;
}

/* The ranks of each group by the records of its segments; one at least for each. */
static void share_out(dealing *x, uint64_t *recs)
{
	const int p = x->q->ranks;
	memset(recs, 0, (size_t)p * sizeof *recs);
	for (size_t i = 0; i < x->segs; i++)
		recs[x->seg[i].group] += x->seg[i].recs;
	int *left = x->segs_of; /* of the ranks that a group has beyond one for each segment */
	for (int g = 0; g < p; g++)
		left[g] = x->segs_of[g] ? x->ranks_of[g] - x->segs_of[g] : 0;
	for (size_t i = 0; i < x->segs; i++) {
		segment *s = &x->seg[i];
		const int g = s->group;
		/* of what is left, by what is left, so that nothing is left at the end */
		const int more = (int)((unsigned __int128)left[g] * s->recs / recs[g]);
		s->ranks = 1 + more;
		left[g] -= more;
		recs[g] -= s->recs;
	}
}

static uint64_t segment_begin(const dealing *x, size_t i)
{
	return i < x->segs ? x->run[x->seg[i].from].first : x->q->records;
}

static uint64_t segment_end(const dealing *x, size_t i)
{
	return end_of(&x->run[x->seg[i].to - 1]);
}

/* What is missing before a segment, or before the end. */
static limits gap_before(const dealing *x, size_t i)
{
	return (limits){ i ? segment_end(x, i - 1) : 0, segment_begin(x, i) };
}

/* A rank that finds no runs, where most is missing for each that goes there. */
static void place_free_rank(dealing *x)
{
	size_t best = x->segs;
	double most = 0;
	for (size_t i = 0; i <= x->segs; i++) {
		const limits g = gap_before(x, i);
		const double each = (double)(g.hi - g.lo) / (x->seg[i].before + 1);
		if (each > most) {
			most = each;
			best = i;
		}
	}
	x->seg[best].before++;
}

/* The next rank of this group, or, -1, of those without runs. */
static int32_t take_rank(const dealing *x, const bool *has_runs, int32_t group, bool *taken,
			 int32_t *from)
{
	for (int32_t i = *from; i < x->q->ranks; i++) {
		const int32_t g = x->q->group[i];
		if (taken[i] || (group < 0 ? has_runs[g] : g != group))
			continue;
		taken[i] = true;
		*from = i + 1;
		return i;
	}
	return -1;
}

/* Who follows whom, and where the borders may lie. */
static void line_up(dealing *x, const bool *has_runs, bool *taken, int32_t *next, deal *d)
{
	int n = 0;
	int32_t next_free = 0;
	for (size_t i = 0; i <= x->segs; i++) {
		const segment *s = &x->seg[i];
		const limits gap = gap_before(x, i);
		for (int k = 0; k < s->before; k++, n++) {
			d->rank_at[n] = take_rank(x, has_runs, -1, taken, &next_free);
			x->at[n] = gap;
		}
		for (int k = 0; i < x->segs && k < s->ranks; k++, n++) {
			d->rank_at[n] = take_rank(x, has_runs, s->group, taken, &next[s->group]);
			x->at[n] = gap_before(x, i + 1);
			if (k + 1 < s->ranks) /* one of them may have gaps alone */
				x->at[n].lo = gap.lo;
		}
	}
	if (n)
		x->at[n - 1] = (limits){ x->q->records, x->q->records };
}

/* ------------------------------------------------------------------------------------- borders */

static void sum_costs(const dealing *x)
{
	uint64_t kept = 0;
	for (size_t i = 0; i < x->runs; i++) {
		x->cost[i] = READ_AGAIN * (x->run[i].first - kept) + kept;
		kept += x->run[i].recs;
	}
}

/* The last record, at most, that ends a stretch which costs no more from the beginning on. */
static uint64_t reach(const dealing *x, uint64_t cost)
{
	lower_bound b = { .lo = 0, .hi = x->runs };
	while (lower_bound_open(&b))
		lower_bound_step(&b, x->cost[b.mid] <= cost);
	if (b.lo == 0)
		return u64_min(cost / READ_AGAIN, x->q->records);
	const run_note *n = &x->run[b.lo - 1];
	const uint64_t there = x->cost[b.lo - 1];
	if (cost - there < n->recs)
		return n->first;
	return u64_min(end_of(n) + (cost - there - n->recs) / READ_AGAIN, x->q->records);
}

/* Of all before a border, which lies in no run. */
static uint64_t cost_before(const dealing *x, uint64_t at)
{
	lower_bound b = { .lo = 0, .hi = x->runs };
	while (lower_bound_open(&b))
		lower_bound_step(&b, x->run[b.mid].first < at);
	if (b.lo == 0)
		return READ_AGAIN * at;
	const run_note *n = &x->run[b.lo - 1];
	return x->cost[b.lo - 1] + n->recs + READ_AGAIN * (at - end_of(n));
}

/* Stretches of which none costs more than `most` for a record of its rank's share. */
static bool fill(const dealing *x, double most, deal *d)
{
	const uint64_t all = READ_AGAIN * x->q->records;
	uint64_t before = 0;
	for (int i = 0; i < x->q->ranks; i++) {
		const double may = most * ((double)x->q->share[d->rank_at[i]] + 1);
		const uint64_t to = reach(x, before + (may < (double)all ? (uint64_t)may : all));
		if (to < x->at[i].lo)
			return false;
		d->end[i] = u64_min(to, x->at[i].hi);
		before = cost_before(x, d->end[i]);
	}
	return true;
}

static void find_borders(const dealing *x, deal *d)
{
	double lo = 0, hi = (double)READ_AGAIN * (double)x->q->records + 1;
	sum_costs(x);
	for (int i = 0; i < BISECTIONS; i++) {
		const double mid = lo + (hi - lo) / 2;
		if (fill(x, mid, d))
			hi = mid;
		else
			lo = mid;
	}
	(void)fill(x, hi, d);
}

static status alloc(dealing *x, mem *m, err *e)
{
	const size_t p = (size_t)x->q->ranks;
	x->seg = mem_array(m, x->runs + 1, sizeof *x->seg, "segments", e);
	x->cost = mem_array(m, x->runs, sizeof *x->cost, "runs", e);
	x->ranks_of = mem_array(m, p, sizeof *x->ranks_of, "groups", e);
	x->segs_of = mem_array(m, p, sizeof *x->segs_of, "groups", e);
	x->at = mem_array(m, p, sizeof *x->at, "borders", e);
	return x->seg && x->cost && x->ranks_of && x->segs_of && x->at ? ST_OK : ST_RESOURCE;
}

/* Orders the ranks. */
static status arrange(dealing *x, mem *m, deal *d, err *e)
{
	const size_t p = (size_t)x->q->ranks;
	uint64_t *recs = mem_array(m, p, sizeof *recs, "groups", e);
	bool *has_runs = mem_array(m, p, sizeof *has_runs, "groups", e);
	bool *taken = mem_array(m, p, sizeof *taken, "ranks", e);
	int32_t *next = mem_array(m, p, sizeof *next, "groups", e);
	const bool room = recs && has_runs && taken && next;
	if (room) {
		for (size_t i = 0; i < x->segs; i++)
			has_runs[x->seg[i].group] = true;
		share_out(x, recs);
		for (size_t i = 0; i < p; i++)
			if (!has_runs[x->q->group[i]])
				place_free_rank(x);
		line_up(x, has_runs, taken, next, d);
	}
	mem_free(m, recs);
	mem_free(m, has_runs);
	mem_free(m, taken);
	mem_free(m, next);
	return room ? ST_OK : ST_RESOURCE;
}

status deal_runs(const deal_query *q, mem *m, run_note *run, size_t *runs, deal *d, err *e)
{
	dealing x = { .q = q, .run = run, .runs = *runs };
	if (q->records > UINT64_MAX / 4 / READ_AGAIN)
		return err_set(e, ST_REFUSED, "too many records to deal out");
	status rc = alloc(&x, m, e);
	if (rc == ST_OK) {
		choose(&x);
		find_segments(&x);
		count_groups(&x);
		rc = drop_segments(&x, m, e);
	}
	if (rc == ST_OK)
		rc = arrange(&x, m, d, e);
	if (rc == ST_OK)
		find_borders(&x, d);
	*runs = x.runs;
	mem_free(m, x.seg);
	mem_free(m, x.cost);
	mem_free(m, x.ranks_of);
	mem_free(m, x.segs_of);
	mem_free(m, x.at);
	return rc;
}
