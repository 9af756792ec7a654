/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cost.c - costs: their constructors, the time of n items (whole or real), and the inverse, which
 * gives the items of a time. The constructors check every number, so that planners need not. Must
 * not contain: planning. A constructor takes O(points) time, an evaluation one logarithm or power,
 * or a binary search of the points. */
#include <math.h>
#include <stdlib.h>

#include "part.h"

/* ------------------------------------------------------------------------------ constructors */

static hetpart_status cost_new(hetpart_cost **out, part_cost_kind kind, double scale,
			       hetpart_err *err)
{
	if (!out)
		return part_is_null(err, "out");
	*out = NULL;
	if (part_check_positive(scale, "scale of the cost", err) != HETPART_OK)
		return HETPART_EINVAL;
	hetpart_cost *const c = part_calloc(1, sizeof *c);
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
	const hetpart_status rc = cost_new(out, COST_AFFINE, scale, err);
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
	const hetpart_status rc = cost_new(out, COST_POWER, scale, err);
	if (rc == HETPART_OK)
		(*out)->exponent = exponent;
	return rc;
}

static hetpart_status cost_check_points(const hetpart_point *pt, size_t n, hetpart_err *err)
{
	if (!pt || n == 0)
		return part_invalid(err, "a piecewise cost needs a point");
	if (n > SIZE_MAX / sizeof(double) - 1)
		return part_no_memory(err, n, "points");
	for (size_t i = 0; i < n; i++) {
		if (part_check_not_negative(pt[i].items, "items of a point", err) != HETPART_OK ||
		    part_check_not_negative(pt[i].time_s, "time of a point", err) != HETPART_OK)
			return HETPART_EINVAL;
		if (i > 0 && !(pt[i].items > pt[i - 1].items))
			return part_invalid(err,
					    "point %zu has '%g' items: must be more than the %g of "
					    "point %zu",
					    i, pt[i].items, pt[i - 1].items, i - 1);
	}
	if (n == 1 && pt[0].items == 0)
		return part_invalid(err, "the only point has '0' items");
	return HETPART_OK;
}

hetpart_status hetpart_cost_piecewise(hetpart_cost **out, const hetpart_point *points,
				      size_t npoints, double scale, hetpart_err *err)
{
	if (out)
		*out = NULL;
	hetpart_status rc = cost_check_points(points, npoints, err);
	if (rc == HETPART_OK)
		rc = cost_new(out, COST_PIECEWISE, scale, err);
	if (rc != HETPART_OK)
		return rc;
	hetpart_cost *const c = *out;
	size_t m = points[0].items > 0; /* if 1, entry 0 is (0, 0), as allocated */
	if (!part_array(c->x, npoints + 1) || !part_array(c->y, npoints + 1)) {
		rc = part_no_memory(err, npoints, "points");
		goto fail;
	}
	for (size_t i = 0; i < npoints; i++, m++) {
		c->x[m] = points[i].items;
		c->y[m] = points[i].time_s;
		if (m > 0 && c->y[m] < c->y[m - 1])
			c->increasing = false;
	}
	c->npoints = m;
	c->last_slope = (c->y[m - 1] - c->y[m - 2]) / (c->x[m - 1] - c->x[m - 2]);
	if (!(isfinite(c->last_slope) && c->last_slope >= 0)) {
		rc = part_check_not_negative(c->last_slope, "slope of the last line", err);
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
	bool increasing = true;
	if (out)
		*out = NULL;
	if (!values || nvalues == 0)
		return part_invalid(err, "a table cost needs a value");
	for (size_t i = 0; i < nvalues; i++) {
		if (!(values[i] >= 0))
			return part_invalid(err,
					    "value %zu of the table is '%g': must be 0 or more", i,
					    values[i]);
		if (i > 0 && values[i] < values[i - 1])
			increasing = false;
	}
	const hetpart_status rc = cost_new(out, COST_TABLE, scale, err);
	if (rc != HETPART_OK)
		return rc;
	if (!part_array((*out)->y, nvalues)) {
		hetpart_cost_free(*out);
		*out = NULL;
		return part_no_memory(err, nvalues, "values");
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
		return part_invalid(err, "a callback cost needs a function");
	const hetpart_status rc = cost_new(out, COST_CALLBACK, scale, err);
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

/* -------------------------------------------------------------------------------- evaluation */

/* Return the segment that contains at: the last j in [0, n - 2] with v[j] <= at, or 0. The values
 * v[] must not decrease. */
static size_t segment(const double *v, size_t n, double at)
{
	size_t lo = 0, hi = n - 1;
	while (hi - lo > 1) {
		const size_t mid = lo + (hi - lo) / 2;
		if (v[mid] <= at)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

static double cost_at_scale_1(const hetpart_cost *c, double x)
{
	const size_t n = c->npoints;
	switch (c->kind) {
	case COST_AFFINE:
		return x > 0 ? c->startup + c->per_item * x : 0;
	case COST_NLOGN:
		return x > 1 ? x * log(x) : 0;
	case COST_NLOG2N1:
		return x * (log1p(x) / M_LN2);
	case COST_POWER:
		return pow(x, c->exponent);
	case COST_PIECEWISE: {
		if (x >= c->x[n - 1])
			return c->y[n - 1] + c->last_slope * (x - c->x[n - 1]);
		const size_t j = segment(c->x, n, x);
		return c->y[j] +
		       (c->y[j + 1] - c->y[j]) * ((x - c->x[j]) / (c->x[j + 1] - c->x[j]));
	}
	case COST_TABLE: {
		const double f = floor(x), part = x - f;
		if (f >= (double)n || (f == (double)(n - 1) && part > 0))
			return INFINITY;
		const double *const y = c->y + (size_t)f;
		return part > 0 ? y[0] + (y[1] - y[0]) * part : y[0];
	}
	case COST_CALLBACK:
		break;
	}
	return NAN;
}

double part_cost_real(const hetpart_cost *cost, double x)
{
	return cost->scale * cost_at_scale_1(cost, x);
}

long double part_cost_fine(const hetpart_cost *c, uint64_t n)
{
	if (c->kind == COST_CALLBACK)
		return (long double)c->scale * c->fn(c->ctx, n);
	if (c->kind == COST_TABLE)
		return n < c->npoints ? (long double)c->scale * c->y[n] : INFINITY;
	if (c->kind == COST_AFFINE)
		return n ? c->scale * (c->startup + (long double)c->per_item * n) : 0;
	if (n > (UINT64_C(1) << 53) && c->kind == COST_NLOGN)
		return c->scale * ((long double)n * logl((long double)n));
	if (c->kind == COST_POWER && c->exponent * log((double)n + 1) > 700)
		return c->scale * powl((long double)n, c->exponent); /* too large for a double */
	return (long double)c->scale * cost_at_scale_1(c, (double)n);
}

double hetpart_cost_eval(const hetpart_cost *cost, uint64_t items)
{
	return cost ? (double)part_cost_fine(cost, items) : NAN;
}

/* ------------------------------------------------------------------------------- the inverse */

bool part_cost_invertible(const hetpart_cost *c)
{
	switch (c->kind) {
	case COST_AFFINE:
		return c->per_item > 0;
	case COST_PIECEWISE:
		return c->increasing && c->last_slope > 0;
	case COST_TABLE:
	case COST_CALLBACK:
		return false;
	default:
		return true;
	}
}

/* Return n with n log2(n + 1) = y, by Newton's method, and store the derivative of n by y. The
 * function is convex, so from a start right of the solution the steps descend to it. */
static double nlog2n1_inverse(double y, double *slope)
{
	const double z = y * M_LN2;
	double n = z < 1 ? sqrt(z) * (1 + sqrt(z)) : z + 1; /* >= the solution of n ln(n + 1) = z */
	double d = 0;
	for (int i = 0; i < 100; i++) {
		d = log1p(n) + n / (n + 1);
		const double next = d > 0 ? n - (n * log1p(n) - z) / d : 0;
		if (!(fabs(next - n) > 1e-16 * n))
			break;
		n = next > 0 ? next : 0;
	}
	*slope = d > 0 ? M_LN2 / d : INFINITY;
	return n;
}

double part_unit_inverse(const hetpart_cost *c, double y, double *slope)
{
	const size_t last = c->npoints - 1;
	double unused;
	if (!slope)
		slope = &unused;
	switch (c->kind) {
	case COST_AFFINE:
		*slope = y < c->startup ? 0 : 1 / c->per_item;
		return y < c->startup ? 0 : (y - c->startup) / c->per_item;
	case COST_NLOG2N1:
		return nlog2n1_inverse(y, slope);
	case COST_POWER: {
		const double x = pow(y, 1 / c->exponent);
		*slope = y > 0 ? x / (c->exponent * y) : 0;
		return x;
	}
	case COST_PIECEWISE: {
		if (y >= c->y[last]) {
			*slope = 1 / c->last_slope;
			return c->x[last] + (y - c->y[last]) / c->last_slope;
		}
		if (y < c->y[0]) {
			*slope = 0;
			return 0;
		}
		const size_t j = segment(c->y, c->npoints, y);
		*slope = (c->x[j + 1] - c->x[j]) / (c->y[j + 1] - c->y[j]);
		return c->x[j] + (y - c->y[j]) * *slope;
	}
	default:
		return NAN;
	}
}

double part_unit_slope(const hetpart_cost *c, double x, double y)
{
	switch (c->kind) {
	case COST_AFFINE:
		return c->per_item;
	case COST_NLOGN:
		return 1 + y / x;
	case COST_NLOG2N1:
		return y / x + x / (x + 1) / M_LN2;
	case COST_POWER:
		return c->exponent * (y / x);
	case COST_PIECEWISE: {
		if (x >= c->x[c->npoints - 1])
			return c->last_slope;
		const size_t j = segment(c->x, c->npoints, x);
		return (c->y[j + 1] - c->y[j]) / (c->x[j + 1] - c->x[j]);
	}
	default:
		return NAN;
	}
}
