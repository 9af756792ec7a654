/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calibration under a clock of the test's own. It must find the speed of a processor that is ours
 * for a part of the time, for all parts and periods. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include "base/limit.h"
#include "model/calibrate.h"

#define LEN(a) (sizeof(a) / sizeof *(a))

enum { MOST = 4000 };

/* Return the time at which `work` seconds of a free processor are done, if ours works for the part
 * `share` of each period and waits for the rest. */
static double when(double work, double share, double period, double phase)
{
	const double per = share * period, done = work + phase * per;
	const double whole = floor(done / per);
	return (whole + (done - whole * per) / period - phase * share) * period;
}

/* Measure laps of these lengths for 0.18 s by that clock. */
static lap_times laps(const double length[KERNELS], double share, double period, double phase)
{
	static double at[MOST + 1], cpu[MOST + 1];
	double work = 0;
	size_t n = 0;
	at[0] = when(0, share, period, phase);
	do
		for (size_t k = 0; k < KERNELS; k++) {
			work += length[k];
			n++;
			at[n] = when(work, share, period, phase);
			cpu[n] = work;
		}
	while (n + KERNELS <= MOST && at[n] - at[0] < 0.18);
	return calibrate_laps(at, cpu, n);
}

/* Each factor is within 5 % of the true one, or 3 % if periods are 10 ms or less, and within the
 * error that is reported for it and 2 %. */
static void finds_the_share(void **state)
{
	static const double lengths[][KERNELS] = { { 0.6e-3, 0.7e-3, 0.5e-3, 0.2e-3 },
						   { 0.3e-3, 1.5e-3, 0.1e-3, 0.1e-3 },
						   { 2e-3, 2e-3, 2e-3, 2e-3 },
						   { 6e-5, 7e-5, 5e-5, 3e-5 } };
	static const double shares[] = { 1, 0.9, 0.6667, 0.5, 0.3, 0.2 };
	static const double periods[] = { 1e-3, 5e-3, 10e-3, 30e-3 };
	(void)state;
	for (size_t l = 0; l < LEN(lengths); l++)
		for (size_t s = 0; s < LEN(shares); s++)
			for (size_t p = 0; p < LEN(periods); p++)
				for (double phase = 0; phase < 1; phase += 0.09) {
					double sum = 0, true_sum = 0;
					const lap_times t =
						laps(lengths[l], shares[s], periods[p], phase);
					for (size_t k = 0; k < KERNELS; k++) {
						sum += t.lap_s[k];
						true_sum += lengths[l][k] / shares[s];
					}
					const double off = fabs(sum / true_sum - 1);
					assert_true(off < (periods[p] <= 10e-3 ? 0.03 : 0.05));
					assert_true(off < t.share_error + t.lap_error + 0.02);
					assert_true(t.share_error < (shares[s] < 1 ? 1 : 1e-6));
				}
}

/* On a free processor the laps of each kernel are exact. */
static void distinguishes_kernels(void **state)
{
	static const double length[KERNELS] = { 0.3e-3, 1.5e-3, 0.1e-3, 0.2e-3 };
	(void)state;
	const lap_times t = laps(length, 1, 1, 0);
	for (size_t k = 0; k < KERNELS; k++)
		assert_true(fabs(t.lap_s[k] / length[k] - 1) < 1e-6);
	assert_true(t.lap_error < 1e-6 && t.share_error < 1e-6);
}

/* An interrupt makes one lap of ten rounds 20 times longer. The other laps count. */
static void one_long_lap(void **state)
{
	enum { ROUNDS = 10 };
	double cpu[ROUNDS * KERNELS + 1] = { 0 };
	(void)state;
	for (size_t i = 0; i < ROUNDS * KERNELS; i++)
		cpu[i + 1] = cpu[i] + (i == 4 ? 20e-3 : 1e-3);
	const lap_times t = calibrate_laps(cpu, cpu, ROUNDS * KERNELS);
	for (size_t k = 0; k < KERNELS; k++)
		assert_true(fabs(t.lap_s[k] / 1e-3 - 1) < 1e-6);
	assert_true(t.lap_error < 1e-6);
}

/* Laps of many lengths, and a processor that comes and goes, make the speed uncertain: a third of
 * the time without the processor is seen as an error of the share. */
static void doubt_is_reported(void **state)
{
	enum { ROUNDS = 20, N = ROUNDS * KERNELS };
	double cpu[N + 1] = { 0 }, at[N + 1] = { 0 };
	(void)state;
	for (size_t i = 0; i < N; i++) {
		cpu[i + 1] = cpu[i] + (i / KERNELS % 2 ? 1e-3 : 2e-3);
		at[i + 1] = at[i] + (i < N / 3 ? 3 : 1) * (cpu[i + 1] - cpu[i]);
	}
	const lap_times t = calibrate_laps(at, cpu, N);
	assert_true(t.lap_error > 0.2);
	assert_true(t.share_error > 0.3);
}

static void odd_input(void **state)
{
	const double one[] = { 5, 6, 8, 11, 12 }, still[] = { 5, 5, 5, 5, 5 };
	(void)state;
	lap_times t = calibrate_laps(one, one, KERNELS);
	const double *lap = t.lap_s;
	assert_true(fabs(lap[KERNEL_SORT] + lap[KERNEL_MERGE] + lap[KERNEL_COPY] +
			 lap[KERNEL_FILE] - 7) < 0.5);
	assert_true(t.lap_error >= 1); /* one lap of each kernel shows nothing */
	t = calibrate_laps(still, still, KERNELS);
	assert_true(t.lap_s[KERNEL_SORT] == 0 && t.lap_error >= 1);
}

/* Ranks of one group divide its quota in proportion to the processors that they had. */
static void quotas_bound(void **state)
{
	static const allowance a[] = {
		{ 0.30, 0.2, 1, 1, 0 },   /* a burst before a wait */
		{ 0.15, 0.2, 2, 1, 0 },   /* a pause after a burst */
		{ 0.25, 0.5, 3, 0.5, 0 }, /* slow, but not because of the quota */
		{ 0.40, 0.3, 4, 1, 0 },   /* more than the quota, from saved time */
		{ 0.40, 1.5, 5, 1, 0 },   { 1.60, 1.5, 5, 2, 0 }, /* two in one group */
		{ 0.70, 0, 1, 4, 0 },                             /* no quota at all */
		{ 0, 0.2, 6, 1, 0 },      { INFINITY, 0.2, 7, 1, 0 }, { NAN, 0.2, 8, 1, 0 },
	};
	static const double slower[] = { 1.5, 0.75, 1, 4. / 3, 4. / 3, 4. / 3, 1, 1, 1, 1 };
	(void)state;
	for (size_t i = 0; i < LEN(a); i++)
		assert_true(fabs(calibrate_slowdown(a, LEN(a), i) - slower[i]) < 1e-12);
}

/* A real calibration runs with every layout, and frees its memory. */
static void measures(void **state)
{
	static const layout layouts[] = {
		LAYOUT_BYTES(100, 0, 10),      LAYOUT_BYTES(1, 0, 1),
		LAYOUT_BYTES(16, 3, 5),        LAYOUT_BYTES(40, 8, 32),
		LAYOUT_BYTES(4096, 100, 3000), LAYOUT_BYTES(65536, 0, 65536)
	};
	(void)state;
	for (size_t i = 0; i < LEN(layouts); i++)
		for (int streams = 1; streams < 200; streams += 67) {
			const settings o = { .lay = layouts[i] };
			rank_env env = { .o = &o };
			calibration *c = NULL;
			assert_int_equal(calibrate_open(&c, &env, i % 3 + 1, streams, UINT64_MAX),
					 ST_OK);
			const calibrated all = calibrate_run(c, 0.003);
			const rates r = all.rate;
			assert_true(r.cpus > 0 && r.cpus < 1.5 * (i % 3 + 1));
			assert_true(all.lap_error >= 0 && all.share_error >= 0);
			assert_true(r.sort_s > 0 && r.merge_s > 0 && r.copy_s > 0 && r.file_s > 0);
			assert_true(isfinite(r.sort_s + r.merge_s + r.copy_s + r.file_s));
			calibrate_free(c);
			assert_int_equal(env.m.now_bytes, 0);
		}
}

/* A quota counts if it is less than the processors, and ranks share it. */
static void quotas_of_long_runs(void **state)
{
	const quota none = { 0, 0, 0 }, fifth = { 0.2, 1, 0.1 }, wide = { 6, 1, 0.1 };
	(void)state;
	assert_float_equal(quota_processors(&none, 4, 1), 4, 0);
	assert_float_equal(quota_processors(&none, 4, 8), 0.5, 0);
	assert_float_equal(quota_processors(&fifth, 4, 1), 0.2, 0);
	assert_float_equal(quota_processors(&fifth, 4, 2), 0.1, 0);
	assert_float_equal(quota_processors(&wide, 4, 2), 2, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_the_share),     cmocka_unit_test(distinguishes_kernels),
		cmocka_unit_test(one_long_lap),        cmocka_unit_test(doubt_is_reported),
		cmocka_unit_test(odd_input),           cmocka_unit_test(quotas_bound),
		cmocka_unit_test(quotas_of_long_runs), cmocka_unit_test(measures),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
