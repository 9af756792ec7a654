/* SPDX-License-Identifier: GPL-3.0-or-later */
/* share.c - shares without communication for processors of known speed: check, choose the method,
 * round, report. May not touch: the arithmetic of any method. Costs O(p) beside the method. */
#include <math.h>
#include <stdlib.h>

#include "part.h"

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
	if (m == HETPART_METHOD_THRESHOLD && !ps->cost->increasing)
		return part_fail(err, HETPART_EINVAL, "the method needs an increasing cost");
	return part_check_caps(ps, j->items, err);
}

static void floors(const struct job *j)
{
	for (size_t i = 0; i < j->ps.n; i++) {
		double x = floor(j->plan->real[i]);
		uint64_t cap = part_cap(&j->ps, i, j->items);
		j->plan->share[i] = !(x > 0) ? 0 : x >= (double)cap ? cap : (uint64_t)x;
	}
}

/* Real shares where the cost has an inverse, and the best whole shares from there. */
static hetpart_status by_level(struct job *j, hetpart_err *err)
{
	double t = 0;
	hetpart_status rc = part_level(&j->ps, j->items, j->plan->real, &t, err);

	if (rc != HETPART_OK)
		return rc;
	j->plan->real_makespan = (double)ldexpl((long double)t * j->ps.cost->scale, -j->ps.shift);
	floors(j);
	return part_round_exact(&j->ps, j->items, j->plan->share, err);
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
		return by_level(j, err);
	j->plan->method = "threshold";
	return part_threshold(&j->ps, j->items, j->plan->share, err);
}

static hetpart_status dispatch(struct job *j, hetpart_err *err)
{
	switch (j->opts.method) {
	case HETPART_METHOD_EXACT:
		if (j->ps.cost->increasing)
			return by_exact(j, err);
		break;
	case HETPART_METHOD_THRESHOLD:
		j->plan->method = "threshold";
		return part_threshold(&j->ps, j->items, j->plan->share, err);
	default:
		break;
	}
	return part_fail(err, HETPART_EINVAL, "this version lacks the method");
}

hetpart_status hetpart_share_create(hetpart_plan **out, uint64_t items, const double *speeds,
				    size_t nprocs, const hetpart_cost *cost,
				    const hetpart_opts *opts, hetpart_err *err)
{
	struct job j = { .items = items };
	struct bad_cost bad = { 0 };
	hetpart_status rc;

	if (out)
		*out = NULL;
	if (!out || !speeds || !cost)
		return part_fail(err, HETPART_EINVAL, "'%s' is NULL",
				 !out      ? "out"
				 : !speeds ? "speeds"
					   : "cost");
	rc = part_check_items(items, nprocs, err);
	if (rc == HETPART_OK)
		rc = part_opts_read(&j.opts, opts, err);
	if (rc != HETPART_OK)
		return rc;
	j.ps = (struct procs){ .n = nprocs, .cost = cost, .speeds = speeds, .bad = &bad };
	j.ps.caps = j.opts.capacities;
	rc = check_speeds(speeds, nprocs, &j.ps.shift, err);
	if (rc == HETPART_OK)
		rc = check(&j, err);
	if (rc != HETPART_OK)
		return rc;
	j.plan = part_plan_new(nprocs, items, "none");
	if (!j.plan)
		return part_fail(err, HETPART_ENOMEM, "no memory for %zu processors", nprocs);
	rc = items ? dispatch(&j, err) : HETPART_OK;
	if (rc == HETPART_OK || bad.seen)
		rc = part_plan_times(j.plan, &j.ps, err);
	if (rc == HETPART_OK)
		*out = j.plan;
	else
		hetpart_plan_free(j.plan);
	return rc;
}
