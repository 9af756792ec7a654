/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cost.c - constructors of costs: every number is checked here, so planners need not.
 * May not touch: planners, evaluation (cost_eval.c). Costs O(points). */
#include <math.h>
#include <stdlib.h>

#include "part.h"

static hetpart_status cost_new(hetpart_cost **out, enum cost_kind kind, double scale,
			       hetpart_err *err)
{
	hetpart_cost *c;

	if (!out)
		return part_fail(err, HETPART_EINVAL, "no place for the cost: 'out' is NULL");
	*out = NULL;
	if (part_check_positive(scale, "scale of the cost", err) != HETPART_OK)
		return HETPART_EINVAL;
	c = part_calloc(1, sizeof *c);
	if (!c)
		return part_fail(err, HETPART_ENOMEM, "no memory for a cost");
	c->kind = kind;
	c->scale = scale;
	c->increasing = true;
	*out = c;
	return HETPART_OK;
}

hetpart_status hetpart_cost_affine(hetpart_cost **out, double startup, double per_item,
				   double scale, hetpart_err *err)
{
	if (out)
		*out = NULL;
	if (part_check_not_negative(startup, "startup of the cost", err) != HETPART_OK ||
	    part_check_not_negative(per_item, "per_item of the cost", err) != HETPART_OK)
		return HETPART_EINVAL;
	hetpart_status rc = cost_new(out, COST_AFFINE, scale, err);
	if (rc == HETPART_OK) {
		(*out)->startup = startup;
		(*out)->per_item = per_item;
	}
	return rc;
}

hetpart_status hetpart_cost_linear(hetpart_cost **out, double scale, hetpart_err *err)
{
	return hetpart_cost_affine(out, 0, 1, scale, err);
}

hetpart_status hetpart_cost_nlogn(hetpart_cost **out, double scale, hetpart_err *err)
{
	return cost_new(out, COST_NLOGN, scale, err);
}

hetpart_status hetpart_cost_nlog2n1(hetpart_cost **out, double scale, hetpart_err *err)
{
	return cost_new(out, COST_NLOG2N1, scale, err);
}

hetpart_status hetpart_cost_power(hetpart_cost **out, double exponent, double scale,
				  hetpart_err *err)
{
	if (out)
		*out = NULL;
	if (part_check_positive(exponent, "exponent of the cost", err) != HETPART_OK)
		return HETPART_EINVAL;
	if (exponent == 1)
		return hetpart_cost_linear(out, scale, err);
	hetpart_status rc = cost_new(out, COST_POWER, scale, err);
	if (rc == HETPART_OK)
		(*out)->exponent = exponent;
	return rc;
}

static hetpart_status check_points(const hetpart_point *pt, size_t n, hetpart_err *err)
{
	if (!pt || n == 0)
		return part_fail(err, HETPART_EINVAL, "a piecewise cost needs a point");
	if (n > SIZE_MAX / sizeof(double) - 1)
		return part_fail(err, HETPART_ENOMEM, "no memory for %zu points", n);
	for (size_t i = 0; i < n; i++) {
		if (part_check_not_negative(pt[i].items, "items of a point", err) != HETPART_OK ||
		    part_check_not_negative(pt[i].time_s, "time of a point", err) != HETPART_OK)
			return HETPART_EINVAL;
		if (i > 0 && !(pt[i].items > pt[i - 1].items))
			return part_fail(err, HETPART_EINVAL,
					 "point %zu has '%g' items: want more than point %zu's %g",
					 i, pt[i].items, i - 1, pt[i - 1].items);
	}
	if (n == 1 && pt[0].items == 0)
		return part_fail(err, HETPART_EINVAL, "the only point has '0' items");
	return HETPART_OK;
}

/* Copy the points behind a leading (0, 0), find out whether they rise, and the last slope. */
static void set_points(hetpart_cost *c, const hetpart_point *pt, size_t n)
{
	size_t m = 0;

	if (pt[0].items > 0)
		m = 1; /* x[0] = y[0] = 0 already */
	for (size_t i = 0; i < n; i++, m++) {
		c->x[m] = pt[i].items;
		c->y[m] = pt[i].time_s;
		if (m > 0 && c->y[m] < c->y[m - 1])
			c->increasing = false;
	}
	c->npoints = m;
	c->last_slope = (c->y[m - 1] - c->y[m - 2]) / (c->x[m - 1] - c->x[m - 2]);
}

hetpart_status hetpart_cost_piecewise(hetpart_cost **out, const hetpart_point *points,
				      size_t npoints, double scale, hetpart_err *err)
{
	hetpart_cost *c;
	hetpart_status rc;

	if (out)
		*out = NULL;
	rc = check_points(points, npoints, err);
	if (rc == HETPART_OK)
		rc = cost_new(out, COST_PIECEWISE, scale, err);
	if (rc != HETPART_OK)
		return rc;
	c = *out;
	c->x = part_calloc(npoints + 1, sizeof *c->x);
	c->y = part_calloc(npoints + 1, sizeof *c->y);
	if (!c->x || !c->y) {
		rc = part_fail(err, HETPART_ENOMEM, "no memory for %zu points", npoints);
		goto fail;
	}
	set_points(c, points, npoints);
	if (!(isfinite(c->last_slope) && c->last_slope >= 0)) {
		rc = part_fail(err, HETPART_EINVAL,
			       "the last line has slope '%g': want a finite number, 0 or more",
			       c->last_slope);
		goto fail;
	}
	return HETPART_OK;
fail:
	hetpart_cost_free(c);
	*out = NULL;
	return rc;
}

hetpart_status hetpart_cost_table(hetpart_cost **out, const double *values, size_t nvalues,
				  double scale, hetpart_err *err)
{
	hetpart_status rc;
	bool increasing = true;

	if (out)
		*out = NULL;
	if (!values || nvalues == 0)
		return part_fail(err, HETPART_EINVAL, "a table cost needs a value");
	for (size_t i = 0; i < nvalues; i++) {
		if (!(values[i] >= 0))
			return part_fail(err, HETPART_EINVAL,
					 "value %zu of the table is '%g': want 0 or more", i,
					 values[i]);
		if (i > 0 && values[i] < values[i - 1])
			increasing = false;
	}
	rc = cost_new(out, COST_TABLE, scale, err);
	if (rc != HETPART_OK)
		return rc;
	(*out)->y = part_calloc(nvalues, sizeof *values);
	if (!(*out)->y) {
		hetpart_cost_free(*out);
		*out = NULL;
		return part_fail(err, HETPART_ENOMEM, "no memory for %zu values", nvalues);
	}
	for (size_t i = 0; i < nvalues; i++)
		(*out)->y[i] = values[i];
	(*out)->npoints = nvalues;
	(*out)->increasing = increasing;
	return HETPART_OK;
}

hetpart_status hetpart_cost_callback(hetpart_cost **out, hetpart_cost_fn *fn, void *ctx,
				     bool increasing, double scale, hetpart_err *err)
{
	if (out)
		*out = NULL;
	if (!fn)
		return part_fail(err, HETPART_EINVAL, "a callback cost needs a function");
	hetpart_status rc = cost_new(out, COST_CALLBACK, scale, err);
	if (rc == HETPART_OK) {
		(*out)->fn = fn;
		(*out)->ctx = ctx;
		(*out)->increasing = increasing;
	}
	return rc;
}

bool hetpart_cost_increasing(const hetpart_cost *cost)
{
	return cost && cost->increasing;
}

bool hetpart_cost_is_affine(const hetpart_cost *cost, double *startup, double *per_item)
{
	if (!cost || cost->kind != COST_AFFINE)
		return false;
	if (startup)
		*startup = cost->startup * cost->scale;
	if (per_item)
		*per_item = cost->per_item * cost->scale;
	return true;
}

bool hetpart_cost_is_linear(const hetpart_cost *cost)
{
	return cost && cost->kind == COST_AFFINE && cost->startup == 0;
}

void hetpart_cost_free(hetpart_cost *cost)
{
	if (!cost)
		return;
	free(cost->x);
	free(cost->y);
	free(cost);
}
