/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The plan of shares, and three ways to find shares: by speed, by costs, and by the times of work,
 * links and disks. Rank 0 finds the shares, the other ranks receive them.
 *
 * A plan takes 72 bytes per rank. If one process has all ranks, they share the arrays of the first
 * plan. The memory of a plan counts for no rank. */
#include "shares.h"
#include "base/arith.h"

#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* The header of arrays in one block of memory. */
struct share_arrays {
	atomic_int holders; /* plans that use the arrays; the last one frees them */
	size_t ranks;       /* entries of each array */
};

static share_arrays *share_arrays_alloc(rank_env *env, size_t bytes_a_rank)
{
	const size_t p = (size_t)env->c->size;
	share_arrays *a = calloc(1, sizeof *a + p * bytes_a_rank);
	if (a)
		*a = (share_arrays){ .holders = 1, .ranks = p };
	else
		err_set(&env->e, ST_RESOURCE, "no memory for the shares of %zu ranks", p);
	return a;
}

static void share_arrays_release(share_arrays *a)
{
	if (a && atomic_fetch_sub(&a->holders, 1) == 1)
		free(a);
}

static void share_plan_set_arrays(share_plan *s)
{
	s->in = (void *)(s->shares + 1);
	s->out = s->in + s->shares->ranks;
	s->before = s->out + s->shares->ranks;
}

static status share_plan_alloc(rank_env *env, share_plan *s)
{
	s->shares = share_arrays_alloc(env, sizeof *s->in + sizeof *s->out + sizeof *s->before);
	if (!s->shares)
		return ST_RESOURCE;
	share_plan_set_arrays(s);
	return ST_OK;
}

/* Let all ranks use the arrays of rank 0. */
static status share_plan_join(rank_env *env, share_plan *s)
{
	process_pointer both[] = { process_pointer_to(s->speeds), process_pointer_to(s->shares) };
	const status rc = comm_bcast(env->c, both, sizeof both, 0);
	if (rc != ST_OK || env->c->rank == 0)
		return rc;
	if (!process_pointer_is_whole(&both[0]) || !process_pointer_is_whole(&both[1]))
		return err_set(&env->e, ST_PEER, "rank 0 sent invalid addresses of the shares");
	s->speeds = both[0].at;
	s->shares = both[1].at;
	atomic_fetch_add(&s->speeds->holders, 1);
	atomic_fetch_add(&s->shares->holders, 1);
	share_plan_set_arrays(s);
	return ST_OK;
}

status share_plan_make(rank_env *env, share_plan *s)
{
	status rc = ST_OK;
	*s = (share_plan){ .common = env->c->process_ranks == env->c->size };
	if (!s->common || env->c->rank == 0) {
		s->speeds = share_arrays_alloc(env, sizeof *s->speed + sizeof *s->rate);
		rc = s->speeds ? share_plan_alloc(env, s) : ST_RESOURCE;
	}
	rc = comm_agree(env->c, rc);
	if (rc == ST_OK && s->common)
		rc = comm_agree(env->c, share_plan_join(env, s)); /* all join before any frees */
	if (rc == ST_OK) {
		s->speed = (void *)(s->speeds + 1);
		s->rate = (void *)(s->speed + s->speeds->ranks);
	}
	return rc;
}

status share_plan_copy(rank_env *env, const share_plan *old, share_plan *s)
{
	const size_t bytes = (size_t)env->c->size * sizeof *s->in;
	*s = (share_plan){ .records = old->records,
			   .measured = old->measured,
			   .speed = old->speed,
			   .rate = old->rate };
	if (share_plan_alloc(env, s) != ST_OK)
		return ST_RESOURCE;
	memcpy(s->in, old->in, bytes);
	memcpy(s->out, old->out, bytes);
	memcpy(s->before, old->before, bytes);
	return ST_OK;
}

void share_plan_drop(share_plan *s)
{
	share_arrays_release(s->shares);
}

void share_plan_replace(share_plan *old, share_plan *s)
{
	share_plan_drop(old);
	s->speeds = old->speeds;
	*old = *s;
	*s = (share_plan){ 0 };
}

void share_plan_free(share_plan *s)
{
	share_plan_drop(s);
	share_arrays_release(s->speeds);
}

void share_plan_sum_out(const rank_env *env, share_plan *s)
{
	uint64_t sum = 0;
	for (int i = 0; i < env->c->size; i++)
		s->before[i] = sum += s->out[i];
}

status share_plan_check(rank_env *env, uint64_t records, const uint64_t *share, bool is_stdin,
			const char *what)
{
	uint64_t sum = 0;
	bool ok = true;
	for (int i = 0; i < env->c->size; i++)
		ok &= !__builtin_add_overflow(sum, share[i], &sum);
	if (!ok || (sum != records && !is_stdin))
		return err_set(&env->e, ST_PEER,
			       "the shares that rank 0 has planned for %s do not add up to %" PRIu64
			       " records",
			       what, records);
	return ST_OK;
}

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

/* ---------------------------------------------------------------------------- links and disks
 *
 * A job has two passes: in the first, all ranks read; in the second, all ranks sort on demand,
 * send, merge and write. In the second pass a rank sends the records that it has read, so a slow
 * link limits both of its shares. If such a rank reads fewer records, the first pass takes longer,
 * but the second one is shorter. A search over the time of the second pass finds the best balance.
 * Each step of the search is one plan of libhetpart. Ranks that are alike are planned as a group.
 */

enum { STEPS = 20 }; /* of the search: they narrow the bracket to 1/15000 */

static const double GOLDEN = 0.6180339887498949;

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
	uint64_t count;   /* of ranks */
	uint64_t each_in; /* records that each rank has to send, for group_after_s() */
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

static double group_link_s(const group *g, uint64_t n)
{
	return job_time_link_s(&g->like.rate, g->b->o, n, g->b->p);
}

/* Return the seconds per byte of the disk that the output goes to, 0 if it goes to none. */
static double group_disk_byte_s(const group *g)
{
	return g->like.rate.disk_s > 0 ? g->like.rate.disk_s : g->b->disk_s;
}

static double group_disk_s(const group *g, uint64_t n)
{
	return group_disk_byte_s(g) * g->b->o->lay.record_bytes * (double)n;
}

/* Predict the time of a rank. It includes the link for received records only; passes.sent_s is the
 * link's time for sent records. */
static job_time group_time(const group *g, uint64_t in, uint64_t out)
{
	const job_load l = { .in = in,
			     .out = out,
			     .ranks = g->b->p,
			     .cpus = g->b->cpus,
			     .cold = g->like.rate.input_s > 0,
			     .durable = group_disk_byte_s(g) > 0,
			     .disk_s = group_disk_byte_s(g),
			     .disk_ranks = 1,
			     .sends_separately = true };
	return job_time_of(&g->like.rate, g->b->o, &l);
}

static double group_before_s(void *ctx, uint64_t all)
{
	const group *g = ctx;
	const uint64_t in = group_part(g, all);
	const double disk_s = g->like.rate.input_s > 0 ? group_disk_s(g, in) : 0;
	return g->like.before_s ? fmax(hetpart_cost_eval(g->like.before_s, in), disk_s)
				: group_time(g, in, 0).stage[STAGE_READ].all_s;
}

static double group_after_s(void *ctx, uint64_t all)
{
	const group *g = ctx;
	const uint64_t out = group_part(g, all);
	if (g->like.after_s)
		return fmax(hetpart_cost_eval(g->like.after_s, out),
			    fmax(group_link_s(g, out), group_disk_s(g, out)));
	const job_time t = group_time(g, g->each_in, out);
	double s = 0;
	for (int k = STAGE_READ + 1; k < STAGES; k++)
		s += t.stage[k].all_s;
	return s;
}

/* The seconds until the last rank has read, and from then until the last has sent and written. */
typedef struct passes {
	double read_s, sent_s, written_s;
} passes;

static void add_group(passes *last, group g, uint64_t in, uint64_t out)
{
	g.each_in = group_part(&g, in);
	last->read_s = fmax(last->read_s, group_before_s(&g, in));
	last->sent_s = fmax(last->sent_s, group_link_s(&g, g.each_in));
	last->written_s = fmax(last->written_s, group_after_s(&g, out));
}

static double both_s(const passes *last)
{
	return last->read_s + fmax(last->sent_s, last->written_s);
}

bool shares_bound_known(const bound_ranks *b)
{
	for (size_t i = 0; i < b->p; i++)
		if (b->rate[i].link_s > 0 || b->rate[i].disk_s > 0)
			return true;
	return b->disk_s > 0;
}

double shares_bound_s(const bound_ranks *b, const uint64_t *in, const uint64_t *out)
{
	passes last = { 0 };
	for (size_t i = 0; i < b->p; i++)
		add_group(&last, group_make(b, i, in[i]), in[i], out[i]);
	return both_s(&last);
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
	uint64_t *in, *out;         /* the best shares */
	uint64_t *new_in, *new_out; /* shares that may be better */
	uint64_t *most;             /* the largest share to read */
	double sending_s, both_s;   /* the best time to send, and the time of both passes with it */
	status rc;                  /* after a failure, nothing more is planned */
	err *e;
} search;

static passes passes_of(const search *s, const uint64_t *in, const uint64_t *out)
{
	passes last = { 0 };
	for (size_t i = 0; i < s->n; i++)
		add_group(&last, s->g[i], in[i], out[i]);
	return last;
}

/* Divide the records to read, and return the seconds until all are read. */
static double divide_in(search *s, const uint64_t *most)
{
	double read_s = 0;
	if (s->rc == ST_OK)
		s->rc = shares_by_costs(s->records, group_before_s, s->g, sizeof *s->g, s->n, most,
					s->new_in, s->e);
	for (size_t i = 0; i < s->n; i++)
		read_s = fmax(read_s, group_before_s(&s->g[i], s->new_in[i]));
	return read_s;
}

/* Divide the records to write, if ranks have to send the records of s->new_in. */
static void bound_out(search *s)
{
	for (size_t i = 0; i < s->n; i++)
		s->g[i].each_in = group_part(&s->g[i], s->new_in[i]);
	if (s->rc == ST_OK)
		s->rc = shares_by_costs(s->records, group_after_s, s->g, sizeof *s->g, s->n, NULL,
					s->new_out, s->e);
}

/* Divide the records to read so that sending them takes at most sending_s. Return the time of both
 * passes, INFINITY if too few records can be sent in this time. Keep the best time in s. */
static double try_sending(search *s, double sending_s)
{
	uint64_t sum = 0;
	bool all = false; /* all records can be sent in sending_s */
	for (size_t i = 0; i < s->n; i++) {
		const double one_s = group_link_s(&s->g[i], 1);
		const double n =
			one_s > 0 ? floor(sending_s / one_s) * (double)s->g[i].count : INFINITY;
		s->most[i] = n < (double)s->records ? (uint64_t)n : s->records;
		all = all || __builtin_add_overflow(sum, s->most[i], &sum) || sum >= s->records;
	}
	if (!all)
		return INFINITY;
	const double total_s = divide_in(s, s->most) + sending_s;
	if (total_s < s->both_s) {
		s->both_s = total_s;
		s->sending_s = sending_s;
	}
	return total_s;
}

/* Find the shares to read, if the second pass takes least_s without sending. A golden-section
 * search looks for the best time to send, between least_s and the time for shares that ignore
 * sending. The time of both passes has only one minimum in between. */
static void bound_in(search *s, double least_s)
{
	double most_s = 0;
	(void)divide_in(s, NULL);
	for (size_t i = 0; i < s->n; i++)
		most_s = fmax(most_s, group_link_s(&s->g[i], group_part(&s->g[i], s->new_in[i])));
	if (most_s <= least_s)
		return;
	double lo = least_s, hi = most_s;
	double at[] = { hi - GOLDEN * (hi - lo), lo + GOLDEN * (hi - lo) };
	s->both_s = INFINITY;
	(void)try_sending(s, least_s);
	double total[2];
	total[0] = try_sending(s, at[0]);
	total[1] = try_sending(s, at[1]);
	for (int i = 0; i < STEPS && s->rc == ST_OK; i++) {
		const int k = total[0] < total[1] ? 0 : 1; /* the better inner point */
		*(k == 0 ? &hi : &lo) = at[1 - k];
		at[1 - k] = at[k];
		total[1 - k] = total[k];
		at[k] = k == 0 ? hi - GOLDEN * (hi - lo) : lo + GOLDEN * (hi - lo);
		total[k] = try_sending(s, at[k]);
	}
	(void)try_sending(s, most_s);
	(void)try_sending(s, s->sending_s);
}

/* Keep the new shares if they are better. */
static void keep_better(search *s)
{
	const passes old = passes_of(s, s->in, s->out), new = passes_of(s, s->new_in, s->new_out);
	if (!(both_s(&new) < both_s(&old)))
		return;
	memcpy(s->in, s->new_in, s->n * sizeof *s->in);
	memcpy(s->out, s->new_out, s->n * sizeof *s->out);
}

/* Find the best shares to write for the current shares to read, then the best shares to read, then
 * the shares to write for these. Also try equal shares. Keep the best. */
static void find_best(search *s)
{
	const size_t bytes = s->n * sizeof *s->in;
	memcpy(s->new_in, s->in, bytes);
	bound_out(s);
	if (!s->b->in_fixed) {
		bound_in(s, passes_of(s, s->new_in, s->new_out).written_s);
		bound_out(s);
	}
	if (s->rc != ST_OK)
		return;
	keep_better(s);
	uint64_t rest = s->records % s->b->p;
	for (size_t i = 0; i < s->n; i++) {
		const uint64_t n = s->g[i].count, more = u64_min(rest, n);
		s->new_out[i] = s->records / s->b->p * n + more;
		rest -= more;
	}
	memcpy(s->new_in, s->b->in_fixed ? s->in : s->new_out, bytes);
	keep_better(s);
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
	enum { ARRAYS = 5 };
	uint64_t *all = calloc(b->p, ARRAYS * sizeof *all);
	search s = { .b = b,
		     .at = calloc(b->p, sizeof *s.at),
		     .g = calloc(b->p, sizeof *s.g),
		     .in = all,
		     .e = e };
	passes work = { 0 };
	if (!all || !s.at || !s.g) {
		s.rc = err_set(e, ST_RESOURCE, "no memory for a plan of %zu ranks", b->p);
	} else {
		s.out = s.in + b->p;
		s.new_in = s.out + b->p;
		s.new_out = s.new_in + b->p;
		s.most = s.new_out + b->p;
		make_groups(&s, in, out);
	}
	bound_ranks unbound = *b; /* without links and disks */
	unbound.disk_s = 0;
	for (size_t i = 0; i < s.n; i++) {
		group g = s.g[i];
		g.b = &unbound;
		g.like.rate.link_s = g.like.rate.disk_s = g.like.rate.input_s = 0;
		add_group(&work, g, s.in[i], s.out[i]);
	}
	const passes now = passes_of(&s, s.in, s.out);
	if (s.n > 0 && both_s(&now) > both_s(&work)) {
		find_best(&s);
		if (s.rc == ST_OK && !b->in_fixed)
			divide_groups(&s, s.in, in);
		if (s.rc == ST_OK)
			divide_groups(&s, s.out, out);
	}
	free(all);
	free(s.at);
	free(s.g);
	return s.rc;
}
