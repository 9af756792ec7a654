/* SPDX-License-Identifier: GPL-3.0-or-later */
/* op_chain.c - operations on a chain: chain, chain-replay.
 * May not touch: how they are planned. Costs what the library's planner costs. */
#include "ops.h"

/* A number of one installment and processor, or link. */
typedef double cell(const hetpart_schedule *s, size_t load, size_t inst, size_t i);

static double fraction(const hetpart_schedule *s, size_t load, size_t inst, size_t i)
{
	return hetpart_schedule_fraction(s, load, inst, i);
}

static double comm_start(const hetpart_schedule *s, size_t load, size_t inst, size_t i)
{
	double x = 0;

	return hetpart_schedule_comm(s, load, inst, i, &x, NULL) ? x : 0;
}

static double comm_end(const hetpart_schedule *s, size_t load, size_t inst, size_t i)
{
	double x = 0;

	return hetpart_schedule_comm(s, load, inst, i, NULL, &x) ? x : 0;
}

static double comp_start(const hetpart_schedule *s, size_t load, size_t inst, size_t i)
{
	double x = 0;

	return hetpart_schedule_comp(s, load, inst, i, &x, NULL) ? x : 0;
}

static double comp_end(const hetpart_schedule *s, size_t load, size_t inst, size_t i)
{
	double x = 0;

	return hetpart_schedule_comp(s, load, inst, i, NULL, &x) ? x : 0;
}

static bool add_row(json_t *rows, const hetpart_schedule *s, size_t load, size_t inst, size_t n,
		    cell *get)
{
	json_t *row = json_array();

	if (json_array_append_new(rows, row) != 0)
		return false;
	for (size_t i = 0; i < n; i++)
		if (json_array_append_new(row, hp_json_real(get(s, load, inst, i))) != 0)
			return false;
	return true;
}

/* [load][installment][n]. */
static bool put_cells(struct hp_job *job, const char *key, const hetpart_schedule *s, size_t n,
		      cell *get)
{
	json_t *loads = json_array();

	if (!hp_put(job, key, loads))
		return false;
	for (size_t l = 0; l < hetpart_schedule_nloads(s); l++) {
		json_t *rows = json_array();
		if (json_array_append_new(loads, rows) != 0)
			return hp_fail(job, NULL, "out of memory for '%s'", key);
		for (size_t j = 0; j < hetpart_schedule_installments(s, l); j++)
			if (!add_row(rows, s, l, j, n, get))
				return hp_fail(job, NULL, "out of memory for '%s'", key);
	}
	return true;
}

/* An answer is bounded as a request is. */
static bool fits_answer(struct hp_job *job, const hetpart_schedule *s)
{
	size_t n = 0;

	return (hetpart_schedule_fractions(s, &n) && n <= job->limits->values) ||
	       hp_fail(job, NULL,
		       "the answer has '%zu' fractions, more than %zu: set max_installments", n,
		       job->limits->values);
}

static bool max_installments(struct hp_job *job, size_t *max)
{
	const struct hp_at at = { NULL, "max_installments", 0 };
	const json_t *v = json_object_get(job->in, "max_installments");
	uint64_t x = 0, limit = job->limits->installments;

	if (v && !hp_whole(job, v, &at, 0, UINT32_MAX, &x))
		return false;
	if (limit && (x == 0 || x > limit))
		x = limit;
	*max = (size_t)x;
	return true;
}

static bool chain(struct hp_job *job)
{
	static const char *const names[] = { "lp", "simple", "singleinst", "multiinst", NULL };
	static const hetpart_chain_method methods[] = { HETPART_CHAIN_LP, HETPART_CHAIN_SIMPLE,
							HETPART_CHAIN_SINGLEINST,
							HETPART_CHAIN_MULTIINST };
	hetpart_chain_opts opts = HETPART_CHAIN_OPTS_INIT;
	hetpart_schedule *s = NULL;
	hetpart_chain c;
	hetpart_status rc;
	hetpart_err err;
	size_t method = 0;

	if (!hp_chain(job, &c) || !hp_choice(job, "method", names, &method) ||
	    !max_installments(job, &opts.max_installments))
		return false;
	opts.method = methods[method];
	if (!hp_plan_limits(job, &opts.limit_s, &opts.max_mem_bytes))
		return false;
	rc = hetpart_chain_create(&s, &c, &opts, &err);
	return hp_lib(job, NULL, rc, &err) && hp_own_schedule(job, s) && fits_answer(job, s) &&
	       hp_put(job, "method", json_string(hetpart_schedule_method(s))) &&
	       put_cells(job, "fractions", s, hetpart_schedule_nprocs(s), fraction) &&
	       hp_put(job, "makespan", hp_json_real(hetpart_schedule_makespan(s))) &&
	       hp_put(job, "planned_makespan",
		      hp_json_real(hetpart_schedule_planned_makespan(s))) &&
	       hp_put(job, "lower_bound", hp_json_real(hetpart_schedule_lower_bound(s))) &&
	       hp_put_stopped(job, hetpart_schedule_stopped(s));
}

/* fractions[load] into out; without "installments" in the request, as many as there are. */
static bool read_load(struct hp_job *job, const json_t *v, const struct hp_at *at, size_t inst,
		      size_t procs, double *out)
{
	for (size_t k = 0; k < inst * procs; k++) {
		const struct hp_at row = { at, NULL, k / procs }, here = { &row, NULL, k % procs };
		const json_t *list = json_array_get(v, k / procs);
		size_t n = procs;
		if (k % procs == 0 && !hp_array(job, list, &row, procs, &n))
			return false;
		if (!hp_real(job, json_array_get(list, k % procs), &here, &out[k]))
			return false;
	}
	return true;
}

/* The number of installments of each load, and of all fractions. */
static bool count(struct hp_job *job, const json_t *v, hetpart_chain *c, size_t *total)
{
	const struct hp_at at = { NULL, "fractions", 0 };
	size_t *counts = hp_alloc(job, c->nloads, sizeof *counts), loads = c->nloads, add;

	*total = 0;
	if (!counts || !hp_array(job, v, &at, loads, &loads))
		return false;
	for (size_t l = 0; l < c->nloads; l++) {
		const struct hp_at here = { &at, NULL, l };
		counts[l] = c->installments ? c->installments[l] : 0;
		if (!hp_array(job, json_array_get(v, l), &here, job->limits->values, &counts[l]))
			return false;
		if (counts[l] == 0)
			return hp_fail(job, &here, "want at least 1 installment");
		if (__builtin_mul_overflow(counts[l], c->nprocs, &add) ||
		    __builtin_add_overflow(*total, add, total))
			return hp_fail(job, &here, "too many fractions");
	}
	c->installments = counts;
	return true;
}

static bool read_fractions(struct hp_job *job, hetpart_chain *c, double **out, size_t *total)
{
	const struct hp_at at = { NULL, "fractions", 0 };
	const json_t *v = hp_need(job, job->in, NULL, "fractions");
	size_t used = 0;

	if (!v || !count(job, v, c, total) || !(*out = hp_alloc(job, *total, sizeof **out)))
		return false;
	for (size_t l = 0; l < c->nloads; l++) {
		const struct hp_at here = { &at, NULL, l };
		if (!read_load(job, json_array_get(v, l), &here, c->installments[l], c->nprocs,
			       *out + used))
			return false;
		used += c->installments[l] * c->nprocs;
	}
	return true;
}

static bool replay(struct hp_job *job)
{
	hetpart_schedule *s = NULL;
	hetpart_chain c;
	hetpart_status rc;
	hetpart_err err;
	double *fractions;
	size_t n, p;

	if (!hp_chain(job, &c) || !read_fractions(job, &c, &fractions, &n))
		return false;
	rc = hetpart_chain_replay(&s, &c, fractions, n, &err);
	if (!hp_lib(job, NULL, rc, &err) || !hp_own_schedule(job, s))
		return false;
	p = hetpart_schedule_nprocs(s);
	return hp_put(job, "makespan", hp_json_real(hetpart_schedule_makespan(s))) &&
	       put_cells(job, "comm_start", s, p - 1, comm_start) &&
	       put_cells(job, "comm_end", s, p - 1, comm_end) &&
	       put_cells(job, "comp_start", s, p, comp_start) &&
	       put_cells(job, "comp_end", s, p, comp_end);
}

bool hp_chain_dates(struct hp_job *job, struct hp_job *dates)
{
	json_t *in = json_copy(job->in), *planned = json_object_get(job->out, "fractions");
	bool ok;

	if (!hp_job_init(dates, job->limits, in) || !in)
		return hp_fail(job, NULL, "out of memory");
	if (json_object_get(in, "installments")) /* the plan may have fewer */
		json_object_del(in, "installments");
	ok = !planned || json_object_set(in, "fractions", planned) == 0;
	if (!ok)
		return hp_fail(job, NULL, "out of memory");
	return replay(dates) || hp_fail(job, NULL, "%s", dates->text);
}

/* clang-format off */
const struct hp_op hp_ops_chain[] = {
	{ "chain", "chain", chain, NULL,
	  { "op", "id", "names", "w", "z", "tau", "latency", "vcomm", "vcomp", "installments",
	    "method", "max_installments", "time_limit_s", "max_mem_bytes", NULL },
	  { "lp", "simple", "singleinst", "multiinst", NULL } },
	{ "chain-replay", "chain", replay, NULL,
	  { "op", "id", "names", "w", "z", "tau", "latency", "vcomm", "vcomp", "installments",
	    "fractions", NULL },
	  { NULL } },
	{ NULL, NULL, NULL, NULL, { NULL }, { NULL } }
};
/* clang-format on */
