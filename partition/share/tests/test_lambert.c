/* SPDX-License-Identifier: GPL-3.0-or-later */
/* test_lambert.c - Lambert's W by GSL and by the step of Newton's method from a neighbour's W,
 * compared over the range of a double. */
#include "tests/tests.h"

#include <float.h>

#include "share/share.h"

/* Return the largest relative difference, from 1e-20 to 1e308, of GSL's W and steps from a
 * neighbour's W. The neighbour is 1 + apart times as large, or as small. */
static double worst(const part_lambert *l, double apart, int steps)
{
	double most = 0;

	for (double e = -20; e <= 308; e += 0.003) {
		double y = pow(10, e), w = part_lambert_w(l, y);
		double up = part_lambert_w(l, min_double(y * (1 + apart), 1e308)),
		       down = part_lambert_w(l, y / (1 + apart));
		assert_true(up >= w && w >= down && down > 0);
		for (int i = 0; i < steps; i++) {
			up = part_lambert_near(up, y);
			down = part_lambert_near(down, y);
		}
		most = fmax(most, fmax(fabs(up / w - 1), fabs(down / w - 1)));
	}
	return most;
}

static void gsl_and_the_step(void **state)
{
	part_lambert l;

	(void)state;
	OK(part_lambert_open(&l, &err));
	assert_true(worst(&l, 0, 1) <= 4 * DBL_EPSILON);
	assert_true(worst(&l, 1e-9, 1) <= 4 * DBL_EPSILON);
	for (double apart = 1e-6; apart < 1; apart *= 4) {
		double one = worst(&l, apart, 1);
		assert_true(one <= apart * apart && one > apart * apart / 10); /* squared */
		assert_true(worst(&l, apart, 2) <= one * one + 4 * DBL_EPSILON);
		assert_true(worst(&l, apart, 5) <= 4 * DBL_EPSILON);
	}
	part_lambert_close(&l);
}

/* Check W e^W = y, in long double. */
static void by_definition(void **state)
{
	part_lambert l;

	(void)state;
	OK(part_lambert_open(&l, &err));
	for (double e = -20; e <= 308; e += 0.01) {
		double y = pow(10, e);
		long double w = part_lambert_w(&l, y), off = w * expl(w) / y - 1;
		assert_true(fabsl(off) <= (1 + w) * 3 * (long double)DBL_EPSILON);
	}
	part_lambert_close(&l);
}

/* Check where GSL has no answer, or would end the process. */
static void ends(void **state)
{
	part_lambert l;

	(void)state;
	OK(part_lambert_open(&l, &err));
	assert_true(part_lambert_w(&l, 0) == 0);
	assert_true(part_lambert_w(&l, -1) == 0);
	assert_true(part_lambert_w(&l, NAN) == 0);
	assert_true(part_lambert_w(&l, 5e-324) == 5e-324);
	assert_true(part_lambert_w(&l, 1e-42) == 1e-42);
	NEAR(part_lambert_w(&l, 1.0001e-20), 1.0001e-20, 1e-15);
	NEAR(part_lambert_w(&l, DBL_MAX), 702.641362, 1e-8);
	assert_true(part_lambert_w(&l, INFINITY) == part_lambert_w(&l, 1e308));
	part_lambert_close(&l);
	part_lambert_close(&l); /* nothing is loaded */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gsl_and_the_step),
		cmocka_unit_test(by_definition),
		cmocka_unit_test(ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
