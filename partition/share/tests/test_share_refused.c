/* SPDX-License-Identifier: GPL-3.0-or-later */
/* test_share_refused.c - shares without communication: arguments that are refused, and the
 * messages.
 */
#include "tests/tests.h"

#include "base/part.h"

static hetpart_cost *nlogn, *linear;

static int setup(void **state)
{
	(void)state;
	return hetpart_cost_nlogn(&nlogn, 1, NULL) != HETPART_OK ||
	       hetpart_cost_linear(&linear, 1, NULL) != HETPART_OK;
}

static int teardown(void **state)
{
	(void)state;
	hetpart_cost_free(nlogn);
	hetpart_cost_free(linear);
	return 0;
}

/* A call that must fail, and its message. */
struct refused {
	uint64_t n;
	const double *k;
	size_t p;
	const hetpart_cost *c;
	const hetpart_opts *o;
	hetpart_status want;
	const char *says;
};

static double naughty(void *ctx, uint64_t n)
{
	return n > 3 ? *(double *)ctx : (double)n;
}

static void refusals(void **state)
{
	double k[] = { 1, 2 }, zero[] = { 1, 0 }, neg[] = { -1, 2 }, nan_[] = { 1, NAN },
	       inf[] = { INFINITY, 1 }, tab[] = { 0, 1, 2 }, down[] = { 0, 3, 1 };
	double nan_time = NAN, neg_time = -1;
	hetpart_cost *table, *falling, *free_, *nan_cost, *neg_cost;
	uint64_t caps[] = { 5, 5 };
	hetpart_opts small = HETPART_OPTS_INIT, what = HETPART_OPTS_INIT,
		     taylor = HETPART_OPTS_INIT, asym = HETPART_OPTS_INIT,
		     quantum = HETPART_OPTS_INIT, cap = HETPART_OPTS_INIT, thr = HETPART_OPTS_INIT,
		     bits = HETPART_OPTS_INIT, capt = HETPART_OPTS_INIT;
	struct refused row[40];
	size_t rows = 0;

	(void)state;
	OK(hetpart_cost_table(&table, tab, 3, 1, &err));
	OK(hetpart_cost_table(&falling, down, 3, 1, &err));
	OK(hetpart_cost_affine(&free_, 0, 0, 1, &err));
	OK(hetpart_cost_callback(&nan_cost, naughty, &nan_time, true, 1, &err));
	OK(hetpart_cost_callback(&neg_cost, naughty, &neg_time, true, 1, &err));
	small.struct_size = 3;
	what.method = (hetpart_method)77;
	taylor.method = capt.method = HETPART_METHOD_TAYLOR;
	asym.method = HETPART_METHOD_ASYMPTOTIC;
	quantum.method = HETPART_METHOD_BITSET;
	quantum.quantum = 4;
	cap.capacities = capt.capacities = caps;
	thr.method = HETPART_METHOD_THRESHOLD;
	bits.method = HETPART_METHOD_BITSET;
#define ROW(...) memcpy(&row[rows++], &(__typeof__(row[0])){ __VA_ARGS__ }, sizeof row[0])
	ROW(9, k, 0, nlogn, NULL, HETPART_EINVAL,
	    "the number of processors is '0': must be at least 1");
	ROW(9, NULL, 2, nlogn, NULL, HETPART_EINVAL, "'speeds' is NULL");
	ROW(9, k, 2, NULL, NULL, HETPART_EINVAL, "'cost' is NULL");
	ROW(9, zero, 2, nlogn, NULL, HETPART_EINVAL, "speed of processor 1 is '0'");
	ROW(9, neg, 2, nlogn, NULL, HETPART_EINVAL, "speed of processor 0 is '-1'");
	ROW(9, nan_, 2, nlogn, NULL, HETPART_EINVAL, "speed of processor 1 is 'nan'");
	ROW(9, inf, 2, nlogn, NULL, HETPART_EINVAL, "speed of processor 0 is 'inf'");
	ROW(UINT64_C(1) << 63, k, 2, nlogn, NULL, HETPART_ERANGE,
	    "the number of items is '9223372036854775808'");
	ROW(9, k, 2, free_, NULL, HETPART_EINVAL, "the cost is free");
	ROW(9, k, 2, nlogn, &small, HETPART_EINVAL, "struct_size of the options is '3'");
	ROW(9, k, 2, nlogn, &what, HETPART_EINVAL, "'77' is not a method");
	ROW(9, k, 2, linear, &taylor, HETPART_EINVAL, "n ln n only");
	ROW(9, k, 2, linear, &asym, HETPART_EINVAL, "n ln n only");
	ROW(9, k, 2, nlogn, &capt, HETPART_EINVAL, "does not support capacities");
	ROW(2, k, 2, nlogn, &taylor, HETPART_ENOSOL, "eq (5) needs");
	ROW(4, k, 2, nlogn, &asym, HETPART_ENOSOL, "Theorem 2 does not hold");
	ROW(9, k, 2, nlogn, &quantum, HETPART_EINVAL, "does not support a quantum");
	ROW(11, k, 2, nlogn, &cap, HETPART_ERANGE, "the capacities hold '10' items of 11");
	ROW(9, k, 2, falling, &thr, HETPART_EINVAL, "increasing");
	ROW(9, k, 2, table, NULL, HETPART_ERANGE, "no plan ends in finite time");
	ROW(9, k, 2, falling, NULL, HETPART_ERANGE, "no plan ends in finite time");
	ROW(1 << 30, k, 2, falling, &bits, HETPART_ENOMEM, "bytes of memory");
	ROW(INT64_MAX, k, 2, falling, &bits, HETPART_ENOMEM, "bytes of memory");
	ROW(9, k, 2, nan_cost, NULL, HETPART_EINVAL, "gives time 'nan' for");
	ROW(9, k, 2, neg_cost, NULL, HETPART_EINVAL, "gives time '-1' for");
	ROW(9, k, 2, neg_cost, &bits, HETPART_EINVAL, "gives time '-1' for");
	for (size_t i = 0; i < rows; i++) {
		hetpart_plan *pl = (hetpart_plan *)&err;
		memset(&err, 0, sizeof err);
		assert_int_equal(hetpart_share_create(&pl, row[i].n, row[i].k, row[i].p, row[i].c,
						      row[i].o, &err),
				 row[i].want);
		assert_null(pl);
		assert_int_equal(err.status, row[i].want);
		if (!strstr(err.text, row[i].says))
			fail_msg("'%s' lacks '%s'", err.text, row[i].says);
	}
	assert_int_equal(hetpart_share_create(NULL, 1, k, 2, nlogn, NULL, NULL), HETPART_EINVAL);
	hetpart_cost_free(table);
	hetpart_cost_free(falling);
	hetpart_cost_free(free_);
	hetpart_cost_free(nan_cost);
	hetpart_cost_free(neg_cost);
}

/* Check options of a later version: accepted as long as members unknown to this version are zero.
 */
static void options_grow(void **state)
{
	struct {
		hetpart_opts known;
		uint64_t later;
	} o = { HETPART_OPTS_INIT, 0 };
	double k[] = { 1, 2 };
	hetpart_plan *pl;

	(void)state;
	o.known.struct_size = sizeof o;
	OK(hetpart_share_create(&pl, 5, k, 2, nlogn, &o.known, &err));
	hetpart_plan_free(pl);
	o.later = 1;
	assert_int_equal(hetpart_share_create(&pl, 5, k, 2, nlogn, &o.known, &err), HETPART_EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refusals),
		cmocka_unit_test(options_grow),
	};
	return cmocka_run_group_tests_name("share_refused", tests, setup, teardown);
}
