/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two passes: all ranks read and sort, then all send, merge and write. What a rank reads it has to
 * send in the second pass, so a slow link bounds both of its shares: the fewer records it may read,
 * the later the others have read theirs, and the earlier all is sent. A search over the time of the
 * second pass finds the best of that; each step is one plan of libhetpart. */
#include "bottleneck.h"
#include "shares.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 20 }; /* of the search: to 1/15000 of the bracket */

static const double GOLDEN = 0.6180339887498949;

const char *bottleneck_name(bottleneck b)
{
	static const char *const name[BOTTLENECKS] = { "processor", "link", "disk" };
	return name[b];
}

static double exchange_s(const rates *r, const settings *o, const run_load *l)
{
	return fmax(rates_link_s(r, o, l->in, l->ranks), rates_link_s(r, o, l->out, l->ranks));
}

bottleneck bottleneck_of(const rates *r, const settings *o, const run_load *l)
{
	run_load no_disk = *l, no_work = *l;
	no_disk.cold = no_disk.durable = false;
	no_disk.disk_s = 1e-300;
	no_work.cpus = INFINITY;
	const double busy[BOTTLENECKS] = { run_time_s(r, o, &no_disk), exchange_s(r, o, l),
					   run_time_s(r, o, &no_work) };
	bottleneck most = BOUND_BY_PROCESSOR;
	for (int i = 0; i < BOTTLENECKS; i++)
		if (busy[i] > busy[most])
			most = (bottleneck)i;
	return most;
}

/* The part of the time in which messages are under way. */
static double meanwhile_s(const run_parts *p)
{
	return p->receive.all_s > 0 ? p->receive.all_s : p->write.all_s;
}

double bottleneck_link_s(const rates *r, const settings *o, const run_load *l)
{
	const run_parts p = run_time_parts(r, o, l);
	return fmax(exchange_s(r, o, l) - meanwhile_s(&p), 0);
}

bool bound_ranks_known(const rates *rate, size_t p)
{
	for (size_t i = 0; i < p; i++)
		if (rate[i].link_s > 0 || rate[i].disk_s > 0)
			return true;
	return false;
}

/* ------------------------------------------------------------------------------ one rank's time */

/* Of a rank, or of each of a group that divides a share evenly. */
typedef struct task {
	const settings *o;
	rates rate;
	double cpus;
	size_t ranks;
	uint64_t count;
	uint64_t in;                  /* after_s(): what each has to send */
	const hetpart_cost *learnt_s; /* NULL: by the rates */
} task;

/* The largest part of a share. */
static uint64_t part_of(uint64_t n, uint64_t count)
{
	return n / count + (n % count > 0);
}

static run_load load_of(const task *t, uint64_t in, uint64_t out)
{
	const bool disk = t->rate.disk_s > 0;
	return (run_load){ .in = in,
			   .out = out,
			   .ranks = t->ranks,
			   .cpus = t->cpus,
			   .cold = disk,
			   .durable = disk,
			   .disk_s = t->rate.disk_s,
			   .disk_ranks = 1 };
}

static double before_s(void *ctx, uint64_t all)
{
	const task *t = ctx;
	const uint64_t in = part_of(all, t->count);
	if (t->learnt_s)
		return fmax(hetpart_cost_eval(t->learnt_s, in), rates_disk_s(&t->rate, t->o, in));
	const run_load l = load_of(t, in, 0);
	return run_time_parts(&t->rate, t->o, &l).read.all_s;
}

/* What is received and written; what is sent is another matter. */
static double after_s(void *ctx, uint64_t all)
{
	const task *t = ctx;
	const uint64_t out = part_of(all, t->count);
	const double received_s = rates_link_s(&t->rate, t->o, out, t->ranks);
	if (t->learnt_s)
		return fmax(hetpart_cost_eval(t->learnt_s, out),
			    fmax(received_s, rates_disk_s(&t->rate, t->o, out)));
	const run_load l = load_of(t, t->in, out);
	const run_parts p = run_time_parts(&t->rate, t->o, &l);
	return p.split.all_s + p.receive.all_s + p.sort.all_s + p.write.all_s +
	       fmax(received_s - meanwhile_s(&p), 0);
}

static uint64_t count_of(const bound_ranks *b, size_t i)
{
	return b->count ? b->count[i] : 1;
}

static task task_of(const bound_ranks *b, size_t i, bool before, uint64_t in)
{
	const hetpart_cost *const *learnt = before ? b->before_s : b->after_s;
	return (task){ .o = b->o,
		       .rate = b->rate[i],
		       .cpus = b->cpus,
		       .ranks = b->ranks,
		       .count = count_of(b, i),
		       .in = part_of(in, count_of(b, i)),
		       .learnt_s = learnt ? learnt[i] : NULL };
}

static task *tasks_of(const bound_ranks *b, bool before, const uint64_t *in, err *e)
{
	task *t = calloc(b->p, sizeof *t);
	if (!t) {
		err_set(e, ST_RESOURCE, "no memory for a plan of %zu ranks", b->ranks);
		return NULL;
	}
	for (size_t i = 0; i < b->p; i++)
		t[i] = task_of(b, i, before, before ? 0 : in[i]);
	return t;
}

/* --------------------------------------------------------------------------------- both passes */

static double last_read_s(const bound_ranks *b, const uint64_t *in)
{
	double last = 0;
	for (size_t i = 0; i < b->p; i++) {
		task t = task_of(b, i, true, 0);
		last = fmax(last, before_s(&t, in[i]));
	}
	return last;
}

static double last_sent_s(const bound_ranks *b, const uint64_t *in)
{
	double last = 0;
	for (size_t i = 0; i < b->p; i++)
		last = fmax(last, rates_link_s(&b->rate[i], b->o, part_of(in[i], count_of(b, i)),
					       b->ranks));
	return last;
}

static double last_written_s(const bound_ranks *b, const uint64_t *in, const uint64_t *out)
{
	double last = 0;
	for (size_t i = 0; i < b->p; i++) {
		task t = task_of(b, i, false, in[i]);
		last = fmax(last, after_s(&t, out[i]));
	}
	return last;
}

double bound_makespan_s(const bound_ranks *b, const uint64_t *in, const uint64_t *out)
{
	return last_read_s(b, in) + fmax(last_sent_s(b, in), last_written_s(b, in, out));
}

/* Do these shares take longer than they would if links and disks took no time? */
static status find_bound(const bound_ranks *b, const uint64_t *in, const uint64_t *out, bool *bound,
			 err *e)
{
	bound_ranks work_alone = *b;
	rates *rate = calloc(b->p, sizeof *rate);
	if (!rate)
		return err_set(e, ST_RESOURCE, "no memory for a plan of %zu ranks", b->p);
	for (size_t i = 0; i < b->p; i++) {
		rate[i] = b->rate[i];
		rate[i].link_s = rate[i].disk_s = 0;
	}
	work_alone.rate = rate;
	*bound = bound_makespan_s(b, in, out) > bound_makespan_s(&work_alone, in, out);
	free(rate);
	return ST_OK;
}

/* ----------------------------------------------------------------------------------- the search */

typedef struct search {
	const bound_ranks *b;
	uint64_t records;
	task *before;    /* [p] */
	uint64_t *most;  /* [p] that each may read */
	uint64_t *share; /* [p] of the last step */
} search;

/* The most that can be sent in so many seconds. Returns whether that is all records. */
static bool limit_sending(search *s, double sending_s)
{
	uint64_t sum = 0;
	bool all = false;
	for (size_t i = 0; i < s->b->p; i++) {
		const double one_s = rates_link_s(&s->b->rate[i], s->b->o, 1, s->b->ranks);
		const double n =
			one_s > 0 ? floor(sending_s / one_s) * (double)count_of(s->b, i) : INFINITY;
		s->most[i] = n < (double)s->records ? (uint64_t)n : s->records;
		all = all || __builtin_add_overflow(sum, s->most[i], &sum) || sum >= s->records;
	}
	return all;
}

/* The time of both passes where the second one takes so long. */
static status try_sending(search *s, double sending_s, double *total_s, err *e)
{
	*total_s = INFINITY;
	if (!limit_sending(s, sending_s))
		return ST_OK;
	const status rc = shares_by_costs_within(s->records, before_s, s->before, sizeof *s->before,
						 s->b->p, s->most, s->share, e);
	if (rc == ST_OK)
		*total_s = last_read_s(s->b, s->share) + sending_s;
	return rc;
}

/* Between the time that the rest of the second pass takes, and that of sending what is read by
 * speed: the sum of both passes falls and rises once. */
static status find_sending(search *s, double least_s, double most_s, double *best_s, err *e)
{
	double lo = least_s, hi = most_s, at[2], total[2];
	at[0] = hi - GOLDEN * (hi - lo);
	at[1] = lo + GOLDEN * (hi - lo);
	status rc = try_sending(s, at[0], &total[0], e);
	if (rc == ST_OK)
		rc = try_sending(s, at[1], &total[1], e);
	for (int i = 0; i < STEPS && rc == ST_OK; i++) {
		const int k = total[0] < total[1] ? 0 : 1; /* the half that stays */
		*(k == 0 ? &hi : &lo) = at[1 - k];
		at[1 - k] = at[k];
		total[1 - k] = total[k];
		at[k] = k == 0 ? hi - GOLDEN * (hi - lo) : lo + GOLDEN * (hi - lo);
		rc = try_sending(s, at[k], &total[k], e);
	}
	double least = INFINITY;
	const double candidates[] = { least_s, at[0], at[1], hi };
	for (size_t i = 0; i < sizeof candidates / sizeof *candidates && rc == ST_OK; i++) {
		double sum;
		rc = try_sending(s, candidates[i], &sum, e);
		if (rc == ST_OK && sum < least) {
			least = sum;
			*best_s = candidates[i];
		}
	}
	return rc;
}

/* What each reads, where the second pass takes least_s without sending. */
static status bound_in(search *s, double least_s, uint64_t *in, err *e)
{
	const size_t p = s->b->p;
	status rc =
		shares_by_costs(s->records, before_s, s->before, sizeof *s->before, p, s->share, e);
	const double most_s = rc == ST_OK ? last_sent_s(s->b, s->share) : 0;
	double best_s = most_s, total_s;
	if (rc == ST_OK && most_s > least_s) {
		rc = find_sending(s, least_s, most_s, &best_s, e);
		if (rc == ST_OK)
			rc = try_sending(s, best_s, &total_s, e);
	}
	if (rc == ST_OK)
		memcpy(in, s->share, p * sizeof *in);
	return rc;
}

static status bound_out(const bound_ranks *b, uint64_t records, const uint64_t *in, uint64_t *out,
			err *e)
{
	task *t = tasks_of(b, false, in, e);
	const status rc =
		t ? shares_by_costs(records, after_s, t, sizeof *t, b->p, out, e) : ST_RESOURCE;
	free(t);
	return rc;
}

/* New shares to both, by steps: what is written for what is read, and the other way round. */
static status both_shares(search *s, uint64_t *in, uint64_t *out, err *e)
{
	status rc = bound_out(s->b, s->records, in, out, e);
	if (rc != ST_OK || s->b->in_fixed)
		return rc;
	rc = bound_in(s, last_written_s(s->b, in, out), in, e);
	return rc == ST_OK ? bound_out(s->b, s->records, in, out, e) : rc;
}

static void keep_better(const bound_ranks *b, const uint64_t *share, double *least_s, uint64_t *in,
			uint64_t *out)
{
	const uint64_t *new_in = b->in_fixed ? in : share, *new_out = share + b->p;
	const double s = bound_makespan_s(b, new_in, new_out);
	if (!(s < *least_s))
		return;
	*least_s = s;
	if (!b->in_fixed)
		memcpy(in, new_in, b->p * sizeof *in);
	memcpy(out, new_out, b->p * sizeof *out);
}

static void equal_shares(const bound_ranks *b, uint64_t records, uint64_t *share)
{
	uint64_t rest = records % b->ranks;
	for (size_t i = 0; i < b->p; i++) {
		const uint64_t n = count_of(b, i), more = rest < n ? rest : n;
		share[i] = records / b->ranks * n + more;
		rest -= more;
	}
}

/* Of groups. */
static status best_shares(const bound_ranks *b, uint64_t *in, uint64_t *out, err *e)
{
	const size_t p = b->p;
	search s = { .b = b,
		     .before = tasks_of(b, true, NULL, e),
		     .most = calloc(p, sizeof *s.most),
		     .share = calloc(p, sizeof *s.share) };
	uint64_t *share = calloc(2 * p, sizeof *share); /* in, and out */
	status rc =
		s.before && s.most && s.share && share
			? ST_OK
			: err_set(e, ST_RESOURCE, "no memory for a plan of %zu ranks", b->ranks);
	double least_s = bound_makespan_s(b, in, out);
	for (size_t i = 0; i < p; i++)
		s.records += out[i];
	if (rc == ST_OK) {
		memcpy(share, in, p * sizeof *in);
		rc = both_shares(&s, share, share + p, e);
	}
	if (rc == ST_OK) {
		keep_better(b, share, &least_s, in, out);
		equal_shares(b, s.records, share);
		equal_shares(b, s.records, share + p);
		keep_better(b, share, &least_s, in, out);
	}
	free(s.before);
	free(s.most);
	free(s.share);
	free(share);
	return rc;
}

/* ---------------------------------------------------------------------------------------- groups
 */

/* What ranks have to have alike. */
typedef struct likeness {
	rates rate;
	const hetpart_cost *before_s, *after_s;
	uint64_t in; /* where it is fixed */
} likeness;

_Static_assert(sizeof(likeness) == sizeof(rates) + 2 * sizeof(void *) + sizeof(uint64_t),
	       "compared byte by byte");

typedef struct member {
	likeness like;
	size_t rank;
} member;

static int by_likeness(const void *a, const void *b)
{
	const member *x = a, *y = b;
	const int c = memcmp(&x->like, &y->like, sizeof x->like);
	return c ? c : x->rank < y->rank ? -1 : 1;
}

/* Ranks in their groups, and the groups as a whole. */
typedef struct groups {
	bound_ranks b;
	member *at; /* [ranks] those that are alike side by side */
	rates *rate;
	uint64_t *count, *in, *out;
	const hetpart_cost **before_s, **after_s;
} groups;

static void groups_free(groups *g)
{
	free(g->at);
	free(g->rate);
	free(g->count);
	free(g->in);
	free(g->out);
	free(g->before_s);
	free(g->after_s);
}

static bool groups_alloc(groups *g, size_t p)
{
	*g = (groups){ .at = calloc(p, sizeof *g->at),
		       .rate = calloc(p, sizeof *g->rate),
		       .count = calloc(p, sizeof *g->count),
		       .in = calloc(p, sizeof *g->in),
		       .out = calloc(p, sizeof *g->out),
		       .before_s = calloc(p, sizeof *g->before_s),
		       .after_s = calloc(p, sizeof *g->after_s) };
	return g->at && g->rate && g->count && g->in && g->out && g->before_s && g->after_s;
}

static void groups_make(groups *g, const bound_ranks *b, const uint64_t *in, const uint64_t *out)
{
	size_t n = 0;
	for (size_t i = 0; i < b->p; i++) {
		memset(&g->at[i], 0, sizeof g->at[i]);
		g->at[i].like =
			(likeness){ b->rate[i], b->before_s ? b->before_s[i] : NULL,
				    b->after_s ? b->after_s[i] : NULL, b->in_fixed ? in[i] : 0 };
		g->at[i].rank = i;
	}
	qsort(g->at, b->p, sizeof *g->at, by_likeness);
	for (size_t i = 0; i < b->p; i++) {
		const likeness *l = &g->at[i].like;
		n += i == 0 || memcmp(l, &g->at[i - 1].like, sizeof *l) != 0;
		g->rate[n - 1] = l->rate;
		g->before_s[n - 1] = l->before_s;
		g->after_s[n - 1] = l->after_s;
		g->count[n - 1]++;
		g->in[n - 1] += in[g->at[i].rank];
		g->out[n - 1] += out[g->at[i].rank];
	}
	g->b = *b;
	g->b.p = n;
	g->b.count = g->count;
	g->b.rate = g->rate;
	g->b.before_s = b->before_s ? g->before_s : NULL;
	g->b.after_s = b->after_s ? g->after_s : NULL;
}

static void divide(const groups *g, const uint64_t *all, uint64_t *share)
{
	size_t at = 0;
	for (size_t i = 0; i < g->b.p; i++)
		for (uint64_t k = 0, n = g->count[i]; k < n; k++)
			share[g->at[at++].rank] = all[i] / n + (k < all[i] % n);
}

status bound_shares(const bound_ranks *b, uint64_t *in, uint64_t *out, err *e)
{
	groups g;
	bool bound = false;
	status rc = groups_alloc(&g, b->p)
			    ? ST_OK
			    : err_set(e, ST_RESOURCE, "no memory for a plan of %zu ranks", b->p);
	if (rc == ST_OK) {
		groups_make(&g, b, in, out);
		rc = find_bound(&g.b, g.in, g.out, &bound, e);
	}
	if (rc == ST_OK && bound)
		rc = best_shares(&g.b, g.in, g.out, e);
	if (rc == ST_OK && bound) {
		divide(&g, g.out, out);
		if (!b->in_fixed)
			divide(&g, g.in, in);
	}
	groups_free(&g);
	return rc;
}
