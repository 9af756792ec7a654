/* SPDX-License-Identifier: GPL-3.0-or-later */
/* test_cost.c - costs: values, predicates, inverses, and every argument that must be refused. */
#include "tests/tests.h"

#include "base/part.h"

static double odd(void *ctx, uint64_t n)
{
	return *(double *)ctx * (double)(n * n);
}

static void values(void **state)
{
	hetpart_point pts[] = { { 10, 1 }, { 20, 4 } };
	double tab[] = { 0, 3, 2 }, two = 2;
	hetpart_cost *c;

	(void)state;
	OK(hetpart_cost_affine(&c, 3, 0.5, 2, &err));
	NEAR(hetpart_cost_eval(c, 0), 0, 0);
	NEAR(hetpart_cost_eval(c, 4), 10, 0);
	assert_true(hetpart_cost_increasing(c));
	assert_false(hetpart_cost_is_linear(c));
	double s, b;
	assert_true(hetpart_cost_is_affine(c, &s, &b));
	NEAR(s, 6, 0);
	NEAR(b, 1, 0);
	hetpart_cost_free(c);
	OK(hetpart_cost_nlogn(&c, 1, &err));
	NEAR(hetpart_cost_eval(c, 1), 0, 0);
	NEAR(hetpart_cost_eval(c, 1000), 6907.755278982137, 1e-14);
	assert_false(hetpart_cost_is_affine(c, &s, &b));
	hetpart_cost_free(c);
	OK(hetpart_cost_nlog2n1(&c, 10, &err));
	NEAR(hetpart_cost_eval(c, 1), 10, 1e-15);
	NEAR(hetpart_cost_eval(c, 7), 210, 1e-15);
	hetpart_cost_free(c);
	OK(hetpart_cost_power(&c, 1.5, 1, &err));
	NEAR(hetpart_cost_eval(c, 100), 1000, 1e-14);
	hetpart_cost_free(c);
	OK(hetpart_cost_piecewise(&c, pts, 2, 1, &err));
	NEAR(hetpart_cost_eval(c, 5), 0.5, 0);
	NEAR(hetpart_cost_eval(c, 15), 2.5, 1e-15);
	NEAR(hetpart_cost_eval(c, 30), 7, 1e-15);
	hetpart_cost_free(c);
	OK(hetpart_cost_table(&c, tab, 3, 1, &err));
	NEAR(hetpart_cost_eval(c, 2), 2, 0);
	assert_true(isinf(hetpart_cost_eval(c, 3)));
	assert_false(hetpart_cost_increasing(c));
	NEAR(part_cost_real(c, 0.5), 1.5, 0);
	assert_true(isinf(part_cost_real(c, 2.5)));
	hetpart_cost_free(c);
	OK(hetpart_cost_power(&c, 1, 3, &err)); /* the same as linear */
	assert_true(hetpart_cost_is_linear(c));
	hetpart_cost_free(c);
	OK(hetpart_cost_callback(&c, odd, &two, true, 0.5, &err));
	NEAR(hetpart_cost_eval(c, 3), 9, 0);
	hetpart_cost_free(c);
	hetpart_cost_free(NULL);
	assert_true(isnan(hetpart_cost_eval(NULL, 1)));
}

static void inverses(void **state)
{
	hetpart_point pts[] = { { 10, 1 }, { 20, 4 }, { 25, 30 } };
	hetpart_cost *c[5];

	(void)state;
	OK(hetpart_cost_affine(&c[0], 3, 0.5, 2, &err));
	OK(hetpart_cost_nlog2n1(&c[1], 7, &err));
	OK(hetpart_cost_power(&c[2], 0.7, 7, &err));
	OK(hetpart_cost_power(&c[3], 2.5, 7, &err));
	OK(hetpart_cost_piecewise(&c[4], pts, 3, 7, &err));
	for (size_t i = 0; i < 5; i++) {
		assert_true(part_cost_invertible(c[i]));
		for (double x = 1.25; x < 1e15; x *= 3.7) {
			double y = part_cost_real(c[i], x) / c[i]->scale, s, h = 1e-6 * y;
			NEAR(part_unit_inverse(c[i], y, &s), x, 1e-13);
			double up = part_unit_inverse(c[i], y + h, NULL);
			double down = part_unit_inverse(c[i], y - h, NULL);
			NEAR(s, (up - down) / (2 * h), 1e-4);
		}
		hetpart_cost_free(c[i]);
	}
}

#define REFUSED(status_, call)                         \
	do {                                           \
		c = (hetpart_cost *)&err;              \
		memset(&err, 0, sizeof err);           \
		assert_int_equal(call, status_);       \
		assert_null(c);                        \
		assert_int_equal(err.status, status_); \
		assert_true(strlen(err.text) > 10);    \
	} while (0)

static void refusals(void **state)
{
	hetpart_point bad[][2] = {
		{ { 1, 1 }, { 1, 2 } },        { { 2, 1 }, { 1, 2 } },   { { -1, 1 }, { 1, 2 } },
		{ { 0, NAN }, { 1, 2 } },      { { 0, 0 }, { NAN, 2 } }, { { 0, 0 }, { 1, -1 } },
		{ { 0, 0 }, { 1, INFINITY } }, { { 1, 5 }, { 2, 1 } },
	};
	hetpart_point zero = { 0, 1 };
	double tab[] = { 0, -1, NAN }, wrong[] = { 0, -1, NAN, INFINITY, -INFINITY };
	hetpart_cost *c;

	(void)state;
	for (size_t i = 0; i < LEN(wrong); i++) {
		double w = wrong[i];
		REFUSED(HETPART_EINVAL, hetpart_cost_linear(&c, w, &err));
		REFUSED(HETPART_EINVAL, hetpart_cost_affine(&c, 1, 1, w, &err));
		REFUSED(HETPART_EINVAL, hetpart_cost_nlogn(&c, w, &err));
		REFUSED(HETPART_EINVAL, hetpart_cost_nlog2n1(&c, w, &err));
		REFUSED(HETPART_EINVAL, hetpart_cost_power(&c, w, 1, &err));
		REFUSED(HETPART_EINVAL, hetpart_cost_power(&c, 2, w, &err));
		REFUSED(HETPART_EINVAL, hetpart_cost_callback(&c, odd, NULL, true, w, &err));
		if (w == 0)
			continue;
		REFUSED(HETPART_EINVAL, hetpart_cost_affine(&c, w, 1, 1, &err));
		REFUSED(HETPART_EINVAL, hetpart_cost_affine(&c, 1, w, 1, &err));
	}
	for (size_t i = 0; i < LEN(bad); i++)
		REFUSED(HETPART_EINVAL, hetpart_cost_piecewise(&c, bad[i], 2, 1, &err));
	REFUSED(HETPART_EINVAL, hetpart_cost_piecewise(&c, &zero, 1, 1, &err));
	REFUSED(HETPART_EINVAL, hetpart_cost_piecewise(&c, NULL, 1, 1, &err));
	REFUSED(HETPART_EINVAL, hetpart_cost_piecewise(&c, bad[0], 0, 1, &err));
	REFUSED(HETPART_ENOMEM, hetpart_cost_piecewise(&c, bad[0], SIZE_MAX / 2, 1, &err));
	REFUSED(HETPART_EINVAL, hetpart_cost_table(&c, NULL, 1, 1, &err));
	REFUSED(HETPART_EINVAL, hetpart_cost_table(&c, tab, 0, 1, &err));
	REFUSED(HETPART_EINVAL, hetpart_cost_table(&c, tab, 2, 1, &err));
	REFUSED(HETPART_EINVAL, hetpart_cost_table(&c, tab + 2, 1, 1, &err));
	REFUSED(HETPART_EINVAL, hetpart_cost_callback(&c, NULL, NULL, true, 1, &err));
	assert_int_equal(hetpart_cost_linear(NULL, 1, NULL), HETPART_EINVAL);
}

static void texts(void **state)
{
	(void)state;
	for (int s = HETPART_OK; s <= HETPART_EMISSING; s++)
		assert_string_not_equal(hetpart_status_text((hetpart_status)s), "unknown status");
	assert_string_equal(hetpart_status_text((hetpart_status)99), "unknown status");
	assert_string_equal(hetpart_version(), HETPART_VERSION);
	assert_string_equal(hetpart_version(), HETSORT_VERSION);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values),
		cmocka_unit_test(inverses),
		cmocka_unit_test(refusals),
		cmocka_unit_test(texts),
	};
	return cmocka_run_group_tests_name("cost", tests, NULL, NULL);
}
