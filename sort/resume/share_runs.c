/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rank 0 collects the states and runs that the ranks have found, in rounds of limited size. It
 * deals the runs (see states.h), and sends them to all ranks. Each rank keeps the runs of its
 * stretch. Memory: 80 bytes per state or run at rank 0; elsewhere 64 KiB, and 16 bytes per rank. */
#include "states.h"
#include "base/arith.h"
#include "base/clock.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* At rank 0, a round takes about ROUND_BYTES, or one item per rank if that is more. */
enum { ROUND_BYTES = 2 << 20, MOST_ITEMS = 64, HAND_OUT_RUNS = 512 };

/* Collective: collect the n items of each rank at rank 0, in any order. There *all, to be freed,
 * receives the items, and *count their number; on other ranks NULL and 0. */
static status share_runs_collect(rank_env *env, const void *mine, size_t n, size_t bytes,
				 void **all, size_t *count)
{
	comm *c = env->c;
	const size_t p = (size_t)c->size, root = c->rank == 0 ? p : 0;
	const size_t k = size_max(1, size_min(MOST_ITEMS, ROUND_BYTES / bytes / p));
	const uint64_t own = n;
	uint64_t most = 0, sum = 0;
	unsigned char *out = mem_array(&env->m, k, bytes, "runs", &env->e);
	unsigned char *round = mem_array(&env->m, root * k, bytes, "runs", &env->e);
	uint64_t *left = mem_array(&env->m, root, sizeof *left, "runs", &env->e);
	*all = NULL;
	*count = 0;
	status rc = comm_agree(c, out && round && left ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK)
		rc = comm_gather(c, &own, left, sizeof own, 0);
	for (size_t i = 0; rc == ST_OK && i < root; i++) {
		most = u64_max(most, left[i]);
		if (__builtin_add_overflow(sum, left[i], &sum) || sum > SIZE_MAX / 2)
			rc = err_set(&env->e, ST_PEER, "a rank sent an invalid number of runs");
	}
	if (rc == ST_OK && root && !(*all = mem_array(&env->m, sum, bytes, "runs", &env->e)))
		rc = ST_RESOURCE;
	rc = comm_agree(c, rc);
	if (rc == ST_OK)
		rc = comm_bcast(c, &most, sizeof most, 0);
	for (uint64_t done = 0; rc == ST_OK && done < most; done += k) {
		memset(out, 0, k * bytes);
		if (done < n)
			memcpy(out, (const unsigned char *)mine + done * bytes,
			       size_min(k, n - (size_t)done) * bytes);
		rc = comm_gather(c, out, round, k * bytes, 0);
		for (size_t i = 0; rc == ST_OK && i < root; i++) {
			const size_t some = (size_t)u64_min(left[i], k);
			memcpy((unsigned char *)*all + *count * bytes, round + i * k * bytes,
			       some * bytes);
			*count += some;
			left[i] -= some;
		}
	}
	mem_free(&env->m, out);
	mem_free(&env->m, round);
	mem_free(&env->m, left);
	return rc;
}

/* The part of an output that a state notes. */
typedef struct part {
	uint64_t job;
	output_checkpoint out;
	int32_t rank, ranks;
} part;

/* Order parts by the output that they belong to, then by rank. */
static int by_id(const void *a_, const void *b_)
{
	const part *a = a_, *b = b_;
	if (a->out.id != b->out.id)
		return a->out.id < b->out.id ? -1 : 1;
	return (a->rank > b->rank) - (a->rank < b->rank);
}

/* Return the parts of the first output whose ranks have all noted a part, and set *out to their
 * sum; or return NULL. A state that two groups have found counts once. */
static const part *find_whole(part *all, size_t count, saved_output *out)
{
	size_t n = 0;
	qsort(all, count, sizeof *all, by_id);
	for (size_t i = 0; i < count; i++)
		if (n == 0 || by_id(&all[n - 1], &all[i]) != 0)
			all[n++] = all[i];
	for (size_t i = 0, k; i < n; i = k) {
		output_checkpoint sum = { .id = all[i].out.id };
		bool whole = sum.id != 0;
		for (k = i; k < n && all[k].out.id == sum.id; k++) {
			const output_checkpoint *one = &all[k].out;
			whole = whole && all[k].rank == (int32_t)(k - i) &&
				all[k].ranks == all[i].ranks &&
				!__builtin_add_overflow(sum.records, one->records, &sum.records) &&
				!__builtin_add_overflow(sum.dropped, one->dropped, &sum.dropped);
			sum.sum = checksum_join(sum.sum, one->sum);
			sum.sum_dropped = checksum_join(sum.sum_dropped, one->sum_dropped);
		}
		if (whole && all[i].ranks == (int32_t)(k - i)) {
			out->all = sum;
			out->ranks = all[i].ranks;
			return all + i;
		}
	}
	return NULL;
}

/* Collect the parts at rank 0, and check that all states belong to one sort. */
static status collect_parts(rank_env *env, const states *s, part **all, size_t *count)
{
	void *all_ = NULL;
	part *mine = mem_array(&env->m, s->count, sizeof *mine, "states", &env->e);
	*count = 0;
	status rc = comm_agree(env->c, mine ? ST_OK : ST_RESOURCE);
	for (size_t i = 0; rc == ST_OK && i < s->count; i++)
		mine[i] = (part){ s->s[i].job, s->s[i].out, s->s[i].rank, s->s[i].ranks };
	if (rc == ST_OK)
		rc = share_runs_collect(env, mine, s->count, sizeof *mine, &all_, count);
	mem_free(&env->m, mine);
	const part *p = *all = all_;
	for (size_t i = 0; rc == ST_OK && i < *count; i++)
		if (p[i].rank < 0 || p[i].rank >= RESUME_MOST_RANKS)
			rc = err_set(&env->e, ST_PEER, "a rank sent an invalid state");
		else if (p[i].job != p[0].job)
			rc = err_set(&env->e, ST_REFUSED,
				     "the states of ranks %" PRId32 " and %" PRId32
				     " in workdir %s are of different sorts: use another workdir, "
				     "or remove them with --clean",
				     p[0].rank, p[i].rank, quoted(env->o->workdir));
	return comm_agree(env->c, rc);
}

status saved_output_find(rank_env *env, const states *s, saved_output *out)
{
	comm *c = env->c;
	part *all = NULL;
	const part *found = NULL;
	size_t count = 0;
	*out = (saved_output){ .ranks = 0 };
	status rc = collect_parts(env, s, &all, &count);
	if (rc == ST_OK && count) {
		out->states = count;
		out->job = all[0].job;
		found = find_whole(all, count, out);
	} else {
		out->job = unique_number();
	}
	if (rc == ST_OK)
		rc = comm_bcast(c, out, sizeof *out, 0);
	out->part = NULL; /* not the pointer of rank 0 */
	if (rc == ST_OK && out->all.id && out->ranks == c->size) {
		const size_t p = (size_t)c->size;
		out->part = mem_array(&env->m, p, sizeof *out->part, "states", &env->e);
		rc = comm_agree(c, out->part ? ST_OK : ST_RESOURCE);
		for (size_t i = 0; rc == ST_OK && found && i < p; i++)
			out->part[i] = found[i].out;
		if (rc == ST_OK)
			rc = comm_bcast(c, out->part, p * sizeof *out->part, 0);
	}
	mem_free(&env->m, all);
	return rc;
}

/* ------------------------------------------------------------------------------- dealing
 *
 * Consecutive runs of one group are a segment. The records between two segments are a gap. Each
 * segment gets at least one rank of its group; a group with more segments than ranks loses its
 * smallest segments. Ranks whose group has no runs get the largest gaps. This determines the order
 * of the ranks, and limits for the border between neighbours. Then bisection finds the least
 * possible largest load. For a given load, the ranks in their order take as many records as the
 * load allows. O((runs + ranks) log runs), at one rank. */

enum { READ_AGAIN = 3, BISECTIONS = 100 };

/* Runs [from, to) of a group. */
typedef struct segment {
	size_t from, to;
	uint64_t recs;
	int32_t group;
	int ranks;  /* number of ranks of the segment */
	int before; /* ranks without runs in the gap before it */
} segment;

/* Where the stretch of a rank may end. */
typedef struct limits {
	uint64_t lo, hi;
} limits;

/* A group of ranks that find the same runs. */
typedef struct rank_group {
	int ranks, segs;
	int left;      /* ranks to divide, after one for each segment */
	uint64_t recs; /* of the segments to divide them among */
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
	limits *at;        /* [ranks] where each stretch may end */
} dealing;

static uint64_t end_of(const run_note *n)
{
	return n->first + n->recs;
}

/* Order runs by their first record; if it is the same, the longest run first. */
static int deal_by_place(const void *a_, const void *b_)
{
	const run_note *a = a_, *b = b_;
	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	if (a->recs != b->recs)
		return a->recs > b->recs ? -1 : 1;
	return (a->group > b->group) - (a->group < b->group);
}

/* Choose runs without common records, in order. Of runs that begin with the same record, take one
 * of the group of the last chosen run, or else the longest. */
static void deal_choose(dealing *x)
{
	uint64_t at = 0;
	size_t n = 0;
	qsort(x->run, x->runs, sizeof *x->run, deal_by_place);
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
		/* n <= i, so this overwrites only runs that begin with `first` */
		x->run[n] = x->run[k];
		at = end_of(&x->run[n++]);
	}
	x->runs = n;
}

/* Find the segments: consecutive runs of one group. */
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

/* Drop the smallest segments of a group if it has fewer ranks. Their records are read again. */
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

/* Return the gap before segment i, or before the end of the input. */
static limits gap_before(const dealing *x, size_t i)
{
	return (limits){ i ? end_of(&x->run[x->seg[i - 1].to - 1]) : 0,
			 i < x->segs ? x->run[x->seg[i].from].first : x->q->records };
}

/* Divide the ranks of each group among its segments, in proportion to their records, but at least
 * one to each. Place each rank whose group has no runs into the gap with most records per rank. */
static void deal_share_ranks(dealing *x)
{
	for (int i = 0; i < x->q->ranks; i++)
		x->group[i].left = x->group[i].ranks - x->group[i].segs;
	for (size_t i = 0; i < x->segs; i++)
		x->group[x->seg[i].group].recs += x->seg[i].recs;
	for (size_t i = 0; i < x->segs; i++) {
		segment *s = &x->seg[i];
		rank_group *g = &x->group[s->group];
		/* divide what is left, so that the last segment gets all that is left */
		const int more = (int)((unsigned __int128)g->left * s->recs / g->recs);
		s->ranks = 1 + more;
		g->left -= more;
		g->recs -= s->recs;
	}
	for (int r = 0; r < x->q->ranks; r++) {
		size_t best = x->segs;
		double most = 0;
		if (x->group[x->q->group[r]].segs > 0)
			continue;
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
			if (k + 1 < s->ranks) /* all but the last may end before the runs */
				x->at[n].lo = gap.lo;
		}
	}
	if (n)
		x->at[n - 1] = (limits){ x->q->records, x->q->records };
}

/* Make stretches that cost at most `most` for each record of the rank's share. Return false if that
 * is impossible. */
static bool deal_fill(const dealing *x, double most, deal *d)
{
	const uint64_t end = x->q->records, all = READ_AGAIN * end;
	uint64_t before = 0; /* cost of the stretches so far */
	for (int i = 0; i < x->q->ranks; i++) {
		const double may = most * ((double)x->q->share[d->rank_at[i]] + 1);
		const uint64_t cost = before + (may < (double)all ? (uint64_t)may : all);
		/* find the last place where the stretch can end, first the last run that begins
		 * before it */
		lower_bound b = { .lo = 0, .hi = x->runs };
		while (lower_bound_open(&b))
			lower_bound_step(&b, x->cost[b.mid] <= cost);
		const run_note *n = b.lo ? &x->run[b.lo - 1] : NULL; /* that run */
		const uint64_t left = b.lo ? cost - x->cost[b.lo - 1] : cost;
		uint64_t to = b.lo && left < n->recs ? n->first
			      : b.lo                 ? end_of(n) + (left - n->recs) / READ_AGAIN
						     : left / READ_AGAIN;
		to = u64_min(to, end);
		if (to < x->at[i].lo)
			return false;
		d->end[i] = to = u64_min(to, x->at[i].hi);
		/* find the cost of all records before the end, which is inside no run */
		b = (lower_bound){ .lo = 0, .hi = x->runs };
		while (lower_bound_open(&b))
			lower_bound_step(&b, x->run[b.mid].first < to);
		n = b.lo ? &x->run[b.lo - 1] : NULL;
		before = b.lo ? x->cost[b.lo - 1] + n->recs + READ_AGAIN * (to - end_of(n))
			      : READ_AGAIN * to;
	}
	return true;
}

status deal_runs(const deal_query *q, mem *m, run_note *run, size_t *runs, deal *d, err *e)
{
	const size_t p = (size_t)q->ranks;
	if (q->records > UINT64_MAX / 4 / READ_AGAIN)
		return err_set(e, ST_REFUSED, "the input has too many records to resume a sort");
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
		deal_choose(&x);
		find_segments(&x);
		drop_segments(&x);
		deal_share_ranks(&x);
		line_up(&x, d);
		/* find the borders: bisect for the least cost per record of a share */
		double lo = 0, hi = (double)READ_AGAIN * (double)q->records + 1;
		uint64_t kept = 0;
		for (size_t i = 0; i < x.runs; i++) {
			x.cost[i] = READ_AGAIN * (run[i].first - kept) + kept;
			kept += run[i].recs;
		}
		for (int i = 0; i < BISECTIONS; i++) {
			const double mid = lo + (hi - lo) / 2;
			if (deal_fill(&x, mid, d))
				hi = mid;
			else
				lo = mid;
		}
		(void)deal_fill(&x, hi, d);
	}
	*runs = x.runs;
	mem_free(m, x.seg);
	mem_free(m, x.cost);
	mem_free(m, x.group);
	mem_free(m, x.at);
	return room ? ST_OK : ST_RESOURCE;
}

/* ------------------------------------------------------------------------------- sharing */

/* Return whether the run is possible. Another rank may have sent any numbers. */
static bool is_sound(const comm *c, const share_runs_query *q, const run_note *n)
{
	return n->recs > 0 && n->recs <= q->records && n->first <= q->records - n->recs &&
	       n->stride > 0 && n->stride <= RESUME_MOST_STRIDE && n->rank >= 0 &&
	       n->rank < RESUME_MOST_RANKS && n->group >= 0 && n->group < c->size &&
	       q->g->of[n->group] == n->group;
}

/* Take the stretch of this rank. Refuse stretches that are not the whole input, one per rank. */
static status take_stretches(rank_env *env, uint64_t all, const deal *d, uint64_t *share,
			     shared_runs *out)
{
	const int p = env->c->size;
	uint64_t before = 0;
	int i = 0;
	for (int r = 0; r < p; r++)
		share[r] = UINT64_MAX;
	for (; i < p; i++) {
		const int32_t rank = d->rank_at[i];
		if (rank < 0 || rank >= p || share[rank] != UINT64_MAX || d->end[i] < before)
			break;
		share[rank] = d->end[i] - before;
		if (rank == env->c->rank) {
			out->place = i;
			out->first = before;
		}
		before = d->end[i];
	}
	return i == p && before == all
		       ? ST_OK
		       : err_set(&env->e, ST_PEER,
				 "the shares that rank 0 has sent do not make up the input");
}

/* Send the runs from rank 0 to all ranks, in the order of the input. Each rank keeps the runs in
 * its stretch, which ends at `end`, and the runs of the states that it has loaded. A rank without
 * memory for a run still takes part in all rounds. */
static status share_runs_hand_out(rank_env *env, const share_runs_query *q, const run_note *all,
				  size_t count, uint64_t end, shared_runs *out)
{
	comm *c = env->c;
	uint64_t left = count, at = out->first;
	status kept = ST_OK;
	run_note *round = mem_array(&env->m, HAND_OUT_RUNS, sizeof *round, "runs", &env->e);
	status rc = comm_agree(c, round ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK)
		rc = comm_bcast(c, &left, sizeof left, 0);
	for (size_t done = 0, n; rc == ST_OK && left > 0; done += n, left -= n) {
		n = (size_t)u64_min(left, HAND_OUT_RUNS);
		if (all) /* rank 0 */
			memcpy(round, all + done, n * sizeof *round);
		rc = comm_bcast(c, round, n * sizeof *round, 0);
		for (const run_note *r = round; rc == ST_OK && kept == ST_OK && r < round + n;
		     r++) {
			if (!is_sound(c, q, r) || r->group != q->g->own)
				continue;
			if (states_of(q->found, r->rank))
				kept = run_list_add(&out->used, r, &env->e);
			if (kept == ST_OK && r->first >= at && r->first + r->recs <= end) {
				kept = run_list_add(&out->own, r, &env->e);
				at = r->first + r->recs;
			}
		}
	}
	mem_free(&env->m, round);
	return rc == ST_OK ? kept : rc;
}

status share_runs(rank_env *env, const share_runs_query *q, uint64_t *share, shared_runs *out)
{
	comm *c = env->c;
	mem *m = &env->m;
	const size_t p = (size_t)c->size;
	void *all = NULL;
	size_t count = 0;
	run_list mine = { .run = NULL };
	*out = (shared_runs){ .first = 0 };
	deal d = { .rank_at = mem_array(m, p, sizeof *d.rank_at, "ranks", &env->e),
		   .end = mem_array(m, p, sizeof *d.end, "ranks", &env->e) };
	status rc = d.rank_at && d.end ? ST_OK : ST_RESOURCE;
	for (size_t i = 0; i < q->found->count; i++) {
		const run_list *made = &q->found->s[i].made;
		for (size_t k = 0; rc == ST_OK && k < made->runs; k++)
			rc = run_list_add(&mine, &made->run[k], &env->e);
	}
	rc = comm_agree(c, rc);
	if (rc == ST_OK)
		rc = share_runs_collect(env, mine.run, mine.runs, sizeof *mine.run, &all, &count);
	if (rc == ST_OK && all) { /* rank 0 */
		const deal_query dq = { .records = q->records,
					.ranks = c->size,
					.group = q->g->of,
					.share = q->planned };
		run_note *run = all;
		size_t sound = 0;
		for (size_t i = 0; i < count; i++)
			if (is_sound(c, q, &run[i]))
				run[sound++] = run[i];
		count = sound;
		rc = comm_agree(c, deal_runs(&dq, m, run, &count, &d, &env->e));
	} else if (rc == ST_OK) {
		rc = comm_agree(c, ST_OK);
	}
	if (rc == ST_OK)
		rc = comm_bcast(c, d.rank_at, p * sizeof *d.rank_at, 0);
	if (rc == ST_OK)
		rc = comm_bcast(c, d.end, p * sizeof *d.end, 0);
	if (rc == ST_OK)
		rc = comm_agree(c, take_stretches(env, q->records, &d, share, out));
	if (rc == ST_OK)
		rc = comm_agree(c, share_runs_hand_out(env, q, all, count,
						       out->first + share[c->rank], out));
	out->rank_at = d.rank_at;
	mem_free(m, d.end);
	mem_free(m, all);
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
