/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measured speeds that may be equal become equal, and no others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include "base/arith.h"
#include "model/rank_speeds.h"

enum { MOST = 12 };

static const settings o = { .strategy = BY_MERGING, .lay = LAYOUT_BYTES(100, 0, 10) };

/* The measured ranks of a job. */
typedef struct ranks {
	rank_speeds g;
	share_plan s;
	allowance had[MOST];
	double before[MOST], after[MOST], speed[MOST];
	size_t order[MOST], like[MOST];
	rates rate[MOST];
} ranks;

static void join(ranks *r, size_t p)
{
	r->g = (rank_speeds){ .p = p,
			      .had = r->had,
			      .before = r->before,
			      .after = r->after,
			      .order = r->order,
			      .like = r->like };
	r->s = (share_plan){ .records = 1000000 * p, .speed = r->speed, .rate = r->rate };
	rank_speeds_join(&o, &r->g, &r->s);
}

static void set(ranks *r, size_t i, double speed, double error)
{
	r->rate[i] = job_time_nominal(speed, 1);
	r->had[i].error = error;
}

/* Equal ranks that are measured with errors are equal again, if the errors are reported. */
static void equal_ranks_are_equal(void **state)
{
	(void)state;
	uint64_t random = 1;
	for (int round = 0; round < 1000; round++) {
		ranks r = { .g = { 0 } };
		const size_t p = 2 + splitmix(&random) % (MOST - 1);
		const double error = (double)(splitmix(&random) % 50) / 100;
		for (size_t i = 0; i < p; i++) {
			const double part = (double)(splitmix(&random) % 1001) / 500 - 1;
			set(&r, i, 1 + part * error / (1 + error), error);
		}
		join(&r, p);
		for (size_t i = 0; i < p; i++) {
			assert_true(r.speed[i] >= 1 - 1e-9);
			assert_true(r.before[i] >= 1 - 1e-9 && r.after[i] >= 1 - 1e-9);
		}
	}
}

/* Two speeds that differ by more than their errors stay, each rank at its own, in any order. */
static void unequal_ranks_stay_unequal(void **state)
{
	static const double ratios[] = { 0.25, 0.5, 0.667, 0.9 };
	(void)state;
	for (size_t k = 0; k < sizeof ratios / sizeof *ratios; k++)
		for (size_t slow = 1; slow < 1U << 6; slow++) {
			ranks r = { .g = { 0 } };
			for (size_t i = 0; i < 6; i++)
				set(&r, i, slow >> i & 1 ? ratios[k] : 1, 0.04);
			join(&r, 6);
			for (size_t i = 0; i < 6; i++) {
				const double wanted = slow >> i & 1 && slow != 63 ? ratios[k] : 1;
				assert_true(fabs(r.speed[i] / wanted - 1) < 1e-6);
			}
		}
}

/* Ranks with the same speed in all are alike, whether they have few fast processors or many slow
 * ones, because all take part in the exchange. Processors, links and disks stay each rank's own. */
static void processors_count(void **state)
{
	ranks r = { .g = { 0 } };
	(void)state;
	for (size_t i = 0; i < 4; i++) {
		set(&r, i, 1, 0.02);
		r.rate[i].cpus = i % 2 ? 16 : 1;
		r.rate[i].disk_s = 1e-9 * (double)(i + 1);
		r.rate[i].link_s = 1e-8 * (double)(i + 1);
	}
	join(&r, 4);
	for (size_t i = 0; i < 4; i++) {
		assert_true(fabs(r.before[i] - r.before[0]) < 1e-12);
		assert_true(fabs(r.after[i] - r.after[0]) < 1e-12);
		assert_true(fabs(r.rate[i].cpus - (i % 2 ? 16 : 1)) < 1e-9);
		assert_true(fabs(r.rate[i].disk_s / (1e-9 * (double)(i + 1)) - 1) < 1e-9);
		assert_true(fabs(r.rate[i].link_s / (1e-8 * (double)(i + 1)) - 1) < 1e-9);
	}
}

/* Values that are not numbers end the search for similar ones, too. */
static void not_numbers(void **state)
{
	double value[] = { NAN, 1, INFINITY, 1.1, NAN, 0, -1 };
	size_t order[7];
	(void)state;
	rank_speeds_alike(value, order, 7, 1.25);
	assert_true(fabs(value[1] - value[3]) < 1e-12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_ranks_are_equal),
		cmocka_unit_test(unequal_ranks_stay_unequal),
		cmocka_unit_test(processors_count),
		cmocka_unit_test(not_numbers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
