/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Consecutive runs of one group are a segment. Each segment gets at least one rank of its group; a
 * group with more segments than ranks loses its smallest ones. Ranks that find no runs go to the
 * largest gaps. That determines the order of the ranks, and the records between which each border
 * must lie. Then the borders move: for a given largest load, each rank takes from left to right as
 * much as it may, and bisection finds the least such load. O((runs + ranks) log runs), at one
 * rank. */
#include "deal.h"
#include "base/lower_bound.h"
#include "base/minmax.h"

#include <stdlib.h>

enum { READ_AGAIN = 3, BISECTIONS = 100 };

/* Runs [from, to) of a group. */
typedef struct segment {
	size_t from, to;
	uint64_t recs;
	int32_t group;
	int ranks;  /* number of ranks of the segment */
	int before; /* ranks without runs before it */
} segment;

/* Where the stretch of a rank may end. */
typedef struct limits {
	uint64_t lo, hi;
} limits;

/* A group of ranks that find the same runs. */
typedef struct rank_group {
	int ranks, segs;
	int left;      /* ranks beyond one for each segment */
	uint64_t recs; /* of the segments without ranks */
	int32_t next;  /* where to look for the next rank without a stretch */
} rank_group;

typedef struct dealing {
	const deal_query *q;
	run_note *run;
	size_t runs;
	segment *seg; /* [segs + 1]: the last one is the end of the input */
	size_t segs;
	uint64_t *cost;    /* [runs] cost of all records before a run */
	rank_group *group; /* [ranks] */
	limits *at;        /* [ranks] */
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

/* Choose runs without common records, in order. Of runs that begin with the same record, take one
 * of the group of the run before it, or else the longest. */
static void choose(dealing *x)
{
	uint64_t at = 0;
	size_t n = 0;
	qsort(x->run, x->runs, sizeof *x->run, by_place);
	for (size_t i = 0; i < x->runs; i++) {
		const uint64_t first = x->run[i].first;
		if (first < at)
			continue;
		size_t k = i;
		while (n && k < x->runs && x->run[k].first == first &&
		       x->run[k].group != x->run[n - 1].group)
			k++;
		if (n == 0 || k == x->runs || x->run[k].first != first)
			k = i;
		x->run[n] = x->run[k]; /* n <= i: only runs that begin with `first` are lost */
		at = end_of(&x->run[n++]);
	}
	x->runs = n;
}
static void find_segments(dealing *x)
{
	x->segs = 0;
	for (int g = 0; g < x->q->ranks; g++)
		x->group[g].segs = 0;
	for (size_t i = 0; i < x->runs; i++) {
		const run_note *n = &x->run[i];
		if (i == 0 || n->group != n[-1].group) {
			x->seg[x->segs++] = (segment){ .from = i, .group = n->group };
			x->group[n->group].segs++;
		}
		segment *s = &x->seg[x->segs - 1];
		s->to = i + 1;
		s->recs += n->recs;
	}
	x->seg[x->segs] = (segment){ .from = x->runs, .to = x->runs };
}

static int by_recs(const void *a_, const void *b_)
{
	const segment *a = a_, *b = b_;
	return (a->recs > b->recs) - (a->recs < b->recs);
}

/* Drop the smallest segments of a group that has fewer ranks. Their records are read again. */
static void drop_segments(dealing *x)
{
	size_t n = 0;
	qsort(x->seg, x->segs, sizeof *x->seg, by_recs);
	for (size_t i = 0; i < x->segs; i++) {
		rank_group *g = &x->group[x->seg[i].group];
		if (g->segs <= g->ranks)
			continue;
		g->segs--;
		for (size_t k = x->seg[i].from; k < x->seg[i].to; k++)
			x->run[k].recs = 0;
	}
	for (size_t i = 0; i < x->runs; i++)
		if (x->run[i].recs)
			x->run[n++] = x->run[i];
	x->runs = n;
	find_segments(x);
}

/* Give the ranks of each group to its segments, in proportion to their records, at least one to
 * each. */
static void share_out(dealing *x)
{
	for (int i = 0; i < x->q->ranks; i++)
		x->group[i].left = x->group[i].ranks - x->group[i].segs;
	for (size_t i = 0; i < x->segs; i++)
		x->group[x->seg[i].group].recs += x->seg[i].recs;
	for (size_t i = 0; i < x->segs; i++) {
		segment *s = &x->seg[i];
		rank_group *g = &x->group[s->group];
		/* of the rest and by the rest, so that nothing is left at the end */
		const int more = (int)((unsigned __int128)g->left * s->recs / g->recs);
		s->ranks = 1 + more;
		g->left -= more;
		g->recs -= s->recs;
	}
}

/* Return the records without a run before a segment, or before the end. */
static limits gap_before(const dealing *x, size_t i)
{
	return (limits){ i ? end_of(&x->run[x->seg[i - 1].to - 1]) : 0,
			 i < x->segs ? x->run[x->seg[i].from].first : x->q->records };
}

/* Place a rank that finds no runs into the gap with most records per rank. */
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

/* Return the next rank of this group, or, for -1, of the ranks without runs. */
static int32_t take_rank(const dealing *x, int32_t group, int32_t *from)
{
	int32_t i = *from;
	while (i < x->q->ranks &&
	       (group < 0 ? x->group[x->q->group[i]].segs > 0 : x->q->group[i] != group))
		i++;
	*from = i + 1;
	return i;
}

/* Find the order of the ranks, and where the borders may lie. */
static void line_up(dealing *x, deal *d)
{
	int n = 0;
	int32_t next_free = 0;
	for (size_t i = 0; i <= x->segs; i++) {
		const segment *s = &x->seg[i];
		const limits gap = gap_before(x, i);
		for (int k = 0; k < s->before; k++, n++) {
			d->rank_at[n] = take_rank(x, -1, &next_free);
			x->at[n] = gap;
		}
		for (int k = 0; i < x->segs && k < s->ranks; k++, n++) {
			d->rank_at[n] = take_rank(x, s->group, &x->group[s->group].next);
			x->at[n] = gap_before(x, i + 1);
			if (k + 1 < s->ranks) /* one of them may have only gaps */
				x->at[n].lo = gap.lo;
		}
	}
	if (n)
		x->at[n - 1] = (limits){ x->q->records, x->q->records };
}

/* Return the last record that a stretch from the beginning with this cost can end at. */
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

/* Return the cost of all records before a border, which lies in no run. */
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

/* Make stretches that cost at most `most` for each record of the rank's share. Return false if that
 * is impossible. */
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
	uint64_t kept = 0;
	for (size_t i = 0; i < x->runs; i++) {
		x->cost[i] = READ_AGAIN * (x->run[i].first - kept) + kept;
		kept += x->run[i].recs;
	}
	for (int i = 0; i < BISECTIONS; i++) {
		const double mid = lo + (hi - lo) / 2;
		if (fill(x, mid, d))
			hi = mid;
		else
			lo = mid;
	}
	(void)fill(x, hi, d);
}

status deal_runs(const deal_query *q, mem *m, run_note *run, size_t *runs, deal *d, err *e)
{
	const size_t p = (size_t)q->ranks;
	if (q->records > UINT64_MAX / 4 / READ_AGAIN)
		return err_set(e, ST_REFUSED, "too many records to deal out");
	dealing x = { .q = q,
		      .run = run,
		      .runs = *runs,
		      .seg = mem_array(m, *runs + 1, sizeof *x.seg, "segments", e),
		      .cost = mem_array(m, *runs, sizeof *x.cost, "runs", e),
		      .group = mem_array(m, p, sizeof *x.group, "groups", e),
		      .at = mem_array(m, p, sizeof *x.at, "borders", e) };
	const bool room = x.seg && x.cost && x.group && x.at;
	if (room) {
		for (size_t i = 0; i < p; i++)
			x.group[q->group[i]].ranks++;
		choose(&x);
		find_segments(&x);
		drop_segments(&x);
		share_out(&x);
		for (size_t i = 0; i < p; i++)
			if (x.group[q->group[i]].segs == 0)
				place_free_rank(&x);
		line_up(&x, d);
		find_borders(&x, d);
	}
	*runs = x.runs;
	mem_free(m, x.seg);
	mem_free(m, x.cost);
	mem_free(m, x.group);
	mem_free(m, x.at);
	return room ? ST_OK : ST_RESOURCE;
}
