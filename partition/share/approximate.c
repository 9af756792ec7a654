/* SPDX-License-Identifier: GPL-3.0-or-later */
/* approximate.c - approximate real shares: by classes of nearly the same speed, and by eq (5) and
 * Theorem 2 of [S4]. Also Lambert's W, which solves n ln n. A share from a class has a relative
 * error of about a tenth of the square of the class's relative width. One Newton step then makes it
 * exact. Must not contain: whole numbers. Classes cost O(p) simple steps, and about five logarithms
 * or inverses of the cost for each class. Eq (5) costs one logarithm for each processor, Theorem 2
 * costs two. */
#include <stdlib.h>
#include <string.h>

#include "share.h"

/* ------------------------------------------------------------------------------- Lambert's W */

hetpart_status part_lambert_open(part_lambert *l, hetpart_err *err)
{
	/* GSL 2.8, 2.7, 2.6, 2.5, and any version that was built here: all have this call. */
	static const char *const files[] = { "libgsl.so.28", "libgsl.so.27", "libgsl.so.25",
					     "libgsl.so.23", "libgsl.so",    NULL };
	const part_loaded_call call = { "gsl_sf_lambert_W0_e", &l->w0_e };
	return part_load(&l->library, files, &call, 1,
			 "the cost n ln n needs GSL, the others do not", err);
}

void part_lambert_close(part_lambert *l)
{
	part_unload(&l->library);
}

/* Do not call GSL above 1e308, because from 0.99996 DBL_MAX on it would end the process. For tiny y
 * it is inexact, but there W(y) = y to the last digit. */
double part_lambert_w(const part_lambert *l, double y)
{
	gsl_sf_result w;
	if (!(y > 1e-20))
		return max_double(y, 0);
	/* part_lambert_open loads it. NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage) */
	return l->w0_e(min_double(y, 1e308), &w) == 0 ? w.val : NAN;
}

/* ------------------------------------------------------------------------------------- classes */

#define CLASSES_MIN 16 /* more would take longer than the Newton step that they save */
#define CLASSES_MAX 4096
#define CLASS_PROCS 16   /* processors for each class, if there are enough */
#define WIDTH_SHIFT 42   /* low bits of a speed that are ignored: 1024 classes for a factor of 2 */
#define NEIGHBOURS  0.01 /* relative distance of y at which one Newton step finds W to 5e-5 */

/* Return the leading bits of a number >= 0: a larger number has the same bits or larger ones. */
static uint64_t leading_bits(double k, int shift)
{
	uint64_t bits;
	memcpy(&bits, &k, sizeof bits);
	return bits >> shift;
}

static part_class *class_of(const part_classes *c, double k)
{
	return &c->of[leading_bits(k, c->shift) - c->first];
}

/* Set the shares of all classes at time t. Return the sum of all shares, and its derivative by t in
 * *by_t. For n ln n a share is y/W(y), where y is time times speed. If W is known for a nearby y,
 * from the class before or the time before, one Newton step finds W(y); otherwise GSL does. A
 * Newton step for the next time squares the error. */
static double classes_sum(part_classes *c, double t, double *by_t)
{
	const part_class *before = NULL;
	double sum = 0;
	*by_t = 0;
	for (size_t j = 0; j < c->n; j++) {
		part_class *const of = &c->of[j];
		if (of->count == 0)
			continue;
		const part_class *const near = of->w > 0 ? of : before;
		const double y = t * of->k;
		if (c->cost->kind == COST_NLOGN) {
			of->w = near && near->w > 0 && fabs(y - near->y) <= NEIGHBOURS * y
					? part_lambert_near(near->w, y)
					: part_lambert_w(&c->gsl, y);
			of->x = of->w > 0.5 ? y / of->w : exp(of->w);
			of->slope = 1 / (1 + of->w);
		} else {
			of->x = part_unit_inverse(c->cost, y, &of->slope);
		}
		of->y = y;
		before = of;
		if (!(y > 0))
			of->slope = 0; /* not infinite: the speed is so small that y is 0 */
		sum += of->count * of->x;
		*by_t += of->count * of->slope * of->k;
		of->slope *= t;
	}
	return sum;
}

hetpart_status part_classes_solve(part_classes *c, const hetpart_cost *cost, const double *k,
				  size_t n, double target, hetpart_err *err)
{
	const uint64_t most = min_u64(CLASSES_MAX, max_u64(CLASSES_MIN, n / CLASS_PROCS));
	double slowest = k[0], fastest = k[0], speed = 0, by_t, was = 0;
	*c = (part_classes){ .cost = cost, .shift = WIDTH_SHIFT };
	if (cost->kind == COST_NLOGN) {
		const hetpart_status rc = part_lambert_open(&c->gsl, err);
		if (rc != HETPART_OK)
			return rc;
	}
	for (size_t i = 1; i < n; i++) {
		slowest = min_double(slowest, k[i]);
		fastest = max_double(fastest, k[i]);
	}
	while (leading_bits(fastest, c->shift) - leading_bits(slowest, c->shift) >= most)
		c->shift++;
	c->first = leading_bits(slowest, c->shift);
	c->n = (size_t)(leading_bits(fastest, c->shift) - c->first) + 1;
	if (!part_array(c->of, c->n))
		return part_no_memory(err, c->n, "classes of speed");
	for (size_t i = 0; i < n; i++) {
		part_class *const of = class_of(c, k[i]);
		of->k += k[i];
		of->count++;
	}
	for (size_t j = 0; j < c->n; j++) {
		if (c->of[j].count > 0)
			c->of[j].k /= c->of[j].count;
		speed += c->of[j].count * c->of[j].k;
	}
	/* The sum is concave in t, so from the second step on t only rises, to the solution. */
	c->t = part_cost_real(c->cost, target / (double)n) / c->cost->scale * (double)n / speed;
	for (int step = 0; step < 60 && fabs(c->t - was) > 1e-9 * c->t; step++) {
		const double next = c->t + (target - classes_sum(c, c->t, &by_t)) / by_t;
		was = c->t;
		c->t = next > 0 ? next : was / 2;
	}
	classes_sum(c, c->t, &by_t);
	return HETPART_OK;
}

void part_classes_free(part_classes *c)
{
	part_lambert_close(&c->gsl);
	free(c->of);
}

void part_classes_shares(const part_classes *c, const double *k, size_t n, double least,
			 double *share)
{
	for (size_t i = 0; i < n; i++) {
		const part_class *const of = class_of(c, k[i]);
		share[i] = max_double(least, of->x + of->slope * (k[i] - of->k));
	}
}

/* ------------------------------------------------------------------------------------- eq (5) */

/* Eq (5), with speeds k that sum to 1: n_i = k_i N (1 + (sum_j k_j ln k_j - ln k_i)/ln N). */
hetpart_status part_taylor(const part_procs *ps, uint64_t items, double *real, double *log_k,
			   hetpart_err *err)
{
	const double n = (double)items, log_n = log(n);
	long double sum = 0, entropy = 0;
	if (items < 3 || items <= ps->n)
		return part_fail(err, HETPART_ENOSOL,
				 "eq (5) needs 3 items and more items than processors");
	for (size_t i = 0; i < ps->n; i++)
		sum += (double)(ps->speeds[i] * ps->unit);
	const double log_sum = log((double)sum) + ps->shift * M_LN2;
	for (size_t i = 0; i < ps->n; i++) {
		real[i] = (double)(ps->speeds[i] * ps->unit / sum);
		log_k[i] = log(ps->speeds[i]) - log_sum;
		entropy += real[i] * log_k[i];
	}
	for (size_t i = 0; i < ps->n; i++)
		real[i] *= n * (1 + ((double)entropy - log_k[i]) / log_n);
	return HETPART_OK;
}

/* ---------------------------------------------------------------------------------- Theorem 2 */

/* Return the share x (ln x + ln ln x)/(ln x)^2 for x >= e, and its derivative in *slope. The first
 * term in the paper lacks a factor ln x. */
static double theorem2(double x, double *slope)
{
	const double l = log(x), ll = log(l), n = x * (l + ll) / (l * l), r = 1 / l;
	*slope = n / x * (1 + (1 + r) / (l + ll) - 2 * r);
	return n;
}

/* Set the shares at time t and their derivatives. Return the sum, and its derivative in *slope. */
static double theorem2_sum(const part_procs *ps, double t, double *real, double *rate,
			   double *slope)
{
	long double sum = 0, ds = 0;
	for (size_t i = 0; i < ps->n; i++) {
		const double k = (double)(ps->speeds[i] * ps->unit);
		double d;
		real[i] = theorem2(max_double(M_E, t * k), &d);
		rate[i] = d * k;
		sum += real[i];
		ds += rate[i];
	}
	*slope = (double)ds;
	return (double)sum;
}

static double theorem2_class_sum(const part_classes *c, double t, double *slope)
{
	double sum = 0;
	*slope = 0;
	for (size_t j = 0; j < c->n; j++) {
		const part_class *const of = &c->of[j];
		double d;
		if (of->count == 0)
			continue;
		sum += of->count * theorem2(max_double(M_E, t * of->k), &d);
		*slope += of->count * d * of->k;
	}
	return sum;
}

hetpart_status part_asymptotic(const part_procs *ps, uint64_t items, double *real, double *rate,
			       hetpart_err *err)
{
	const double n = (double)items;
	double slowest = INFINITY, sum = INFINITY, slope;
	part_classes c;
	part_scale(rate, ps->speeds, ps->n, ps->unit);
	for (size_t i = 0; i < ps->n; i++)
		slowest = min_double(slowest, rate[i]);
	const hetpart_status rc = part_classes_solve(&c, ps->cost, rate, ps->n, n, err);
	if (rc != HETPART_OK)
		return rc;
	const double least = M_E / slowest; /* Theorem 2 holds from here on */
	if (isfinite(least)) {
		sum = theorem2_class_sum(&c, least, &slope);
		if (fabs(sum - n) < 1e-3 * n)
			sum = theorem2_sum(ps, least, real, rate, &slope);
	}
	if (!(sum <= n)) {
		part_classes_free(&c);
		return part_fail(err, HETPART_ENOSOL,
				 "Theorem 2 does not hold: a processor gets fewer than e items");
	}
	/* Find the time by Newton's method: first approximately, by classes of speed, then exactly,
	 * over all processors. The exact steps change the shares very little. */
	double t = max_double(least, c.t), was = 0;
	for (int step = 0; step < 60 && fabs(t - was) > 1e-9 * t; step++) {
		was = t;
		t += (n - theorem2_class_sum(&c, t, &slope)) / slope;
		t = max_double(least, t);
	}
	part_classes_free(&c);
	double by = t;
	for (int step = 0; step < 20 && fabs(by) > 1e-7 * t; step++) {
		by = (n - theorem2_sum(ps, t, real, rate, &slope)) / slope;
		t += by;
	}
	for (size_t i = 0; i < ps->n; i++)
		real[i] += by * rate[i];
	return HETPART_OK;
}
