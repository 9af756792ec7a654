/* SPDX-License-Identifier: GPL-3.0-or-later */
/* classes.c - the equal time of very many processors, by classes of nearly the same speed. For
 * n ln n each class takes its share by Lambert's W; a share within a class is off by about a
 * tenth of the square of the class's relative width.
 * May not touch: exact shares, which one Newton step makes of these. Costs O(n) without a
 * logarithm, and about five logarithms or inverses of the cost for each class. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "classes.h"

#define FEWEST      16   /* classes: more would take longer than the Newton step they save */
#define MOST        4096 /* classes */
#define EACH        16   /* processors for each class, where there are that many */
#define WIDTH_SHIFT 42   /* bits of a double left out: 1024 classes from a speed to its double */
#define NEIGHBOURS  0.01 /* relative distance from which one Newton step finds W to 5e-5 */

static uint64_t leading(double k, int shift)
{
	uint64_t bits;

	memcpy(&bits, &k, sizeof bits); /* rises with k, which is not negative */
	return bits >> shift;
}

static struct class *class_of(const struct classes *c, double k)
{
	return &c->of[leading(k, c->shift) - c->first];
}

static void choose_width(struct classes *c, const double *k, size_t n)
{
	uint64_t most = min_u64(MOST, max_u64(FEWEST, n / EACH));
	double least = k[0], fastest = k[0];

	for (size_t i = 1; i < n; i++) {
		least = k[i] < least ? k[i] : least;
		fastest = max_double(fastest, k[i]);
	}
	c->shift = WIDTH_SHIFT;
	while (leading(fastest, c->shift) - leading(least, c->shift) >= most)
		c->shift++;
	c->first = leading(least, c->shift);
	c->n = (size_t)(leading(fastest, c->shift) - c->first) + 1;
}

/* Classes without processors leave no gap in the work: only the others are kept in mind. */
static void fill(struct classes *c, const double *k, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct class *of = class_of(c, k[i]);
		of->k += k[i];
		of->count++;
	}
	for (size_t j = 0; j < c->n; j++)
		if (c->of[j].count > 0)
			c->of[j].k /= c->of[j].count;
}

/* The share of a class at y, its time by its speed, and the derivative by y. For n ln n that is
 * y/W(y): GSL finds W for the first class of a group, one Newton step for a class that is near the
 * one before it, or near itself at the last time. Each later time squares what that step leaves. */
static void find_share(const struct classes *c, struct class *of, const struct class *before,
		       double y)
{
	const struct class *near = of->w > 0 ? of : before;

	if (c->cost->kind == COST_NLOGN) {
		of->w = near && near->w > 0 && fabs(y - near->y) <= NEIGHBOURS * y
				? lambert_near(near->w, y)
				: part_lambert(&c->gsl, y);
		of->x = of->w > 0.5 ? y / of->w : exp(of->w);
		of->slope = 1 / (1 + of->w);
	} else {
		of->x = part_unit_inverse(c->cost, y, &of->slope);
	}
	of->y = y;
}

/* The shares at time t; returns their sum, and its derivative by t in *by_t. */
static double sum_at(struct classes *c, double t, double *by_t)
{
	const struct class *before = NULL;
	double sum = 0;

	*by_t = 0;
	for (size_t j = 0; j < c->n; j++) {
		struct class *of = &c->of[j];
		if (of->count == 0)
			continue;
		find_share(c, of, before, t * of->k);
		before = of;
		if (!(t * of->k > 0))
			of->slope = 0; /* in place of infinite: so slow that it is 0 as a double */
		sum += of->count * of->x;
		*by_t += of->count * of->slope * of->k;
		of->slope *= t;
	}
	return sum;
}

/* The sum is concave in t, so from the second step on t rises to the solution. */
static void find_time(struct classes *c, double target, size_t n)
{
	double speed = 0, by_t, was = 0;

	for (size_t j = 0; j < c->n; j++)
		speed += c->of[j].count * c->of[j].k;
	c->t = part_cost_real(c->cost, target / (double)n) / c->cost->scale * (double)n / speed;
	for (int step = 0; step < 60 && fabs(c->t - was) > 1e-9 * c->t; step++) {
		double next = c->t + (target - sum_at(c, c->t, &by_t)) / by_t;
		was = c->t;
		c->t = next > 0 ? next : was / 2;
	}
	sum_at(c, c->t, &by_t);
}

hetpart_status part_classes_solve(struct classes *c, const hetpart_cost *cost, const double *k,
				  size_t n, double target, hetpart_err *err)
{
	*c = (struct classes){ .cost = cost };
	if (cost->kind == COST_NLOGN) {
		hetpart_status rc = part_lambert_open(&c->gsl, err);
		if (rc != HETPART_OK)
			return rc;
	}
	choose_width(c, k, n);
	c->of = part_calloc(c->n, sizeof *c->of);
	if (!c->of)
		return part_fail(err, HETPART_ENOMEM, "no memory for %zu classes of speed", c->n);
	fill(c, k, n);
	find_time(c, target, n);
	return HETPART_OK;
}

void part_classes_free(struct classes *c)
{
	part_lambert_close(&c->gsl);
	free(c->of);
}

void part_classes_shares(const struct classes *c, const double *k, size_t n, double least,
			 double *share)
{
	for (size_t i = 0; i < n; i++) {
		const struct class *of = class_of(c, k[i]);
		share[i] = max_double(least, of->x + of->slope * (k[i] - of->k));
	}
}
