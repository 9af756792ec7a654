/* SPDX-License-Identifier: GPL-3.0-or-later */
/* op_scatter.c - the operations with one root: scatter, scatter-order, scatter-root, farm. */
#include "ops.h"

static const char *const scatter_methods[] = {
	[HETPART_SCATTER_AUTO] = "auto",
	[HETPART_SCATTER_DP] = "dp",
	[HETPART_SCATTER_DP_INCREASING] = "dp-increasing",
	[HETPART_SCATTER_WINDOW] = "window",
	[HETPART_SCATTER_MULTIRES] = "multires",
	[HETPART_SCATTER_LP] = "lp",
	[HETPART_SCATTER_CLOSED] = "closed",
	[HETPART_SCATTER_ALL_AT_ONCE] = "allatonce",
	[HETPART_SCATTER_TWO_PASS] = "twopass",
	[HETPART_SCATTER_GREEDY] = "greedy",
	[HETPART_SCATTER_FILL] = "fill",
	NULL,
};

/* Read the options of a scatter: method, minimums of n shares, quantum, and limits of planning. */
static bool scatter_opts(hp_job *job, size_t n, hetpart_scatter_opts *opts)
{
	size_t method = HETPART_SCATTER_AUTO;
	*opts = (hetpart_scatter_opts)HETPART_SCATTER_OPTS_INIT;
	if (!hp_choice(job, "method", scatter_methods, &method))
		return false;
	opts->method = (hetpart_scatter_method)method;
	return hp_bounds(job, "minimum", n, 0, &opts->minimums) &&
	       hp_quantum(job, &opts->quantum) &&
	       hp_plan_limits(job, &opts->time_limit_s, &opts->max_mem_bytes);
}

static bool op_scatter(hp_job *job)
{
	hetpart_scatter_opts opts;
	hetpart_scatter_proc *procs;
	hetpart_plan *plan = NULL;
	uint64_t items;
	size_t n;
	return hp_items(job, &items) && hp_procs(job, &procs, &n) && scatter_opts(job, n, &opts) &&
	       hp_put_planned(job, hetpart_scatter_create(&plan, items, procs, n, &opts, &job->err),
			      &plan);
}

static bool op_scatter_order(hp_job *job)
{
	hetpart_scatter_opts opts;
	hetpart_scatter_proc *procs, *served;
	hetpart_plan *plan = NULL;
	uint64_t items, *mins;
	size_t *order, n;
	if (!hp_items(job, &items) || !hp_procs(job, &procs, &n) || !scatter_opts(job, n, &opts) ||
	    !(order = hp_alloc(job, n, sizeof *order)) ||
	    !(mins = hp_alloc(job, n, sizeof *mins)) ||
	    !(served = hp_alloc(job, n, sizeof *served)) ||
	    !hp_lib(job, NULL, hetpart_scatter_order(order, items, procs, n, &job->err)))
		return false;
	for (size_t i = 0; i < n; i++) {
		served[i] = procs[order[i]];
		mins[i] = opts.minimums ? opts.minimums[order[i]] : 0;
	}
	if (opts.minimums)
		opts.minimums = mins;
	return hp_put_indices(job, "order", order, n) &&
	       hp_put_planned(job,
			      hetpart_scatter_create(&plan, items, served, n, &opts, &job->err),
			      &plan);
}

/* Read the matrix of links, whose diagonal is ignored. */
static bool read_links(hp_job *job, size_t n, const hetpart_cost ***out)
{
	const hp_at at = hp_top(job->in, "link");
	size_t rows = n, cells;
	if (!hp_array(job, &at, n, &rows))
		return false;
	if (__builtin_mul_overflow(n, n, &cells))
		return hp_fail(job, &at, "%zu rows are too many", n);
	if (!(*out = hp_alloc(job, cells, sizeof **out)))
		return false;
	for (size_t i = 0; i < n; i++) {
		const hp_at row = hp_entry(&at, i);
		size_t columns = n;
		if (!hp_array(job, &row, n, &columns))
			return false;
		for (size_t k = 0; k < n; k++) {
			const hp_at cell = hp_entry(&row, k);
			if (i != k && !((*out)[i * n + k] = hp_cost(job, &cell)))
				return false;
		}
	}
	return true;
}

/* The request of scatter-root. */
typedef struct rooted {
	uint64_t items;
	size_t n;
	const hetpart_cost **compute, **link, **from_store;
} rooted;

static bool read_rooted(hp_job *job, rooted *r)
{
	return hp_items(job, &r->items) && hp_costs(job, "compute", false, &r->compute, &r->n) &&
	       read_links(job, r->n, &r->link) &&
	       (!json_object_get(job->in, "from_store") ||
		hp_costs(job, "from_store", true, &r->from_store, &r->n));
}

static bool op_scatter_root(hp_job *job)
{
	rooted r = { .n = 0 };
	hetpart_scatter_opts opts;
	hetpart_plan *plan = NULL;
	size_t root, *order;
	double *total;
	if (!read_rooted(job, &r) || !(order = hp_alloc(job, r.n, sizeof *order)) ||
	    !(total = hp_alloc(job, r.n, sizeof *total)) || !scatter_opts(job, r.n, &opts))
		return false;
	const hetpart_status rc =
		hetpart_scatter_root(&plan, &root, order, total, r.items, r.compute, r.link,
				     r.from_store, r.n, &opts, &job->err);
	return hp_planned(job, rc, &plan) && hp_put(job, "root", json_integer((json_int_t)root)) &&
	       hp_put_indices(job, "order", order, r.n) && hp_put_plan(job, "shares", plan) &&
	       hp_put_reals(job, "total_by_root", total, r.n);
}

bool hp_farm(hp_job *job, hetpart_farm_watch *watch, void *ctx, hetpart_plan **plan)
{
	/* in the order of hetpart_chunk_rule */
	static const char *const names[] = { "fixed", "guided", "factoring", NULL };
	hetpart_limits limits = HETPART_LIMITS_INIT;
	hetpart_scatter_proc *procs;
	hetpart_worker *workers;
	uint64_t items, chunk = 1;
	size_t n, rule = HETPART_CHUNK_FIXED;
	if (!json_object_get(job->in, "chunk") && !json_object_get(job->in, "rule"))
		return hp_fail(job, NULL, "'chunk' and 'rule' are missing: give one or both");
	if (!hp_items(job, &items) || !hp_choice(job, "rule", names, &rule) ||
	    !hp_optional(job, "chunk", 1, HETPART_ITEMS_MAX, &chunk) ||
	    !hp_time_limit(job, &limits.time_limit_s) || !hp_procs(job, &procs, &n) ||
	    !(workers = hp_alloc(job, n, sizeof *workers)))
		return false;
	for (size_t i = 0; i < n; i++)
		workers[i] = (hetpart_worker){ procs[i].compute, procs[i].link };
	const hetpart_status rc =
		hetpart_farm_trace_within(plan, items, workers, n, (hetpart_chunk_rule)rule, chunk,
					  watch, ctx, &limits, &job->err);
	return hp_planned(job, rc, plan);
}

static bool op_farm(hp_job *job)
{
	hetpart_plan *plan;
	return hp_farm(job, NULL, NULL, &plan) && hp_put_plan(job, "shares", plan);
}

/* Set the times at which processors end if the root sends one share after another. */
static void ends_served(const hp_job *job, const hetpart_scatter_proc *procs, const uint64_t *share,
			size_t n, double *time)
{
	long double port = 0; /* when the root's port is free */
	for (size_t j = 0; j < n; j++) {
		const hetpart_scatter_proc *const p = &procs[hp_served(job, j)];
		port += p->link ? hetpart_cost_eval(p->link, share[j]) : 0;
		time[j] = (double)(port + hetpart_cost_eval(p->compute, share[j]));
	}
}

static bool ends_scatter(hp_job *job, const uint64_t *share, size_t n, double *time)
{
	const hp_at at = hp_top(job->in, "processors");
	hetpart_scatter_proc *procs;
	size_t all;
	if (!hp_procs(job, &procs, &all))
		return false;
	if (all != n)
		return hp_fail(job, &at, "%zu entries, must be %zu", all, n);
	ends_served(job, procs, share, n, time);
	return true;
}

static bool ends_scatter_root(hp_job *job, const uint64_t *share, size_t n, double *time)
{
	const size_t root = (size_t)json_integer_value(json_object_get(job->out, "root"));
	rooted r = { .n = n };
	hetpart_scatter_proc *procs;
	if (!read_rooted(job, &r) || !(procs = hp_alloc(job, n, sizeof *procs)))
		return false;
	for (size_t i = 0; i < n; i++)
		procs[i] = (hetpart_scatter_proc){ r.compute[i],
						   i == root ? NULL : r.link[root * n + i] };
	ends_served(job, procs, share, n, time);
	return true;
}

static bool ends_farm(hp_job *job, const uint64_t *share, size_t n, double *time)
{
	const hp_at at = { .key = "shares" };
	hetpart_plan *plan;
	if (!hp_farm(job, NULL, NULL, &plan))
		return false;
	if (hetpart_plan_nprocs(plan) != n)
		return hp_fail(job, &at, "%zu entries, must be %zu", n, hetpart_plan_nprocs(plan));
	for (size_t i = 0; i < n; i++) {
		const hp_at entry = hp_entry(&at, i);
		if (hetpart_plan_share(plan, i) != share[i])
			return hp_fail(job, &entry,
				       "the share that the farm hands out is different");
		time[i] = hetpart_plan_time(plan, i);
	}
	return true;
}

/* clang-format off */
const hp_op hp_ops_scatter[] = {
	{ "scatter", "scatter", op_scatter, ends_scatter,
	  { "op", "id", "names", "items", "processors", "method", "minimum", "quantum",
	    HP_LIMIT_KEYS, NULL },
	  scatter_methods + 1 },
	{ "scatter-order", "scatter", op_scatter_order, ends_scatter,
	  { "op", "id", "names", "items", "processors", "method", "minimum", "quantum",
	    HP_LIMIT_KEYS, NULL },
	  scatter_methods + 1 },
	{ "scatter-root", "scatter", op_scatter_root, ends_scatter_root,
	  { "op", "id", "names", "items", "compute", "link", "from_store", "method", "minimum",
	    "quantum", HP_LIMIT_KEYS, NULL },
	  scatter_methods + 1 },
	{ "farm", "scatter", op_farm, ends_farm,
	  { "op", "id", "names", "items", "processors", "chunk", "rule", "time_limit_s", NULL },
	  NULL },
	{ .name = NULL }
};
/* clang-format on */
