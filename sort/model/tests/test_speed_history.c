/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The busy time of the last part of a rank's work, for any tasks, threads and lengths. The order
 * in which tasks end does not matter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "model/speed_history.h"
#include "base/arith.h"

#define LEN(a) (sizeof(a) / sizeof *(a))

static const double lengths_s[] = { 0.003, 0.2, 0.256, 1, 7.77, 3600, 1e6 };

/* A bin at each end, of at least half of all of them. */
static double blur_s(double length_s)
{
	return 2 * fmax(1e-3, length_s * 2 / PACE_BINS);
}

static void near(double found, double wanted, double length_s)
{
	if (!(fabs(found - wanted) <= blur_s(length_s)))
		fail_msg("%.9g, wanted %.9g of %.9g s", found, wanted, length_s);
}

/* Return the history of equal tasks, one after the other. The rank becomes slower by `factor` once
 * the part `before` of the work is done. */
static speed_history slowed(double length_s, size_t tasks, double before, double factor)
{
	speed_history p = { .bin_s = 0 };
	const double all = before + factor * (1 - before);
	double from = 0;
	for (size_t i = 0; i < tasks; i++) {
		const double done = ((double)i + 1) / (double)tasks;
		const double t = done < before ? done : before + factor * (done - before);
		const double to = length_s * t / all;
		speed_history_add(&p, from, to, 5, to - from);
		from = to;
	}
	return p;
}

static void steady_work_takes_its_part(void **state)
{
	static const size_t tasks[] = { 1, 2, 3, 32, 1000, 30000 };
	(void)state;
	for (size_t l = 0; l < LEN(lengths_s); l++)
		for (size_t t = 0; t < LEN(tasks); t++)
			for (double part = 1; part > 0.01; part /= 2) {
				const speed_history p = slowed(lengths_s[l], tasks[t], 1, 1);
				near(speed_history_last_s(&p, part), part * lengths_s[l],
				     lengths_s[l]);
			}
}

/* The table has the part of the work before the slowdown, its factor, and the time of the last
 * quarter of the work relative to steady work. */
static void a_slowdown_is_seen_at_its_size(void **state)
{
	static const struct {
		double before, factor, quarter;
	} known[] = { { 0, 2, 2 },     { 0.1, 2, 2 },     { 0.5, 2, 2 },    { 0.75, 2, 2 },
		      { 0.75, 8, 8 },  { 0.875, 2, 1.5 }, { 0.95, 2, 1.2 }, { 0.5, 0.5, 0.5 },
		      { 0.875, 3, 2 }, { 1, 2, 1 } };
	(void)state;
	for (size_t l = 0; l < LEN(lengths_s); l++)
		for (size_t k = 0; k < LEN(known); k++) {
			const double b = known[k].before, f = known[k].factor;
			const speed_history p = slowed(lengths_s[l], 4000, b, f);
			const double full_speed_s = lengths_s[l] / (b + f * (1 - b));
			near(speed_history_last_s(&p, 0.25), known[k].quarter * full_speed_s / 4,
			     lengths_s[l]);
		}
}

/* The busy seconds of the last part of the work are correct if tasks overlap, wait, and are added
 * in any order. */
static void threads_do_not_matter(void **state)
{
	enum { TASKS = 400, THREADS = 5 };
	uint64_t seed = 7;
	const char *given = getenv("SEED");
	(void)state;
	if (given)
		seed = strtoull(given, NULL, 0);
	printf("# SEED=%llu\n", (unsigned long long)seed);
	for (int round = 0; round < 50; round++) {
		speed_history p = { .bin_s = 0 };
		double from[TASKS], to[TASKS], end[THREADS] = { 0 }, all = 0;
		const double mean_s = exp((double)(splitmix(&seed) % 1000) / 100 - 5);
		for (size_t i = 0; i < TASKS; i++) {
			double *t = &end[splitmix(&seed) % THREADS];
			from[i] = *t;
			to[i] = *t += mean_s * (double)(splitmix(&seed) % 1000) / 500;
			all = fmax(all, to[i]);
		}
		for (size_t i = TASKS; i > 1; i--) { /* shuffled */
			const size_t k = splitmix(&seed) % i;
			const double f = from[k], t = to[k];
			from[k] = from[i - 1], to[k] = to[i - 1];
			from[i - 1] = f, to[i - 1] = t;
		}
		for (size_t i = 0; i < TASKS; i++)
			speed_history_add(&p, from[i], to[i], to[i] - from[i],
					  (to[i] - from[i]) / 2);
		/* a thread was busy for half of its time, whatever part of the work is looked at */
		double whole = 0;
		for (size_t i = 0; i < TASKS; i++)
			whole += to[i] - from[i];
		for (double part = 1; part > 0.1; part /= 2)
			near(speed_history_last_s(&p, part), part * whole / 2, all);
	}
}

static void nothing_tells_nothing(void **state)
{
	speed_history p = { .bin_s = 0 };
	(void)state;
	speed_history_add(NULL, 0, 1, 1, 1);
	assert_true(speed_history_last_s(&p, 0.25) == 0);
	speed_history_add(&p, -1, 1, 1, 1);
	speed_history_add(&p, 2, 1, 1, 1);
	speed_history_add(&p, 0, INFINITY, 1, 1);
	speed_history_add(&p, NAN, 1, 1, 1);
	speed_history_add(&p, 0, NAN, 1, 1);
	assert_true(speed_history_last_s(&p, 0.25) == 0);
	speed_history_add(&p, 3, 3, 1, 0); /* the clock stood still */
	near(speed_history_last_s(&p, 1), 0, 3);
	speed_history_add(&p, 0, 3, 1, 3);
	near(speed_history_last_s(&p, 1), 3, 3);
	near(speed_history_last_s(&p, 0.5), 0, 3); /* the work without time came last */
	near(speed_history_last_s(&p, 0.75), 1.5, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steady_work_takes_its_part),
		cmocka_unit_test(a_slowdown_is_seen_at_its_size),
		cmocka_unit_test(threads_do_not_matter),
		cmocka_unit_test(nothing_tells_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
