/* SPDX-License-Identifier: GPL-3.0-or-later */
/* share.c - shares without communication for processors of known speed: check, choose the method,
 * round, report. May not touch: the arithmetic of any method. Costs O(p) beside the method. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "share.h"
#include "unrelated/unrelated.h"

#define MANY 1000 /* items that the floors lack: one by one is slow from here on */

struct problem {
	hetpart_plan *plan;
	part_procs ps;
	uint64_t items;
	hetpart_opts opts;
	bool timed; /* the plan has its times */
};

static hetpart_status check_speeds(const double *speeds, size_t n, int *shift, hetpart_err *err)
{
	double most = 0;

	for (size_t i = 0; i < n; i++) {
		if (!(isfinite(speeds[i]) && speeds[i] > 0))
			return part_fail(err, HETPART_EINVAL,
					 "speed of processor %zu is '%g': must be a finite number "
					 "above 0",
					 i, speeds[i]);
		most = max_double(most, speeds[i]);
	}
	frexp(most, shift);
	return HETPART_OK;
}

static bool is_free(const hetpart_cost *c)
{
	double startup, per_item;
	return hetpart_cost_is_affine(c, &startup, &per_item) && startup == 0 && per_item == 0;
}

static hetpart_status check(const struct problem *pb, hetpart_err *err)
{
	const part_procs *ps = &pb->ps;
	hetpart_method m = pb->opts.method;
	bool formula = m == HETPART_METHOD_TAYLOR || m == HETPART_METHOD_ASYMPTOTIC;
	hetpart_status rc;

	if (is_free(ps->cost))
		return part_fail(err, HETPART_EINVAL, "the cost is free: any shares would do");
	if (formula && ps->cost->kind != COST_NLOGN)
		return part_fail(err, HETPART_EINVAL, "the method is for the cost n ln n only");
	if ((formula || m == HETPART_METHOD_PROPORTIONAL) && ps->mins)
		return part_fail(err, HETPART_EINVAL, "the method knows no minimums");
	if (formula && ps->caps)
		return part_fail(err, HETPART_EINVAL, "the method knows no capacities");
	if (m == HETPART_METHOD_PROPORTIONAL && !ps->cost->increasing)
		return part_fail(err, HETPART_EINVAL, "the method needs an increasing cost");
	rc = part_check_caps(ps, pb->items, err);
	return rc == HETPART_OK ? part_check_mins(ps, pb->items, err) : rc;
}

static void floors(const struct problem *pb)
{
	for (size_t i = 0; i < pb->ps.n; i++)
		pb->plan->share[i] = whole_part(&pb->ps, i, pb->items, pb->plan->real[i]);
}

static hetpart_status by_threshold(struct problem *pb, hetpart_err *err)
{
	hetpart_opts opts = pb->opts;

	for (size_t i = 0; i < pb->ps.n; i++)
		pb->plan->real[i] = NAN;
	opts.method = HETPART_METHOD_THRESHOLD;
	return part_search(&pb->ps, &opts, pb->plan, err);
}

/* Real shares where the cost has an inverse, and the best whole shares from there. */
static hetpart_status by_equal_time(struct problem *pb, hetpart_err *err)
{
	long double t = 0;
	bool too_far;
	double *real = pb->plan->real, *rate = pb->plan->time; /* no times yet */
	hetpart_status rc = part_equal_time(&pb->ps, pb->items, real, rate, &t, err);

	if (rc == HETPART_ENOSOL) /* real shares are beyond a double's range, whole ones are not */
		return by_threshold(pb, err);
	if (rc != HETPART_OK)
		return rc;
	pb->plan->real_makespan = (double)(t * pb->ps.cost->scale * pb->ps.unit);
	part_initial_rounding(&pb->ps, pb->items, real, rate, pb->plan->share);
	rc = part_round_exact(&pb->ps, pb->items, pb->plan->share, pb->plan->time, &too_far, err);
	if (rc == HETPART_OK && too_far)
		return part_threshold(&pb->ps, pb->items, pb->plan->share, NULL, err);
	pb->timed = true;
	return rc;
}

static hetpart_status by_exact(struct problem *pb, hetpart_err *err)
{
	const hetpart_cost *c = pb->ps.cost;

	pb->plan->best = true;
	if (c->kind == COST_NLOGN)
		pb->plan->method = "exact, Lambert W";
	else if (hetpart_cost_is_linear(c))
		pb->plan->method = "exact, D'Hondt";
	else if (c->kind == COST_POWER)
		pb->plan->method = "exact, multiplicative";
	else if (part_cost_invertible(c))
		pb->plan->method = "exact, equal times";
	if (part_cost_invertible(c))
		return by_equal_time(pb, err);
	return by_threshold(pb, err);
}

/* The cost of a share so small that a double has few digits of it, or none: next to no items every
 * cost grows with a power of them. */
static long double cost_of_little(const hetpart_cost *c, long double share)
{
	bool starts = c->kind == COST_AFFINE ? c->startup > 0 : part_cost_real(c, 0) > 0;
	double power = c->kind == COST_POWER ? c->exponent : !starts;

	return part_cost_real(c, DBL_MIN) * powl(share / DBL_MIN, power);
}

/* The costs of the real shares, into the plan's times; the largest time. per_speed: items for each
 * unit of speed, where shares go by speed; else 0. */
static double cost_of_real(struct problem *pb, long double per_speed)
{
	const part_procs *ps = &pb->ps;
	long double worst = 0;
	double nearly = 0; /* worst, but for its last digits */

	for (size_t i = 0; i < ps->n; i++) {
		double share = pb->plan->real[i], speed = ps->speeds[i];
		bool little = share < DBL_MIN && per_speed > 0 && !(ps->caps && ps->caps[i] == 0);
		long double f = little ? cost_of_little(ps->cost, per_speed * (speed * ps->unit))
				       : part_cost_real(ps->cost, share);
		pb->plan->time[i] = (double)f;
		if (pb->plan->time[i] < nearly * speed || !(f > worst * speed))
			continue;
		worst = f / speed;
		nearly = (double)worst * (1 - 4 * DBL_EPSILON);
	}
	return (double)worst;
}

/* The real shares moved back to time 0 along their tangents; of their costs, in rate[], by how much
 * they grow. */
static void tangents(const struct problem *pb, double *base, double *rate)
{
	const part_procs *ps = &pb->ps;

	for (size_t i = 0; i < ps->n; i++) {
		double x = pb->plan->real[i], y = rate[i] / ps->cost->scale;
		double slope = part_unit_slope(ps->cost, x, y), per = 1 / slope;
		bool known = x > 0 && slope > 0;
		base[i] = known ? x - y * per : 0;
		rate[i] = known ? (double)(ps->speeds[i] * ps->unit) * per : 0;
	}
}

/* The plan of smallest makespan among those that take nothing from the floors; the plan's times are
 * the costs of its real shares. Where the floors lack very many items, the time at which they do
 * not is found first. */
static hetpart_status round_near(struct problem *pb, hetpart_err *err)
{
	part_procs from_floors = pb->ps;
	uint64_t sum = 0, *share = pb->plan->share, *least = NULL;
	double *base = NULL;
	bool too_far = true;
	hetpart_status rc = HETPART_OK;

	floors(pb);
	for (size_t i = 0; i < pb->ps.n; i++)
		sum = add_capped(sum, share[i], pb->items);
	if (pb->items - sum >= MANY && part_cost_invertible(pb->ps.cost)) {
		base = part_calloc(pb->ps.n, sizeof *base);
		least = part_calloc(pb->ps.n, sizeof *least);
	}
	if (base && least) {
		memcpy(least, share, pb->ps.n * sizeof *least);
		from_floors.mins = least;
		tangents(pb, base, pb->plan->time);
		part_initial_rounding(&from_floors, pb->items, base, pb->plan->time, share);
		rc = part_round_exact(&from_floors, pb->items, share, pb->plan->time, &too_far,
				      err);
		if (rc == HETPART_OK && too_far)
			memcpy(share, least, pb->ps.n * sizeof *least);
	}
	free(base);
	free(least);
	pb->timed = !too_far;
	return too_far ? part_round_keep(&pb->ps, pb->items, share, err) : rc;
}

/* Real shares by a formula, rounded; their makespan is that of the true cost. */
static hetpart_status by_formula(struct problem *pb, hetpart_err *err)
{
	double *real = pb->plan->real, worst;
	long double per_speed = 0;
	hetpart_status rc;

	if (pb->opts.method == HETPART_METHOD_TAYLOR) {
		pb->plan->method = "Taylor, eq (5)";
		rc = part_taylor(&pb->ps, pb->items, real, pb->plan->time, err);
	} else if (pb->opts.method == HETPART_METHOD_ASYMPTOTIC) {
		pb->plan->method = "asymptotic, Theorem 2";
		rc = part_asymptotic(&pb->ps, pb->items, real, pb->plan->time, err);
	} else {
		pb->plan->method = "proportional";
		rc = part_proportional(&pb->ps, pb->items, real, pb->plan->time, &per_speed, err);
	}
	if (rc != HETPART_OK)
		return rc;
	worst = cost_of_real(pb, per_speed);
	if (pb->ps.cost->kind != COST_CALLBACK)
		pb->plan->real_makespan = worst;
	return round_near(pb, err);
}

static hetpart_status dispatch(struct problem *pb, hetpart_err *err)
{
	bool quantum = pb->opts.quantum > 1;

	switch (pb->opts.method) {
	case HETPART_METHOD_EXACT:
		if (pb->ps.cost->increasing && !quantum)
			return by_exact(pb, err);
		return part_search(&pb->ps, &pb->opts, pb->plan, err);
	case HETPART_METHOD_TAYLOR:
	case HETPART_METHOD_ASYMPTOTIC:
	case HETPART_METHOD_PROPORTIONAL:
		if (quantum)
			return part_fail(err, HETPART_EINVAL, "the method knows no quantum");
		return by_formula(pb, err);
	default:
		return part_search(&pb->ps, &pb->opts, pb->plan, err);
	}
}

/* Everything but the pointers, which differ from call to call. */
static hetpart_status prepare(struct problem *pb, const hetpart_opts *opts, hetpart_err *err)
{
	hetpart_status rc = part_check_items(pb->items, pb->ps.n, err);

	if (rc == HETPART_OK)
		rc = part_opts_read(&pb->opts, opts, err);
	pb->ps.caps = pb->opts.capacities;
	pb->ps.mins = pb->opts.minimums;
	if (rc == HETPART_OK)
		rc = check_speeds(pb->ps.speeds, pb->ps.n, &pb->ps.shift, err);
	pb->ps.unit = ldexpl(1, -pb->ps.shift);
	if (rc == HETPART_OK)
		rc = check(pb, err);
	if (rc != HETPART_OK)
		return rc;
	pb->plan = part_plan_new(pb->ps.n, pb->items, "none");
	if (!pb->plan)
		return part_fail(err, HETPART_ENOMEM, "no memory for %zu processors", pb->ps.n);
	return HETPART_OK;
}

/* Times beyond a double are looked at again: they may be beyond all. */
static hetpart_status end_plan(struct problem *pb, hetpart_err *err)
{
	hetpart_status rc = HETPART_OK;

	if (pb->timed)
		rc = part_plan_close(pb->plan, err);
	if (rc == HETPART_OK && !(pb->timed && isfinite(pb->plan->makespan)))
		rc = part_plan_times(pb->plan, &pb->ps, err);
	return rc;
}

static hetpart_status finish(struct problem *pb, hetpart_status rc, hetpart_plan **out,
			     hetpart_err *err)
{
	if (rc == HETPART_OK || pb->ps.bad->seen)
		rc = end_plan(pb, err);
	if (rc == HETPART_OK)
		*out = pb->plan;
	else
		hetpart_plan_free(pb->plan);
	return rc;
}

hetpart_status hetpart_share_create(hetpart_plan **out, uint64_t items, const double *speeds,
				    size_t nprocs, const hetpart_cost *cost,
				    const hetpart_opts *opts, hetpart_err *err)
{
	part_bad_cost bad = { 0 };
	struct problem pb = { .items = items };
	hetpart_status rc;

	if (out)
		*out = NULL;
	if (!out || !speeds || !cost)
		return part_fail(err, HETPART_EINVAL, "'%s' is NULL",
				 !out      ? "out"
				 : !speeds ? "speeds"
					   : "cost");
	pb.ps = (part_procs){ .n = nprocs, .cost = cost, .speeds = speeds, .bad = &bad };
	rc = prepare(&pb, opts, err);
	if (rc != HETPART_OK)
		return rc;
	return finish(&pb, items ? dispatch(&pb, err) : HETPART_OK, out, err);
}

static hetpart_status check_real(const double *real, size_t n, uint64_t items, hetpart_err *err)
{
	long double sum = 0;

	for (size_t i = 0; i < n; i++) {
		if (!(isfinite(real[i]) && real[i] >= 0))
			return part_fail(err, HETPART_EINVAL,
					 "share of processor %zu is '%g': must be a finite number, "
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
	part_bad_cost bad = { 0 };
	struct problem pb = { .items = items };
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
	pb.ps = (part_procs){ .n = nprocs, .cost = cost, .speeds = speeds, .bad = &bad };
	rc = check_real(real, nprocs, items, err);
	if (rc == HETPART_OK)
		rc = prepare(&pb, NULL, err);
	if (rc != HETPART_OK)
		return rc;
	for (size_t i = 0; i < nprocs; i++)
		pb.plan->real[i] = real[i];
	pb.plan->method = "rounded";
	cost_of_real(&pb, 0);
	return finish(&pb, round_near(&pb, err), out, err);
}
