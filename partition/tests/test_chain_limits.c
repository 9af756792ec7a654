/* SPDX-License-Identifier: GPL-3.0-or-later */
/* test_chain_limits.c - chains that time, memory or the caller end: the schedule is complete, and
 * within a bound. */
#include "tests.h"

#include "chain/chain.h"

static int at_once(void *ctx)
{
	(void)ctx;
	return 1;
}

/* Check that a method that ends early still has a schedule, complete and within a bound. */
static void stopped_schedule(const hetpart_chain *ch, const hetpart_chain_opts *opts,
			     hetpart_status why)
{
	hetpart_schedule *sd, *again;
	const double *f;
	hetpart_chain as_made = *ch;
	size_t n, q[60];

	OK(hetpart_chain_create(&sd, ch, opts, &err));
	assert_int_equal(hetpart_schedule_stopped(sd), why);
	assert_true(hetpart_schedule_makespan(sd) >= hetpart_schedule_lower_bound(sd));
	assert_true(hetpart_schedule_makespan(sd) < 2 * hetpart_schedule_lower_bound(sd));
	f = hetpart_schedule_fractions(sd, &n);
	for (size_t k = 0; k < ch->nloads; k++)
		q[k] = hetpart_schedule_installments(sd, k);
	as_made.installments = q;
	OK(hetpart_chain_replay(&again, &as_made, f, n, &err));
	NEAR(hetpart_schedule_makespan(again), hetpart_schedule_makespan(sd), 1e-9);
	assert_int_equal(hetpart_schedule_stopped(again), HETPART_OK);
	hetpart_schedule_free(sd);
	hetpart_schedule_free(again);
}

/* Use a chain for which MULTIINST would need installments without limit. */
static void hostile_chain(void **state)
{
	hetpart_chain_opts opts = HETPART_CHAIN_OPTS_INIT;
	double w[20], z[19], v[40];
	hetpart_chain ch = HETPART_CHAIN_INIT;

	(void)state;
	for (size_t i = 0; i < 20; i++)
		w[i] = 1;
	for (size_t i = 0; i < 19; i++)
		z[i] = 5e-5;
	for (size_t n = 0; n < 40; n++)
		v[n] = n % 2 ? 1e4 : 1e-4;
	ch.nprocs = 20, ch.nloads = 40, ch.w = w, ch.z = z, ch.vcomm = v, ch.vcomp = v;
	opts.method = HETPART_CHAIN_MULTIINST;
	opts.limit_s = INFINITY;
	opts.stop = at_once;
	stopped_schedule(&ch, &opts, HETPART_ECANCEL);
}

static void time_limit(void **state)
{
	hetpart_chain_opts opts = HETPART_CHAIN_OPTS_INIT;
	double w[10], z[9], v[60];
	size_t q[60];
	hetpart_chain ch = HETPART_CHAIN_INIT;
	uint64_t s = 1;

	(void)state;
	for (size_t i = 0; i < 10; i++)
		w[i] = 1 + rnd_real(&s);
	for (size_t i = 0; i < 9; i++)
		z[i] = .01 + .1 * rnd_real(&s);
	for (size_t n = 0; n < 60; n++)
		v[n] = .1 + rnd_real(&s), q[n] = 8;
	ch.nprocs = 10, ch.nloads = 60, ch.w = w, ch.z = z, ch.vcomm = v, ch.vcomp = v;
	ch.installments = q;
	opts.limit_s = 1e-3;
	stopped_schedule(&ch, &opts, HETPART_ETIME);
	opts.limit_s = INFINITY;
	opts.max_mem_bytes = 1000;
	stopped_schedule(&ch, &opts, HETPART_ENOMEM);
	opts.method = HETPART_CHAIN_MULTIINST;
	stopped_schedule(&ch, &opts, HETPART_ENOMEM);
	opts.max_mem_bytes = 0;
	opts.stop = at_once;
	for (int m = HETPART_CHAIN_LP; m <= HETPART_CHAIN_MULTIINST; m++) {
		opts.method = (hetpart_chain_method)m;
		if (m == HETPART_CHAIN_LP || m == HETPART_CHAIN_MULTIINST)
			stopped_schedule(&ch, &opts, HETPART_ECANCEL);
	}
	opts.method = HETPART_CHAIN_LP;
	assert_true(hetpart_chain_mem_bytes(&ch, &opts) > 480 * 10 * 8);
	assert_true(hetpart_chain_mem_bytes(&ch, &opts) < HETPART_MEM_DEFAULT_BYTES);
	assert_true(hetpart_chain_mem_bytes(NULL, &opts) == UINT64_MAX);
}

/* A heuristic may not append more installments than the dates that are possible. */
static void too_many_dates(void **state)
{
	const chain_problem ch = { .m = 3 };
	hetpart_schedule sd = { .total = CHAIN_DATES_MAX / 3 };

	(void)state;
	assert_int_equal(part_schedule_grow(&sd, &ch, 1, &err), HETPART_ERANGE);
	assert_string_equal(err.text, "more than 100000000 fractions are not possible");
	assert_true(sd.total == CHAIN_DATES_MAX / 3 && sd.room == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_limit),
		cmocka_unit_test(hostile_chain),
		cmocka_unit_test(too_many_dates),
	};
	return cmocka_run_group_tests_name("chain limits", tests, NULL, NULL);
}
