/* SPDX-License-Identifier: GPL-3.0-or-later */
/* test_threads.c - several threads plan at once with the same cost, model and wisdom, and get the
 * plan that one thread gets. ThreadSanitizer checks this test. */
#include "tests.h"

#include <pthread.h>

enum { THREADS = 4, P = 50, PLANS = 8 };

static hetpart_cost *nlogn, *table, *line;
static hetpart_model *model;
static hetpart_wisdom *wisdom;
static double speeds[P];

/* Return a number for the makespan of a chain, 0 if it failed. */
static uint64_t plan_chain(void)
{
	double w[] = { 1, 2, 3 }, z[] = { .1, .2 }, v[] = { 1, 2, 3 };
	hetpart_chain ch = HETPART_CHAIN_INIT;
	hetpart_schedule *sd;
	uint64_t bits = 0;

	ch.nprocs = ch.nloads = 3, ch.w = w, ch.z = z, ch.vcomm = ch.vcomp = v;
	if (hetpart_chain_create(&sd, &ch, NULL, NULL) != HETPART_OK)
		return 0;
	double t = hetpart_schedule_makespan(sd);
	memcpy(&bits, &t, sizeof bits);
	hetpart_schedule_free(sd);
	return bits;
}

/* Set the hashes of one plan of each kind, 0 if it failed. */
static void plan_all(uint64_t hash[PLANS])
{
	const hetpart_cost *three[] = { table, table, table };
	hetpart_worker workers[] = { { nlogn, NULL }, { nlogn, nlogn } };
	hetpart_scatter_proc procs[] = { { line, line }, { line, NULL } };
	hetpart_scatter_opts scatter = HETPART_SCATTER_OPTS_INIT;
	hetpart_plan *pl[PLANS] = { NULL };
	hetpart_wisdom *back;
	char text[4000];
	hetpart_status rc[PLANS + 1];

	rc[0] = hetpart_share_create(&pl[0], 1000000, speeds, P, nlogn, NULL, NULL);
	rc[1] = hetpart_share_unrelated_create(&pl[1], 100, three, 3, NULL, NULL);
	rc[2] = hetpart_model_plan(&pl[2], model, 1000000, speeds, P, NULL, NULL);
	rc[3] = hetpart_emulate_best(&pl[3], speeds, P, 500, NULL);
	rc[4] = hetpart_farm_create(&pl[4], 10000, workers, 2, HETPART_CHUNK_GUIDED, 1, NULL);
	scatter.method = HETPART_SCATTER_LP;
	rc[5] = hetpart_scatter_create(&pl[5], 1000, procs, 2, &scatter, NULL);
	scatter.method = HETPART_SCATTER_MULTIRES;
	rc[6] = hetpart_scatter_create(&pl[6], 100000, procs, 2, &scatter, NULL);
	rc[7] = HETPART_OK;
	size_t len = hetpart_wisdom_print(wisdom, text, sizeof text);
	rc[PLANS] = hetpart_wisdom_parse(&back, text, len, "here", 0, NULL);
	hetpart_wisdom_free(back);
	for (size_t i = 0; i < PLANS; i++) {
		hash[i] = rc[i] == HETPART_OK && rc[PLANS] == HETPART_OK ? hetpart_plan_hash(pl[i])
									 : 0;
		hetpart_plan_free(pl[i]);
	}
	hash[7] = plan_chain();
}

static void *work(void *arg)
{
	for (int i = 0; i < 5; i++)
		plan_all(arg);
	return NULL;
}

static void same_plans(void **state)
{
	hetpart_point seen[] = { { 1000, 10 }, { 20000, 300 }, { 50000, 800 } };
	uint64_t want[PLANS], got[THREADS][PLANS];
	pthread_t tid[THREADS];
	double t[101];

	(void)state;
	for (size_t i = 0; i < P; i++)
		speeds[i] = 1 + (double)(i % 7);
	for (size_t i = 0; i < LEN(t); i++)
		t[i] = (double)(i * 7 % 50);
	OK(hetpart_cost_nlogn(&nlogn, 1, &err));
	OK(hetpart_cost_affine(&line, 1, 2, 1, &err));
	OK(hetpart_cost_table(&table, t, LEN(t), 1, &err));
	OK(hetpart_wisdom_create(&wisdom, "here", &err));
	OK(hetpart_wisdom_model(wisdom, "m", &model, &err));
	OK(hetpart_model_add(model, seen, LEN(seen), &err));
	plan_all(want);
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&tid[i], NULL, work, got[i]), 0);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(tid[i], NULL);
	for (size_t i = 0; i < THREADS; i++)
		for (size_t j = 0; j < PLANS; j++) {
			assert_true(want[j] != 0);
			assert_true(got[i][j] == want[j]);
		}
	hetpart_cost_free(nlogn);
	hetpart_cost_free(line);
	hetpart_cost_free(table);
	hetpart_wisdom_free(wisdom);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(same_plans) };
	return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
