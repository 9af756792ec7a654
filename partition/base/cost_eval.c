/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cost_eval.c - the time of n items, whole or real, and the inverse: the items of a time.
 * May not touch: planners. Costs one logarithm or power, or a binary search over the points. */
#include <math.h>

#include "part.h"

/* Last index j in [0, n - 2] with v[j] <= at, for v not falling: the segment that holds at. */
static size_t segment(const double *v, size_t n, double at)
{
	size_t lo = 0, hi = n - 1;

	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;
		if (v[mid] <= at)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

static double piecewise_at(const hetpart_cost *c, double x)
{
	size_t last = c->npoints - 1, j;

	if (x >= c->x[last])
		return c->y[last] + c->last_slope * (x - c->x[last]);
	j = segment(c->x, c->npoints, x);
	return c->y[j] + (c->y[j + 1] - c->y[j]) * ((x - c->x[j]) / (c->x[j + 1] - c->x[j]));
}

static double table_at(const hetpart_cost *c, double x)
{
	double f = floor(x);

	if (f >= (double)c->npoints || (f == (double)(c->npoints - 1) && x > f))
		return INFINITY;
	if (x == f)
		return c->y[(size_t)f];
	return c->y[(size_t)f] + (c->y[(size_t)f + 1] - c->y[(size_t)f]) * (x - f);
}

static double unit_real(const hetpart_cost *c, double x)
{
	switch (c->kind) {
	case COST_AFFINE:
		return x > 0 ? c->startup + c->per_item * x : 0;
	case COST_NLOGN:
		return x > 1 ? x * log(x) : 0;
	case COST_NLOG2N1:
		return x * (log1p(x) / M_LN2);
	case COST_POWER:
		return pow(x, c->exponent);
	case COST_PIECEWISE:
		return piecewise_at(c, x);
	case COST_TABLE:
		return table_at(c, x);
	case COST_CALLBACK:
		break;
	}
	return NAN;
}

double part_cost_real(const hetpart_cost *cost, double x)
{
	return cost->scale * unit_real(cost, x);
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
		return c->scale * powl((long double)n, c->exponent); /* beyond a double */
	return (long double)c->scale * unit_real(c, (double)n);
}

void part_cost_fine_each(const hetpart_cost *c, const uint64_t *n, size_t count, long double *time)
{
	uint64_t most = 0;

	for (size_t i = 0; i < count; i++)
		most = larger(most, n[i]);
	if (c->kind == COST_NLOGN && most < UINT64_C(1) << 53)
		for (size_t i = 0; i < count; i++) {
			double x = (double)(int64_t)n[i];
			time[i] = (long double)c->scale * (x > 1 ? x * log(x) : 0);
		}
	else
		for (size_t i = 0; i < count; i++)
			time[i] = part_cost_fine(c, n[i]);
}

double hetpart_cost_eval(const hetpart_cost *cost, uint64_t items)
{
	return cost ? (double)part_cost_fine(cost, items) : NAN;
}

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

/* n log2(n + 1) = y: convex, so Newton from the right falls onto the solution. */
static double nlog2n1_inverse(double y, double *slope)
{
	double z = y * M_LN2, n, d = 0;

	n = z < 1 ? sqrt(z) * (1 + sqrt(z)) : z + 1; /* >= the solution of n ln(n + 1) = z */
	for (int i = 0; i < 100; i++) {
		d = log1p(n) + n / (n + 1);
		double next = d > 0 ? n - (n * log1p(n) - z) / d : 0;
		if (!(fabs(next - n) > 1e-16 * n))
			break;
		n = next > 0 ? next : 0;
	}
	*slope = d > 0 ? M_LN2 / d : INFINITY;
	return n;
}

static double piecewise_inverse(const hetpart_cost *c, double y, double *slope)
{
	size_t last = c->npoints - 1, j;

	if (y >= c->y[last]) {
		*slope = 1 / c->last_slope;
		return c->x[last] + (y - c->y[last]) / c->last_slope;
	}
	if (y < c->y[0]) {
		*slope = 0;
		return 0;
	}
	j = segment(c->y, c->npoints, y);
	*slope = (c->x[j + 1] - c->x[j]) / (c->y[j + 1] - c->y[j]);
	return c->x[j] + (y - c->y[j]) * *slope;
}

double part_unit_inverse(const hetpart_cost *c, double y, double *slope)
{
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
		double x = pow(y, 1 / c->exponent);
		*slope = y > 0 ? x / (c->exponent * y) : 0;
		return x;
	}
	case COST_PIECEWISE:
		return piecewise_inverse(c, y, slope);
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
		size_t last = c->npoints - 1, j;
		if (x >= c->x[last])
			return c->last_slope;
		j = segment(c->x, c->npoints, x);
		return (c->y[j + 1] - c->y[j]) / (c->x[j + 1] - c->x[j]);
	}
	default:
		return NAN;
	}
}
