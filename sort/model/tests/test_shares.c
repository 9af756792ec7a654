/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shares by every method: they add up to the records, follow the speeds, and differ from the exact
 * shares only by the known error of each formula. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <math.h>
#include "model/shares.h"

#define LEN(a) (sizeof(a) / sizeof *(a))

static const double speed_sets[][4] = {
	{ 1, 1, 1, 1 }, { 1, 1.5, 1, 1.5 }, { 1, 2, 4, 8 }, { 1e-300, 1, 1e300, 1 }
};
static const uint64_t counts[] = { 0, 1, 3, 4, 5, 1000, 1000000, UINT64_C(1) << 40 };

static double last_end(const uint64_t *share, const double *speed, bool sorting)
{
	double last = 0;
	for (size_t i = 0; i < 4; i++) {
		const double n = (double)share[i];
		const double t = (sorting ? n > 1 ? n * log(n) : 0 : n) / speed[i];
		last = t > last ? t : last;
	}
	return last;
}

static void sums_to_records(void **state)
{
	(void)state;
	for (int kind = PLAN_EQUAL; kind <= PLAN_ASYMPTOTIC; kind++)
		for (size_t s = 0; s < LEN(speed_sets); s++)
			for (size_t c = 0; c < LEN(counts); c++)
				for (int sorting = 0; sorting < 2; sorting++) {
					uint64_t share[4] = { 0 }, sum = 0;
					err e = { ST_OK, "" };
					assert_int_equal(
						shares_by_speed(
							shares_kind((plan_kind)kind, sorting),
							counts[c], speed_sets[s], 4, share, &e),
						ST_OK);
					for (size_t i = 0; i < 4; i++)
						sum += share[i];
					assert_true(sum == counts[c]);
				}
}

/* Each method may exceed the exact makespan by its known error. With speeds 1, 2, 4, 8 and 1e6
 * records to sort, this is 4.26 % for proportional shares and 0.21 and 0.07 % for the formulas. */
static void methods_differ(void **state)
{
	static const struct {
		plan_kind kind;
		double least, most;
	} known[] = { { PLAN_EQUAL, 2, 4 },
		      { PLAN_LINEAR, 1.04, 1.05 },
		      { PLAN_NLOGN, 1, 1 },
		      { PLAN_TAYLOR, 1.001, 1.003 },
		      { PLAN_ASYMPTOTIC, 1.0003, 1.001 } };
	const double *speed = speed_sets[2];
	uint64_t exact[4], share[4];
	err e = { ST_OK, "" };
	(void)state;
	assert_int_equal(shares_by_speed(PLAN_NLOGN, 1000000, speed, 4, exact, &e), ST_OK);
	for (size_t i = 0; i < LEN(known); i++) {
		assert_int_equal(shares_by_speed(known[i].kind, 1000000, speed, 4, share, &e),
				 ST_OK);
		const double ratio = last_end(share, speed, true) / last_end(exact, speed, true);
		assert_true(ratio >= known[i].least && ratio <= known[i].most);
	}
}

/* Shares that are not sorted are proportional to the speeds, for every formula. */
static void moving_is_linear(void **state)
{
	const double *speed = speed_sets[2];
	uint64_t share[4];
	err e = { ST_OK, "" };
	(void)state;
	for (int kind = PLAN_LINEAR; kind <= PLAN_ASYMPTOTIC; kind++) {
		assert_int_equal(shares_by_speed(shares_kind((plan_kind)kind, false), 1500, speed,
						 4, share, &e),
				 ST_OK);
		for (size_t i = 0; i < 4; i++)
			assert_true(share[i] == 100u << i);
	}
}

static void refuses(void **state)
{
	const double bad[] = { 1, 0 };
	uint64_t share[2];
	err e = { ST_OK, "" };
	(void)state;
	assert_int_equal(shares_by_speed(PLAN_LINEAR, 10, bad, 2, share, &e), ST_REFUSED);
	assert_memory_equal(e.text, "cannot plan the shares: ", 24);
}

/* Ranks whose costs are proportional to the records have shares in proportion to their speeds. */
static double seconds(void *speed, uint64_t n)
{
	return (double)n / *(const double *)speed;
}

static void by_costs_as_by_speeds(void **state)
{
	static const double sets[][4] = { { 1, 1, 1, 1 },
					  { 1, 1.5, 1, 1.5 },
					  { 1, 2, 4, 8 },
					  { 3e-200, 1e-200, 1e-200, 1e-200 } };
	(void)state;
	for (size_t k = 0; k < sizeof sets / sizeof *sets; k++) {
		double speed[4];
		uint64_t want[4], share[4];
		err e = { ST_OK, "" };
		memcpy(speed, sets[k], sizeof speed);
		assert_int_equal(shares_by_speed(PLAN_LINEAR, 40000000, speed, 4, want, &e), ST_OK);
		assert_int_equal(shares_by_costs(40000000, seconds, speed, sizeof *speed, 4, NULL,
						 share, &e),
				 ST_OK);
		for (size_t i = 0; i < 4; i++)
			assert_true(share[i] <= want[i] + 2 && want[i] <= share[i] + 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_costs_as_by_speeds),
		cmocka_unit_test(sums_to_records),
		cmocka_unit_test(methods_differ),
		cmocka_unit_test(moving_is_linear),
		cmocka_unit_test(refuses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
