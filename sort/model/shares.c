/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Three ways to find shares: by speed, by costs, and by the times of processors, links and disks.
 */
#include "shares.h"
#include "base/arith.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --------------------------------------------------------------------------- speeds and costs */

status shares_status(hetpart_status st, const hetpart_err *he, err *e)
{
	if (st == HETPART_OK)
		return ST_OK;
	const status mine = st == HETPART_ENOMEM      ? ST_RESOURCE
			    : st == HETPART_EINTERNAL ? ST_INTERNAL
						      : ST_REFUSED;
	return err_set(e, mine, "cannot plan the shares: %s", he->text);
}

status shares_by_speed(plan_kind kind, uint64_t n, const double *speed, size_t p, uint64_t *share,
		       err *e)
{
	const bool nlogn = kind != PLAN_LINEAR;
	hetpart_opts opts = HETPART_OPTS_INIT;
	hetpart_cost *cost = NULL;
	hetpart_plan *plan = NULL;
	hetpart_err he = { HETPART_OK, "" };
	if (kind == PLAN_EQUAL || p == 1) {
		for (size_t i = 0; i < p; i++)
			share[i] = n / p + (i < n % p);
		return ST_OK;
	}
	opts.method = kind == PLAN_TAYLOR       ? HETPART_METHOD_TAYLOR
		      : kind == PLAN_ASYMPTOTIC ? HETPART_METHOD_ASYMPTOTIC
						: HETPART_METHOD_EXACT;
	hetpart_status st =
		nlogn ? hetpart_cost_nlogn(&cost, 1, &he) : hetpart_cost_linear(&cost, 1, &he);
	if (st == HETPART_OK)
		st = hetpart_share_create(&plan, n, speed, p, cost, &opts, &he);
	if (st == HETPART_ENOSOL) {
		opts.method = HETPART_METHOD_EXACT;
		st = hetpart_share_create(&plan, n, speed, p, cost, &opts, &he);
	}
	for (size_t i = 0; st == HETPART_OK && i < p; i++)
		share[i] = hetpart_plan_share(plan, i);
	hetpart_plan_free(plan);
	hetpart_cost_free(cost);
	return shares_status(st, &he, e);
}

status shares_by_costs(uint64_t n, hetpart_cost_fn *fn, void *ctx, size_t ctx_bytes, size_t p,
		       const uint64_t *most, uint64_t *share, err *e)
{
	hetpart_opts opts = HETPART_OPTS_INIT;
	/* There is at least one rank. NOLINTNEXTLINE(clang-analyzer-optin.portability.UnixAPI) */
	hetpart_cost **cost = calloc(p, sizeof *cost);
	hetpart_plan *plan = NULL;
	hetpart_err he = { cost ? HETPART_OK : HETPART_ENOMEM, "out of memory" };
	hetpart_status st = he.status;
	opts.capacities = most;
	for (size_t i = 0; st == HETPART_OK && i < p; i++)
		st = hetpart_cost_callback(&cost[i], fn, (char *)ctx + i * ctx_bytes, true, 1, &he);
	if (st == HETPART_OK)
		st = hetpart_share_unrelated_create(&plan, n, (const hetpart_cost *const *)cost, p,
						    &opts, &he);
	for (size_t i = 0; st == HETPART_OK && i < p; i++)
		share[i] = hetpart_plan_share(plan, i);
	hetpart_plan_free(plan);
	for (size_t i = 0; cost && i < p; i++)
		hetpart_cost_free(cost[i]);
	free(cost);
	return shares_status(st, &he, e);
}

/* ------------------------------------------------------------------------------- all resources
 *
 * A job has two passes: in the first, all ranks read; in the second, all ranks sort on demand,
 * send, merge and write. A rank sends the records that it has read, so a slow link or processor
 * limits both of its shares. If such a rank reads fewer records, the first pass takes longer, but
 * the second one is shorter. A search over the time of the second pass finds the best balance. Each
 * step of the search is one plan of libhetpart. Ranks that are alike are planned as a group.
 */

enum {
	STEPS = 20, /* of the search, at most */
	ROUNDS = 3  /* what a rank sends depends on both its shares, which are found in turn */
};

static const double GOLDEN = 0.6180339887498949;

/* The search ends when it knows the time to this part. */
static const double EXACT = 0.002;

/* Shares by speed are kept if others save only this part of the time. If links or disks bind,
 * shares must save more than equal ones: the model knows them less well. */
static const double NOTICEABLE = 0.02, DOUBTFUL = 0.08;

/* The common properties of the ranks of a group. */
typedef struct likeness {
	rates rate;
	const hetpart_cost *before_s, *after_s;
	uint64_t in; /* if the share is fixed */
} likeness;

_Static_assert(sizeof(likeness) == sizeof(rates) + 2 * sizeof(void *) + sizeof(uint64_t),
	       "memcmp compares likenesses, so they must have no padding");

/* Ranks that are alike and divide a share evenly. */
typedef struct group {
	const bound_ranks *b;
	likeness like;
	uint64_t count;             /* of ranks */
	uint64_t each_in, each_out; /* the shares of each rank in the present plan */
} group;

static group group_make(const bound_ranks *b, size_t i, uint64_t in)
{
	group g = { .b = b, .count = 1 };
	g.like = (likeness){ b->rate[i], b->before_s ? b->before_s[i] : NULL,
			     b->after_s ? b->after_s[i] : NULL, b->in_fixed ? in : 0 };
	return g;
}

/* Return the largest share of a rank, if the ranks of the group divide `all` records. */
static uint64_t group_part(const group *g, uint64_t all)
{
	return all / g->count + (all % g->count > 0);
}

static job_load group_load(const group *g, uint64_t in, uint64_t out)
{
	return (job_load){ .in = in,
			   .out = out,
			   .all = g->b->records,
			   .ranks = g->b->p,
			   .far = g->b->far,
			   .buffer_bytes = g->b->buffer_bytes };
}

static double group_before_s(void *ctx, uint64_t all)
{
	const group *g = ctx;
	const job_load l = group_load(g, group_part(g, all), 0);
	const double disk_s = g->like.rate.input_s * g->b->o->lay.record_bytes * (double)l.in;
	return g->like.before_s ? fmax(hetpart_cost_eval(g->like.before_s, l.in), disk_s)
				: job_time_of(&g->like.rate, g->b->o, &l).stage[STAGE_READ].all_s;
}

/* Return the seconds of a rank in the second pass. */
static double second_s(const group *g, const job_load *l)
{
	const rates *r = &g->like.rate;
	const settings *o = g->b->o;
	if (g->like.after_s) {
		const double bytes =
			fmax(o->lay.record_bytes * (double)l->out - l->buffer_bytes, 0);
		return fmax(hetpart_cost_eval(g->like.after_s, l->out),
			    fmax(job_time_link_s(r, o, l), r->disk_s * bytes));
	}
	const job_time t = job_time_of(r, o, l);
	return t.total_s - t.stage[STAGE_READ].all_s;
}

/* Return these seconds if each rank has read g->each_in records and the group writes `all`. The
 * records sent follow from g->each_out, so the seconds never decrease if `all` increases. */
static double group_after_s(void *ctx, uint64_t all)
{
	const group *g = ctx;
	job_load l = group_load(g, g->each_in, group_part(g, all));
	l.own_out = u64_max(g->each_out, 1);
	return second_s(g, &l);
}

/* Return these seconds if each rank has read `each` records and writes none. */
static double group_send_s(const group *g, uint64_t each)
{
	job_load l = group_load(g, each, 0);
	l.own_out = u64_max(g->each_out, 1);
	return second_s(g, &l);
}

/* Return the seconds of both passes if the group reads and writes `all`. */
static double group_both_s(void *ctx, uint64_t all)
{
	const group *g = ctx;
	job_load l = group_load(g, group_part(g, all), group_part(g, all));
	return group_before_s(ctx, all) + second_s(g, &l);
}

/* Return about how many records each rank can send in s seconds. */
static double group_sends(const group *g, double s)
{
	double n = (double)g->b->records;
	for (int i = 0; i < 3; i++) { /* nearly linear */
		const double most_s = n < 1 ? 0 : group_send_s(g, (uint64_t)n);
		n = most_s > 0 ? n * (s / most_s) : n;
		if (n >= (double)g->b->records)
			return (double)g->b->records;
	}
	return floor(n);
}

/* The seconds until the last rank has read, and from then until the last has written. */
typedef struct passes {
	double read_s, written_s;
} passes;

static void add_group(passes *last, const group *g, uint64_t in, uint64_t out)
{
	const job_load l = group_load(g, group_part(g, in), group_part(g, out));
	last->read_s = fmax(last->read_s, group_before_s((void *)g, in));
	last->written_s = fmax(last->written_s, second_s(g, &l));
}

static passes passes_of_ranks(const bound_ranks *b, const uint64_t *in, const uint64_t *out)
{
	passes last = { 0 };
	for (size_t i = 0; i < b->p; i++) {
		const group g = group_make(b, i, in[i]);
		add_group(&last, &g, in[i], out[i]);
	}
	return last;
}

double shares_bound_s(const bound_ranks *b, const uint64_t *in, const uint64_t *out)
{
	const passes last = passes_of_ranks(b, in, out);
	return last.read_s + last.written_s;
}

double shares_left_s(const bound_ranks *b, const uint64_t *in, const uint64_t *out)
{
	return passes_of_ranks(b, in, out).written_s;
}

typedef struct member {
	likeness like;
	size_t rank;
} member;

/* All arrays except `at` have one entry per group. */
typedef struct search {
	const bound_ranks *b;
	member *at; /* [p] ranks that are alike are neighbours */
	size_t n;   /* groups */
	group *g;
	uint64_t records;
	uint64_t *in, *out;           /* the best shares */
	uint64_t *new_in, *new_out;   /* shares that may be better */
	uint64_t *most;               /* the largest share to read */
	uint64_t *same_in, *same_out; /* the best shares that are about the same */
	double sending_s, total_s; /* the best time to send, and the time of both passes with it */
	status rc;                 /* after a failure, nothing more is planned */
	err *e;
} search;

static double both_s(const search *s, const uint64_t *in, const uint64_t *out)
{
	passes last = { 0 };
	for (size_t i = 0; i < s->n; i++)
		add_group(&last, &s->g[i], in[i], out[i]);
	return last.read_s + last.written_s;
}

static void use_new(search *s)
{
	memcpy(s->in, s->new_in, s->n * sizeof *s->in);
	memcpy(s->out, s->new_out, s->n * sizeof *s->out);
}

/* Divide the records to read. */
static void bound_in(search *s, const uint64_t *most)
{
	if (s->rc == ST_OK)
		s->rc = shares_by_costs(s->records, group_before_s, s->g, sizeof *s->g, s->n, most,
					s->new_in, s->e);
}

/* Divide the records to write, if ranks have to send the records of s->new_in. Return the seconds
 * until all are written. */
static double bound_out(search *s)
{
	double written_s = 0;
	for (size_t i = 0; i < s->n; i++)
		s->g[i].each_in = group_part(&s->g[i], s->new_in[i]);
	if (s->rc == ST_OK)
		s->rc = shares_by_costs(s->records, group_after_s, s->g, sizeof *s->g, s->n, NULL,
					s->new_out, s->e);
	for (size_t i = 0; i < s->n; i++)
		written_s = fmax(written_s, group_after_s(&s->g[i], s->new_out[i]));
	return written_s;
}

/* Divide the records to read so that sending them takes at most sending_s, then the records to
 * write. Return the time of both passes, INFINITY if too few records can be sent in this time. Keep
 * the best shares. The records that a rank sends follow from both its shares, so move each_out
 * towards the new share to write. */
static double try_sending(search *s, double sending_s)
{
	uint64_t sum = 0;
	bool all = false; /* all records can be sent in sending_s */
	for (size_t i = 0; i < s->n; i++) {
		const double n = group_sends(&s->g[i], sending_s) * (double)s->g[i].count;
		s->most[i] = n < (double)s->records ? (uint64_t)n : s->records;
		all = all || __builtin_add_overflow(sum, s->most[i], &sum) || sum >= s->records;
	}
	if (!all)
		return INFINITY;
	bound_in(s, s->most);
	(void)bound_out(s);
	for (size_t i = 0; i < s->n; i++) {
		const uint64_t old = s->g[i].each_out;
		s->g[i].each_out = old / 2 + group_part(&s->g[i], s->new_out[i]) / 2;
	}
	const double total_s = s->rc == ST_OK ? both_s(s, s->new_in, s->new_out) : INFINITY;
	if (total_s < s->total_s) {
		s->total_s = total_s;
		s->sending_s = sending_s;
		use_new(s);
	}
	return total_s;
}

/* Find the shares to read and to write. A golden-section search looks for the best time to send,
 * between the time of the second pass without sending, and the time to send shares that ignore
 * sending. */
static void bound_both(search *s)
{
	double lo, hi = 0;
	for (size_t i = 0; i < s->n; i++)
		s->new_in[i] = 0;
	lo = bound_out(s);
	bound_in(s, NULL);
	for (size_t i = 0; i < s->n; i++)
		hi = fmax(hi, group_send_s(&s->g[i], group_part(&s->g[i], s->new_in[i])));
	s->total_s = both_s(s, s->in, s->out);
	s->sending_s = hi;
	if (hi > lo) {
		double at[] = { hi - GOLDEN * (hi - lo), lo + GOLDEN * (hi - lo) };
		double total[2];
		(void)try_sending(s, lo);
		total[0] = try_sending(s, at[0]);
		total[1] = try_sending(s, at[1]);
		for (int i = 0; i < STEPS && s->rc == ST_OK && hi - lo > EXACT * s->total_s; i++) {
			const int k = total[0] < total[1] ? 0 : 1; /* the better inner point */
			*(k == 0 ? &hi : &lo) = at[1 - k];
			at[1 - k] = at[k];
			total[1 - k] = total[k];
			at[k] = k == 0 ? hi - GOLDEN * (hi - lo) : lo + GOLDEN * (hi - lo);
			total[k] = try_sending(s, at[k]);
		}
	}
	(void)try_sending(s, fmax(hi, lo));
	(void)try_sending(s, s->sending_s);
}

/* Make the new shares the best ones if they are better. */
static void keep_better(search *s)
{
	if (both_s(s, s->new_in, s->new_out) < both_s(s, s->in, s->out))
		use_new(s);
}

/* Let the new shares be equal, except those that are fixed. */
static void make_equal(search *s)
{
	uint64_t rest = s->records % s->b->p;
	for (size_t i = 0; i < s->n; i++) {
		const uint64_t n = s->g[i].count, more = u64_min(rest, n);
		s->new_out[i] = s->records / s->b->p * n + more;
		rest -= more;
	}
	memcpy(s->new_in, s->b->in_fixed ? s->in : s->new_out, s->n * sizeof *s->in);
}

/* Return whether the groups differ only in the speeds of their processors. */
static bool only_speeds_differ(const search *s)
{
	const rates *first = &s->g[0].like.rate;
	bool same = true;
	for (size_t i = 1; i < s->n; i++) {
		const rates *r = &s->g[i].like.rate;
		same = same && r->link_s == first->link_s && r->disk_s == first->disk_s &&
		       r->input_s == first->input_s && r->cpus == first->cpus;
	}
	return same;
}

/* Find the best shares. Begin with shares by speed, or the same ones to read and to write. Then
 * change both in rounds, since what a rank sends depends on both. If only speeds differ, the first
 * ones are kept unless others save much: if ranks write other parts than they read, they wait
 * longer for each other's blocks than the model knows. Also try equal shares. */
static void find_best(search *s)
{
	const size_t bytes = s->n * sizeof *s->in;
	double same_s = 0;
	if (!s->b->in_fixed) {
		s->rc = shares_by_costs(s->records, group_both_s, s->g, sizeof *s->g, s->n, NULL,
					s->new_in, s->e);
		memcpy(s->new_out, s->new_in, bytes);
		keep_better(s);
		same_s = only_speeds_differ(s) ? both_s(s, s->in, s->out) : 0;
		memcpy(s->same_in, s->in, bytes);
		memcpy(s->same_out, s->out, bytes);
	}
	memcpy(s->new_in, s->in, bytes);
	memcpy(s->new_out, s->out, bytes);
	for (int k = 0; k < ROUNDS && s->rc == ST_OK; k++) {
		const double old_s = both_s(s, s->in, s->out);
		for (size_t i = 0; i < s->n; i++)
			s->g[i].each_out = group_part(&s->g[i], s->out[i]);
		if (s->b->in_fixed)
			(void)bound_out(s);
		else
			bound_both(s);
		if (s->rc == ST_OK)
			keep_better(s);
		if (both_s(s, s->in, s->out) > (1 - EXACT) * old_s)
			break;
	}
	if (same_s > 0 && both_s(s, s->in, s->out) > (1 - DOUBTFUL) * same_s) {
		memcpy(s->in, s->same_in, bytes);
		memcpy(s->out, s->same_out, bytes);
	}
	make_equal(s);
	keep_better(s);
}

/* Return the time of the present shares if there were no links and disks. */
static double work_s(const search *s)
{
	passes last = { 0 };
	for (size_t i = 0; i < s->n; i++) {
		group g = s->g[i];
		g.like.rate.link_s = g.like.rate.disk_s = g.like.rate.input_s = 0;
		add_group(&last, &g, s->in[i], s->out[i]);
	}
	return last.read_s + last.written_s;
}

static int compare_members(const void *a, const void *b)
{
	const member *x = a, *y = b;
	/* Any order of unlike members will do. NOLINTNEXTLINE(*-memory-comparison,cert-*) */
	const int c = memcmp(&x->like, &y->like, sizeof x->like);
	return c ? c : x->rank < y->rank ? -1 : 1;
}

/* Sort ranks into groups of equal likeness, and add up the shares of each group. */
static void make_groups(search *s, const uint64_t *in, const uint64_t *out)
{
	const bound_ranks *b = s->b;
	for (size_t i = 0; i < b->p; i++)
		s->at[i] = (member){ group_make(b, i, in[i]).like, i };
	qsort(s->at, b->p, sizeof *s->at, compare_members);
	for (size_t i = 0; i < b->p; i++) {
		const likeness *l = &s->at[i].like;
		/* Equal bytes are meant. NOLINTNEXTLINE(*-memory-comparison,cert-*) */
		if (i == 0 || memcmp(l, &s->at[i - 1].like, sizeof *l) != 0)
			s->g[s->n++] = (group){ .b = b, .like = *l };
		s->g[s->n - 1].count++;
		s->in[s->n - 1] += in[s->at[i].rank];
		s->out[s->n - 1] += out[s->at[i].rank];
		s->records += out[i];
	}
}

/* Divide the share of each group evenly among its ranks. */
static void divide_groups(const search *s, const uint64_t *all, uint64_t *share)
{
	size_t at = 0;
	for (size_t i = 0; i < s->n; i++)
		for (uint64_t k = 0, n = s->g[i].count; k < n; k++)
			share[s->at[at++].rank] = all[i] / n + (k < all[i] % n);
}

status shares_bound(const bound_ranks *b, uint64_t *in, uint64_t *out, err *e)
{
	enum { ARRAYS = 7 };
	uint64_t *all = calloc(b->p, ARRAYS * sizeof *all);
	search s = { .b = b,
		     .at = calloc(b->p, sizeof *s.at),
		     .g = calloc(b->p, sizeof *s.g),
		     .in = all,
		     .e = e };
	if (!all || !s.at || !s.g) {
		s.rc = err_set(e, ST_RESOURCE, "no memory for a plan of %zu ranks", b->p);
	} else {
		s.out = s.in + b->p;
		s.new_in = s.out + b->p;
		s.new_out = s.new_in + b->p;
		s.most = s.new_out + b->p;
		s.same_in = s.most + b->p;
		s.same_out = s.same_in + b->p;
		make_groups(&s, in, out);
	}
	const bool ok = s.rc == ST_OK && s.n > 1;
	const double before_s = ok ? both_s(&s, s.in, s.out) : 0;
	const bool bind = ok && before_s > (1 + NOTICEABLE) * work_s(&s);
	if (ok)
		find_best(&s);
	if (ok && bind) {
		make_equal(&s);
		if (both_s(&s, s.in, s.out) > (1 - DOUBTFUL) * both_s(&s, s.new_in, s.new_out))
			use_new(&s);
	}
	if (ok && s.rc == ST_OK &&
	    (bind || both_s(&s, s.in, s.out) < (1 - NOTICEABLE) * before_s)) {
		if (!b->in_fixed)
			divide_groups(&s, s.in, in);
		divide_groups(&s, s.out, out);
	}
	free(all);
	free(s.at);
	free(s.g);
	return s.rc;
}
