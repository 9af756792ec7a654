/* SPDX-License-Identifier: GPL-3.0-or-later */
/* share.c - shares without communication for processors of known speed: check, choose the method,
 * round, report. May not touch: the arithmetic of any method. Costs O(p) beside the method. */
#include <inttypes.h>
#include <math.h>

#include "share.h"
#include "unrelated/unrelated.h"

struct job {
	hetpart_plan *plan;
	struct procs ps;
	uint64_t items;
	hetpart_opts opts;
};

static hetpart_status check_speeds(const double *speeds, size_t n, int *shift, hetpart_err *err)
{
	double most = 0;

	for (size_t i = 0; i < n; i++) {
		if (!(isfinite(speeds[i]) && speeds[i] > 0))
			return part_fail(err, HETPART_EINVAL,
					 "speed of processor %zu is '%g': want a finite number "
					 "above 0",
					 i, speeds[i]);
		most = fmax(most, speeds[i]);
	}
	frexp(most, shift);
	return HETPART_OK;
}

static bool is_free(const hetpart_cost *c)
{
	double startup, per_item;
	return hetpart_cost_is_affine(c, &startup, &per_item) && startup == 0 && per_item == 0;
}

static hetpart_status check(const struct job *j, hetpart_err *err)
{
	const struct procs *ps = &j->ps;
	hetpart_method m = j->opts.method;
	bool formula = m == HETPART_METHOD_TAYLOR || m == HETPART_METHOD_ASYMPTOTIC;

	if (is_free(ps->cost))
		return part_fail(err, HETPART_EINVAL, "the cost is free: any shares would do");
	if (formula && ps->cost->kind != COST_NLOGN)
		return part_fail(err, HETPART_EINVAL, "the method is for the cost n ln n only");
	if (formula && ps->caps)
		return part_fail(err, HETPART_EINVAL, "the method knows no capacities");
	if (m == HETPART_METHOD_PROPORTIONAL && !ps->cost->increasing)
		return part_fail(err, HETPART_EINVAL, "the method needs an increasing cost");
	return part_check_caps(ps, j->items, err);
}

static void floors(const struct job *j)
{
	for (size_t i = 0; i < j->ps.n; i++)
		j->plan->share[i] = whole_part(&j->ps, i, j->items, j->plan->real[i]);
}

static hetpart_status by_threshold(struct job *j, hetpart_err *err)
{
	j->plan->method = "threshold";
	for (size_t i = 0; i < j->ps.n; i++)
		j->plan->real[i] = NAN;
	return part_threshold(&j->ps, j->items, j->plan->share, err);
}

/* Real shares where the cost has an inverse, and the best whole shares from there. */
static hetpart_status by_equal_time(struct job *j, hetpart_err *err)
{
	long double t = 0;
	bool too_far;
	hetpart_status rc = part_equal_time(&j->ps, j->items, j->plan->real, &t, err);

	if (rc == HETPART_ENOSOL) /* real shares are beyond a double's range, whole ones are not */
		return by_threshold(j, err);
	if (rc != HETPART_OK)
		return rc;
	j->plan->real_makespan = (double)(t * j->ps.cost->scale * j->ps.unit);
	part_initial_rounding(&j->ps, j->items, j->plan->real, j->plan->share);
	rc = part_round_exact(&j->ps, j->items, j->plan->share, &too_far, err);
	if (rc == HETPART_OK && too_far)
		rc = part_threshold(&j->ps, j->items, j->plan->share, err);
	return rc;
}

static hetpart_status by_exact(struct job *j, hetpart_err *err)
{
	const hetpart_cost *c = j->ps.cost;

	if (c->kind == COST_NLOGN)
		j->plan->method = "exact, Lambert W";
	else if (hetpart_cost_is_linear(c))
		j->plan->method = "exact, D'Hondt";
	else if (c->kind == COST_POWER)
		j->plan->method = "exact, multiplicative";
	else if (part_cost_invertible(c))
		j->plan->method = "exact, equal times";
	if (part_cost_invertible(c))
		return by_equal_time(j, err);
	return by_threshold(j, err);
}

/* Real shares by a formula, rounded; their makespan is that of the true cost. */
static hetpart_status by_formula(struct job *j, hetpart_err *err)
{
	double *real = j->plan->real;
	long double worst = 0;
	hetpart_status rc;

	if (j->opts.method == HETPART_METHOD_TAYLOR) {
		j->plan->method = "Taylor, eq (5)";
		rc = part_taylor(&j->ps, j->items, real, err);
	} else if (j->opts.method == HETPART_METHOD_ASYMPTOTIC) {
		j->plan->method = "asymptotic, Theorem 2";
		rc = part_asymptotic(&j->ps, j->items, real, err);
	} else {
		j->plan->method = "proportional";
		rc = part_proportional(&j->ps, j->items, real, err);
	}
	if (rc != HETPART_OK)
		return rc;
	for (size_t i = 0; i < j->ps.n; i++) {
		long double f = part_cost_real(j->ps.cost, real[i]);
		worst = fmaxl(worst, f / j->ps.speeds[i]);
	}
	if (j->ps.cost->kind != COST_CALLBACK)
		j->plan->real_makespan = (double)worst;
	floors(j);
	return part_round_keep(&j->ps, j->items, j->plan->share, err);
}

static hetpart_status dispatch(struct job *j, hetpart_err *err)
{
	bool quantum = j->opts.quantum > 1;

	switch (j->opts.method) {
	case HETPART_METHOD_EXACT:
		if (j->ps.cost->increasing && !quantum)
			return by_exact(j, err);
		return part_search(&j->ps, &j->opts, j->plan, err);
	case HETPART_METHOD_TAYLOR:
	case HETPART_METHOD_ASYMPTOTIC:
	case HETPART_METHOD_PROPORTIONAL:
		if (quantum)
			return part_fail(err, HETPART_EINVAL, "the method knows no quantum");
		return by_formula(j, err);
	default:
		return part_search(&j->ps, &j->opts, j->plan, err);
	}
}

/* Everything but the pointers, which differ from call to call. */
static hetpart_status prepare(struct job *j, const hetpart_opts *opts, hetpart_err *err)
{
	hetpart_status rc = part_check_items(j->items, j->ps.n, err);

	if (rc == HETPART_OK)
		rc = part_opts_read(&j->opts, opts, err);
	j->ps.caps = j->opts.capacities;
	if (rc == HETPART_OK)
		rc = check_speeds(j->ps.speeds, j->ps.n, &j->ps.shift, err);
	j->ps.unit = ldexpl(1, -j->ps.shift);
	if (rc == HETPART_OK)
		rc = check(j, err);
	if (rc != HETPART_OK)
		return rc;
	j->plan = part_plan_new(j->ps.n, j->items, "none");
	if (!j->plan)
		return part_fail(err, HETPART_ENOMEM, "no memory for %zu processors", j->ps.n);
	return HETPART_OK;
}

static hetpart_status finish(struct job *j, hetpart_status rc, hetpart_plan **out, hetpart_err *err)
{
	if (rc == HETPART_OK || j->ps.bad->seen)
		rc = part_plan_times(j->plan, &j->ps, err);
	if (rc == HETPART_OK)
		*out = j->plan;
	else
		hetpart_plan_free(j->plan);
	return rc;
}

hetpart_status hetpart_share_create(hetpart_plan **out, uint64_t items, const double *speeds,
				    size_t nprocs, const hetpart_cost *cost,
				    const hetpart_opts *opts, hetpart_err *err)
{
	struct bad_cost bad = { 0 };
	struct job j = { .items = items };
	hetpart_status rc;

	if (out)
		*out = NULL;
	if (!out || !speeds || !cost)
		return part_fail(err, HETPART_EINVAL, "'%s' is NULL",
				 !out      ? "out"
				 : !speeds ? "speeds"
					   : "cost");
	j.ps = (struct procs){ .n = nprocs, .cost = cost, .speeds = speeds, .bad = &bad };
	rc = prepare(&j, opts, err);
	if (rc != HETPART_OK)
		return rc;
	return finish(&j, items ? dispatch(&j, err) : HETPART_OK, out, err);
}

static hetpart_status check_real(const double *real, size_t n, uint64_t items, hetpart_err *err)
{
	long double sum = 0;

	for (size_t i = 0; i < n; i++) {
		if (!(isfinite(real[i]) && real[i] >= 0))
			return part_fail(err, HETPART_EINVAL,
					 "share of processor %zu is '%g': want a finite number, "
					 "0 or more",
					 i, real[i]);
		sum += real[i];
	}
	if (fabsl(sum - items) > 1 + 1e-9L * items)
		return part_fail(err, HETPART_EINVAL, "the shares sum to '%.17g', not to %" PRIu64,
				 (double)sum, items);
	return HETPART_OK;
}

hetpart_status hetpart_share_round(hetpart_plan **out, uint64_t items, const double *real,
				   const double *speeds, size_t nprocs, const hetpart_cost *cost,
				   hetpart_err *err)
{
	struct bad_cost bad = { 0 };
	struct job j = { .items = items };
	hetpart_status rc;

	if (out)
		*out = NULL;
	if (!out || !real || !speeds || !cost)
		return part_fail(err, HETPART_EINVAL, "'%s' is NULL",
				 !out     ? "out"
				 : !real  ? "real"
				 : speeds ? "cost"
					  : "speeds");
	if (!cost->increasing)
		return part_fail(err, HETPART_EINVAL, "rounding needs an increasing cost");
	j.ps = (struct procs){ .n = nprocs, .cost = cost, .speeds = speeds, .bad = &bad };
	rc = check_real(real, nprocs, items, err);
	if (rc == HETPART_OK)
		rc = prepare(&j, NULL, err);
	if (rc != HETPART_OK)
		return rc;
	for (size_t i = 0; i < nprocs; i++)
		j.plan->real[i] = real[i];
	j.plan->method = "rounded";
	floors(&j);
	return finish(&j, part_round_keep(&j.ps, items, j.plan->share, err), out, err);
}
