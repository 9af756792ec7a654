/* SPDX-License-Identifier: GPL-3.0-or-later */
/* op_chain.c - the operations on a chain: chain, chain-replay. */
#include "ops.h"

/* The members of an answer that have a number for each installment and each processor or link. */
static const char *const cell_keys[] = { "fractions", "comm_start", "comm_end", "comp_start",
					 "comp_end" };
typedef enum cell_kind { FRACTION, COMM_START, COMM_END, COMP_START, COMP_END } cell_kind;

/* Return a number of the schedule; 0 if it has none for that installment and processor. */
static double cell_value(const hetpart_schedule *s, cell_kind kind, size_t load, size_t inst,
			 size_t i)
{
	double start = 0, end = 0;
	if (kind == FRACTION)
		return hetpart_schedule_fraction(s, load, inst, i);
	if (!(kind == COMM_START || kind == COMM_END
		      ? hetpart_schedule_comm(s, load, inst, i, &start, &end)
		      : hetpart_schedule_comp(s, load, inst, i, &start, &end)))
		return 0;
	return kind == COMM_START || kind == COMP_START ? start : end;
}

/* Add a member of the answer: an array [load][installment][i], with i < n. */
static bool put_cells(hp_job *job, const hetpart_schedule *s, cell_kind kind, size_t n)
{
	json_t *const loads = json_array();
	bool ok = hp_put(job, cell_keys[kind], loads);
	for (size_t l = 0; ok && l < hetpart_schedule_nloads(s); l++) {
		json_t *const rows = json_array();
		ok = hp_append(job, loads, rows);
		for (size_t j = 0; ok && j < hetpart_schedule_installments(s, l); j++) {
			json_t *const row = json_array();
			ok = hp_append(job, rows, row);
			for (size_t i = 0; ok && i < n; i++)
				ok = hp_append(job, row,
					       hp_json_real(cell_value(s, kind, l, j, i)));
		}
	}
	return ok;
}

/* In the order of hetpart_chain_method. */
static const char *const chain_methods[] = { "lp", "simple", "singleinst", "multiinst", NULL };

/* In the order of hetpart_objective. */
static const char *const objectives[] = { "makespan", "flow", NULL };

/* Add the makespan, the end of each load, and the flow. */
static bool put_ends(hp_job *job, const hetpart_schedule *s)
{
	const size_t n = hetpart_schedule_nloads(s);
	double *const end = hp_alloc(job, n, sizeof *end);
	for (size_t l = 0; end && l < n; l++)
		end[l] = hetpart_schedule_load_end(s, l);
	return end && hp_put(job, "makespan", hp_json_real(hetpart_schedule_makespan(s))) &&
	       hp_put_reals(job, "load_ends", end, n) &&
	       hp_put(job, "flow", hp_json_real(hetpart_schedule_flow(s)));
}

static bool op_chain(hp_job *job)
{
	const uint64_t limit = job->limits->installments;
	hetpart_chain_opts opts = HETPART_CHAIN_OPTS_INIT;
	hetpart_schedule *s = NULL;
	hetpart_chain c;
	uint64_t max = 0;
	size_t method = HETPART_CHAIN_LP, objective = HETPART_OBJECTIVE_MAKESPAN;
	if (!hp_chain(job, &c) || !hp_choice(job, "method", chain_methods, &method) ||
	    !hp_choice(job, "objective", objectives, &objective) ||
	    !hp_optional(job, "max_installments", 0, UINT32_MAX, &max) ||
	    !hp_plan_limits(job, &opts.limit_s, &opts.max_mem_bytes))
		return false;
	opts.max_installments = (size_t)(limit && (max == 0 || max > limit) ? limit : max);
	opts.method = (hetpart_chain_method)method;
	opts.objective = (hetpart_objective)objective;
	if (!hp_lib(job, NULL, hetpart_chain_create(&s, &c, &opts, &job->err)) ||
	    !hp_own(job, HP_SCHEDULE, s))
		return false;
	size_t n = 0; /* an answer may not exceed the limits of a request */
	if (!hetpart_schedule_fractions(s, &n) || n > job->limits->values)
		return hp_fail(
			job, NULL,
			"the answer has '%zu' fractions, more than %zu: set max_installments", n,
			job->limits->values);
	return hp_put(job, "method", json_string(hetpart_schedule_method(s))) &&
	       put_cells(job, s, FRACTION, hetpart_schedule_nprocs(s)) && put_ends(job, s) &&
	       hp_put(job, "planned_makespan",
		      hp_json_real(hetpart_schedule_planned_makespan(s))) &&
	       hp_put(job, "planned_flow", hp_json_real(hetpart_schedule_planned_flow(s))) &&
	       hp_put(job, "lower_bound", hp_json_real(hetpart_schedule_lower_bound(s))) &&
	       hp_put_stopped(job, hetpart_schedule_stopped(s));
}

/* Read the fractions of all loads into *out, in the order of load, installment and processor.
 * Without "installments" in the request, count the installments of each load. */
static bool replay_fractions(hp_job *job, hetpart_chain *c, double **out, size_t *total)
{
	const hp_at at = hp_top(job->in, "fractions");
	size_t *const counts = hp_alloc(job, c->nloads, sizeof *counts);
	size_t loads = c->nloads, add, used = 0;
	*total = 0;
	if (!counts || !hp_array(job, &at, loads, &loads))
		return false;
	for (size_t l = 0; l < c->nloads; l++) {
		const hp_at load = hp_entry(&at, l);
		counts[l] = c->installments ? c->installments[l] : 0;
		if (!hp_array(job, &load, job->limits->values, &counts[l]))
			return false;
		if (counts[l] == 0)
			return hp_fail(job, &load, "no installments, must be at least 1");
		if (__builtin_mul_overflow(counts[l], c->nprocs, &add) ||
		    __builtin_add_overflow(*total, add, total))
			return hp_fail(job, &load, "too many fractions");
	}
	c->installments = counts;
	if (!(*out = hp_alloc(job, *total, sizeof **out)))
		return false;
	for (size_t l = 0; l < c->nloads; l++) {
		const hp_at load = hp_entry(&at, l);
		for (size_t j = 0; j < counts[l]; j++) {
			const hp_at row = hp_entry(&load, j);
			size_t n = c->nprocs;
			if (!hp_array(job, &row, n, &n))
				return false;
			for (size_t i = 0; i < n; i++) {
				const hp_at cell = hp_entry(&row, i);
				if (!hp_real(job, &cell, &(*out)[used++]))
					return false;
			}
		}
	}
	return true;
}

static bool op_chain_replay(hp_job *job)
{
	hetpart_schedule *s = NULL;
	hetpart_chain c;
	double *fractions;
	size_t n;
	if (!hp_chain(job, &c) || !replay_fractions(job, &c, &fractions, &n) ||
	    !hp_lib(job, NULL, hetpart_chain_replay(&s, &c, fractions, n, &job->err)) ||
	    !hp_own(job, HP_SCHEDULE, s))
		return false;
	n = hetpart_schedule_nprocs(s);
	return put_ends(job, s) && put_cells(job, s, COMM_START, n - 1) &&
	       put_cells(job, s, COMM_END, n - 1) && put_cells(job, s, COMP_START, n) &&
	       put_cells(job, s, COMP_END, n);
}

bool hp_chain_dates(hp_job *job, hp_job *dates)
{
	json_t *const in = json_copy(job->in), *const planned =
						       json_object_get(job->out, "fractions");
	if (!hp_job_init(dates, job->limits, in) || !in)
		return hp_no_memory(job);
	json_object_del(in, "installments"); /* the plan may have fewer */
	if (planned && json_object_set(in, "fractions", planned) != 0)
		return hp_no_memory(job);
	return op_chain_replay(dates) || hp_fail(job, NULL, "%s", dates->text);
}

/* clang-format off */
#define CHAIN_KEYS                                                                            \
	"op", "id", "names", "w", "w_load", "z", "tau", "latency", "vcomm", "vcomp", "release", \
	"weight", "installments"
const hp_op hp_ops_chain[] = {
	{ "chain", "chain", op_chain, NULL,
	  { CHAIN_KEYS, "method", "objective", "max_installments", HP_LIMIT_KEYS, NULL },
	  chain_methods },
	{ "chain-replay", "chain", op_chain_replay, NULL,
	  { CHAIN_KEYS, "fractions", NULL },
	  NULL },
	{ .name = NULL }
};
/* clang-format on */
