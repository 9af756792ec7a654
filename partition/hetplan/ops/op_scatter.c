/* SPDX-License-Identifier: GPL-3.0-or-later */
/* op_scatter.c - operations with one root: scatter, scatter-order, scatter-root, farm.
 * May not touch: how they are planned. Costs what the library's planner costs. */
#include "ops.h"

/* clang-format off */
static const char *const method_names[] = {
	"auto", "dp", "dp-increasing", "window", "multires", "lp", "closed", "allatonce", "twopass",
	"greedy", "fill", NULL
};
/* clang-format on */
static const hetpart_scatter_method method_values[] = {
	HETPART_SCATTER_AUTO,   HETPART_SCATTER_DP,          HETPART_SCATTER_DP_INCREASING,
	HETPART_SCATTER_WINDOW, HETPART_SCATTER_MULTIRES,    HETPART_SCATTER_LP,
	HETPART_SCATTER_CLOSED, HETPART_SCATTER_ALL_AT_ONCE, HETPART_SCATTER_TWO_PASS,
	HETPART_SCATTER_GREEDY, HETPART_SCATTER_FILL,
};

static bool own_plan(struct hp_job *job, hetpart_status rc, hetpart_plan *plan,
		     const hetpart_err *err)
{
	return hp_lib(job, NULL, rc, err) && hp_own_plan(job, plan);
}

static bool read_opts(struct hp_job *job, size_t n, hetpart_scatter_opts *opts)
{
	size_t method = 0;

	*opts = (hetpart_scatter_opts)HETPART_SCATTER_OPTS_INIT;
	if (!hp_choice(job, "method", method_names, &method))
		return false;
	opts->method = method_values[method];
	return hp_bounds(job, "minimum", n, 0, &opts->minimums) &&
	       hp_quantum(job, &opts->quantum) &&
	       hp_plan_limits(job, &opts->time_limit_s, &opts->max_mem_bytes);
}

static bool plan_of(struct hp_job *job, uint64_t items, const hetpart_scatter_proc *procs, size_t n,
		    const hetpart_scatter_opts *opts)
{
	hetpart_plan *plan = NULL;
	hetpart_err err;
	hetpart_status rc = hetpart_scatter_create(&plan, items, procs, n, opts, &err);

	return own_plan(job, rc, plan, &err) && hp_put_plan(job, "shares", plan);
}

static bool scatter(struct hp_job *job)
{
	hetpart_scatter_opts opts;
	hetpart_scatter_proc *procs;
	uint64_t items;
	size_t n;

	return hp_items(job, &items) && hp_procs(job, &procs, &n) && read_opts(job, n, &opts) &&
	       plan_of(job, items, procs, n, &opts);
}

static bool scatter_order(struct hp_job *job)
{
	hetpart_scatter_opts opts;
	hetpart_scatter_proc *procs, *served;
	uint64_t items, *mins;
	size_t *order, n;
	hetpart_err err;

	if (!hp_items(job, &items) || !hp_procs(job, &procs, &n) || !read_opts(job, n, &opts) ||
	    !(order = hp_alloc(job, n, sizeof *order)) ||
	    !(mins = hp_alloc(job, n, sizeof *mins)) ||
	    !(served = hp_alloc(job, n, sizeof *served)) ||
	    !hp_lib(job, NULL, hetpart_scatter_order(order, items, procs, n, &err), &err))
		return false;
	for (size_t i = 0; i < n; i++) {
		served[i] = procs[order[i]];
		mins[i] = opts.minimums ? opts.minimums[order[i]] : 0;
	}
	if (opts.minimums)
		opts.minimums = mins;
	return hp_put_indices(job, "order", order, n) && plan_of(job, items, served, n, &opts);
}

/* The matrix of links; what stands on the diagonal is not looked at. */
static bool links(struct hp_job *job, size_t n, const hetpart_cost ***out)
{
	const struct hp_at at = { NULL, "link", 0 };
	const json_t *v = hp_need(job, job->in, NULL, "link");
	size_t rows = n, cells;

	if (!v || !hp_array(job, v, &at, n, &rows))
		return false;
	if (__builtin_mul_overflow(n, n, &cells))
		return hp_fail(job, &at, "%zu rows are too many", n);
	if (!(*out = hp_alloc(job, cells, sizeof **out)))
		return false;
	for (size_t k = 0; k < cells; k++) {
		const struct hp_at row = { &at, NULL, k / n }, here = { &row, NULL, k % n };
		const json_t *list = json_array_get(v, k / n);
		size_t columns = n;
		if (k % n == 0 && !hp_array(job, list, &row, n, &columns))
			return false;
		if (k / n != k % n &&
		    !((*out)[k] = hp_cost(job, json_array_get(list, k % n), &here)))
			return false;
	}
	return true;
}

struct rooted {
	uint64_t items;
	size_t n, root, *order;
	const hetpart_cost **compute, **link, **from_store;
	double *total;
};

static bool read_rooted(struct hp_job *job, struct rooted *r)
{
	if (!hp_items(job, &r->items) || !hp_costs(job, "compute", false, &r->compute, &r->n) ||
	    !links(job, r->n, &r->link))
		return false;
	if (json_object_get(job->in, "from_store") &&
	    !hp_costs(job, "from_store", true, &r->from_store, &r->n))
		return false;
	return (r->order = hp_alloc(job, r->n, sizeof *r->order)) &&
	       (r->total = hp_alloc(job, r->n, sizeof *r->total));
}

static bool scatter_root(struct hp_job *job)
{
	struct rooted r = { .n = 0 };
	hetpart_scatter_opts opts;
	hetpart_plan *plan = NULL;
	hetpart_status rc;
	hetpart_err err;

	if (!read_rooted(job, &r) || !read_opts(job, r.n, &opts))
		return false;
	rc = hetpart_scatter_root(&plan, &r.root, r.order, r.total, r.items, r.compute, r.link,
				  r.from_store, r.n, &opts, &err);
	return own_plan(job, rc, plan, &err) &&
	       hp_put(job, "root", json_integer((json_int_t)r.root)) &&
	       hp_put_indices(job, "order", r.order, r.n) && hp_put_plan(job, "shares", plan) &&
	       hp_put_reals(job, "total_by_root", r.total, r.n);
}

bool hp_farm(struct hp_job *job, hetpart_farm_watch *watch, void *ctx, hetpart_plan **plan)
{
	static const char *const names[] = { "fixed", "guided", "factoring", NULL };
	static const hetpart_chunk_rule rules[] = { HETPART_CHUNK_FIXED, HETPART_CHUNK_GUIDED,
						    HETPART_CHUNK_FACTORING };
	const struct hp_at at = { NULL, "chunk", 0 };
	const json_t *v = json_object_get(job->in, "chunk");
	hetpart_limits limits = HETPART_LIMITS_INIT;
	hetpart_scatter_proc *procs;
	hetpart_worker *workers;
	hetpart_status rc;
	hetpart_err err;
	uint64_t items, chunk = 1;
	size_t n, rule = 0;

	if (!v && !json_object_get(job->in, "rule"))
		return hp_fail(job, NULL, "want 'chunk' or 'rule', or both");
	if (!hp_items(job, &items) || !hp_choice(job, "rule", names, &rule) ||
	    (v && !hp_whole(job, v, &at, 1, HETPART_ITEMS_MAX, &chunk)) ||
	    !hp_time_limit(job, &limits.time_limit_s) || !hp_procs(job, &procs, &n) ||
	    !(workers = hp_alloc(job, n, sizeof *workers)))
		return false;
	for (size_t i = 0; i < n; i++)
		workers[i] = (hetpart_worker){ procs[i].compute, procs[i].link };
	rc = hetpart_farm_trace_within(plan, items, workers, n, rules[rule], chunk, watch, ctx,
				       &limits, &err);
	return own_plan(job, rc, *plan, &err);
}

static bool farm(struct hp_job *job)
{
	hetpart_plan *plan;

	return hp_farm(job, NULL, NULL, &plan) && hp_put_plan(job, "shares", plan);
}

/* Index of the processor that is served as number j. */
static size_t served(const struct hp_job *job, size_t j)
{
	const json_t *order = json_object_get(job->out, "order");

	return order ? (size_t)json_integer_value(json_array_get(order, j)) : j;
}

/* Served one after the other; links and computations by the number of the processor. */
static void one_by_one(const struct hp_job *job, const hetpart_scatter_proc *procs,
		       const uint64_t *share, size_t n, double *time)
{
	long double port = 0;

	for (size_t j = 0; j < n; j++) {
		const hetpart_scatter_proc *p = &procs[served(job, j)];
		port += p->link ? hetpart_cost_eval(p->link, share[j]) : 0;
		time[j] = (double)(port + hetpart_cost_eval(p->compute, share[j]));
	}
}

static bool from_root(struct hp_job *job, const uint64_t *share, size_t n, double *time)
{
	const struct hp_at at = { NULL, "processors", 0 };
	hetpart_scatter_proc *procs;
	size_t all;

	if (!hp_procs(job, &procs, &all))
		return false;
	if (all != n)
		return hp_fail(job, &at, "%zu entries, want %zu", all, n);
	one_by_one(job, procs, share, n, time);
	return true;
}

static bool from_best_root(struct hp_job *job, const uint64_t *share, size_t n, double *time)
{
	size_t root = (size_t)json_integer_value(json_object_get(job->out, "root"));
	struct rooted r = { .n = n };
	hetpart_scatter_proc *procs;

	if (!read_rooted(job, &r) || !(procs = hp_alloc(job, n, sizeof *procs)))
		return false;
	for (size_t i = 0; i < n; i++)
		procs[i] = (hetpart_scatter_proc){ r.compute[i],
						   i == root ? NULL : r.link[root * n + i] };
	one_by_one(job, procs, share, n, time);
	return true;
}

static bool farm_again(struct hp_job *job, const uint64_t *share, size_t n, double *time)
{
	const struct hp_at at = { NULL, "shares", 0 };
	hetpart_plan *plan;

	if (!hp_farm(job, NULL, NULL, &plan))
		return false;
	if (hetpart_plan_nprocs(plan) != n)
		return hp_fail(job, &at, "%zu entries, want %zu", n, hetpart_plan_nprocs(plan));
	for (size_t i = 0; i < n; i++) {
		const struct hp_at here = { &at, NULL, i };
		if (hetpart_plan_share(plan, i) != share[i])
			return hp_fail(job, &here, "the farm hands out another share");
		time[i] = hetpart_plan_time(plan, i);
	}
	return true;
}

/* clang-format off */
#define METHODS { "dp", "dp-increasing", "window", "multires", "lp", "closed", "allatonce", \
		  "twopass", "greedy", "fill", NULL }

const struct hp_op hp_ops_scatter[] = {
	{ "scatter", "scatter", scatter, from_root,
	  { "op", "id", "names", "items", "processors", "method", "minimum", "quantum",
	    LIMITS, NULL },
	  METHODS },
	{ "scatter-order", "scatter", scatter_order, from_root,
	  { "op", "id", "names", "items", "processors", "method", "minimum", "quantum",
	    LIMITS, NULL },
	  METHODS },
	{ "scatter-root", "scatter", scatter_root, from_best_root,
	  { "op", "id", "names", "items", "compute", "link", "from_store", "method", "minimum",
	    "quantum", LIMITS, NULL },
	  METHODS },
	{ "farm", "scatter", farm, farm_again,
	  { "op", "id", "names", "items", "processors", "chunk", "rule", "time_limit_s", NULL },
	  { NULL } },
	{ NULL, NULL, NULL, NULL, { NULL }, { NULL } }
};
/* clang-format on */
