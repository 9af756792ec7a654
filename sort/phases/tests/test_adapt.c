/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests new plans by the observed speeds. Nothing changes without a reason. A slow rank writes
 * less, as the library divides. Ranks that show no speed change nothing. test_matrix.c tests that a
 * whole sort uses the changed shares. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>
#include "phases/adapt.h"
#include "model/shares.h"
#include "base/arith.h"

#define LEN(a) (sizeof(a) / sizeof *(a))

enum { P = 4 };
static const uint64_t N = 40000000;
static const double speed_sets[][P] = {
	{ 1, 1, 1, 1 }, { 1, 1.5, 1, 1.5 }, { 1, 2, 4, 8 }, { 3e-200, 1e-200, 1e-200, 1e-200 }
};

typedef struct situation {
	settings o;
	double planned[P], now[P];
	uint64_t in[P], written[P], share[P];
	sighting seen[P];
	rates rate[P];
	prospect out;
} situation;

typedef struct writing {
	const settings *o;
	double speed;
} writing;

static double writing_s(void *ctx, uint64_t n)
{
	const writing *w = ctx;
	const rates one = job_time_nominal(1);
	return job_time_after_s(&one, w->o, n) / w->speed;
}

/* Find the shares with which ranks of these speeds end together. */
static void divide(const situation *s, const double *speed, uint64_t *share)
{
	err e = { ST_OK, "" };
	writing w[P];
	for (size_t i = 0; i < P; i++)
		w[i] = (writing){ &s->o, speed[i] };
	assert_int_equal(shares_by_costs(N, writing_s, w, sizeof *w, P, NULL, share, &e), ST_OK);
}

/* Set up ranks with the planned speeds that are slower by `factor` while they read. */
static void set_up(situation *s, strategy by, const double *planned, const double *factor)
{
	err e = { ST_OK, "" };
	*s = (situation){ .o = { .strategy = by,
				 .lay = LAYOUT_BYTES(DEFAULT_RECORD_BYTES, 0, DEFAULT_KEY_BYTES),
				 .adapt = { .on = true, .gain = 0.1, .saved_s = 0.02 } } };
	memcpy(s->planned, planned, sizeof s->planned);
	const bool merging = by == BY_MERGING;
	const rates one = job_time_nominal(1);
	assert_int_equal(
		shares_by_speed(shares_kind(PLAN_NLOGN, merging), N, planned, P, s->in, &e), ST_OK);
	divide(s, planned, s->written);
	for (size_t i = 0; i < P; i++) {
		s->seen[i].work_s = job_time_before_s(&one, &s->o, s->in[i]);
		s->seen[i].took_s[0] = s->seen[i].work_s / planned[i] * factor[i];
	}
}

static void replan(situation *s)
{
	err e = { ST_OK, "" };
	mem m = { 0 };
	uint64_t sum = 0;
	const adapt_query q = { &s->o, s->seen, s->planned, s->rate, s->written, P };
	assert_int_equal(adapt_plan(&q, &m, s->now, s->share, &s->out, &e), ST_OK);
	assert_int_equal(m.now_bytes, 0);
	for (size_t i = 0; i < P; i++)
		sum += s->share[i];
	assert_int_equal(sum, N);
}

static void noise_changes_nothing(void **state)
{
	static const double factors[][P] = {
		{ 1, 1, 1, 1 },
		{ 7, 7, 7, 7 }, /* a slow disk for all */
		{ 1.04, 0.97, 1, 1.05 },
		{ 0.95, 1.05, 1.05, 1.05 },
		{ 1.0, 1.05, 0.96, 1.02 },
	};
	(void)state;
	for (size_t k = 0; k < LEN(speed_sets); k++)
		for (size_t f = 0; f < LEN(factors); f++)
			for (int by = BY_MERGING; by <= BY_DISTRIBUTING; by++) {
				situation s;
				set_up(&s, (strategy)by, speed_sets[k], factors[f]);
				replan(&s);
				assert_false(s.out.worth);
			}
}

/* One rank runs at half its speed, and no records are sent: all ranks end together, as the library
 * divides by these speeds. The slow rank writes less, all others write more, and the gain is that
 * of the times. */
static void a_slow_rank_writes_less(void **state)
{
	(void)state;
	for (size_t k = 0; k < LEN(speed_sets); k++)
		for (size_t slow = 0; slow < P; slow++)
			for (int by = BY_MERGING; by <= BY_DISTRIBUTING; by++) {
				double factor[P] = { 1, 1, 1, 1 }, present[P];
				situation s;
				uint64_t want[P];
				factor[slow] = 2;
				set_up(&s, (strategy)by, speed_sets[k], factor);
				replan(&s);
				assert_true(s.out.worth);
				assert_true(s.out.gain > 0.1 && s.out.gain < 0.5);
				memcpy(present, s.planned, sizeof present);
				present[slow] /= 2;
				divide(&s, present, want);
				for (size_t i = 0; i < P; i++) {
					assert_true(fabs((double)s.share[i] - (double)want[i]) <=
						    2);
					if (i == slow)
						assert_true(s.share[i] < s.written[i]);
					else
						assert_true(s.share[i] > s.written[i]);
				}
			}
}

/* Shares are in proportion to the speeds if the cost is. */
static void by_costs_as_by_speeds(void **state)
{
	(void)state;
	for (size_t k = 0; k < LEN(speed_sets); k++) {
		const situation s = { .o = { .strategy = BY_MERGING,
					     .lay = LAYOUT_BYTES(DEFAULT_RECORD_BYTES, 0, 10) } };
		uint64_t want[P], share[P];
		err e = { ST_OK, "" };
		assert_int_equal(shares_by_speed(PLAN_LINEAR, N, speed_sets[k], P, want, &e),
				 ST_OK);
		divide(&s, speed_sets[k], share);
		for (size_t i = 0; i < P; i++)
			assert_true(fabs((double)share[i] - (double)want[i]) <= 2);
	}
}

/* Ranks still have to send the records that they have read. A rank that turned slow sends slowly,
 * so it writes less than by its speed, and all end together. A rank that is too slow for more
 * writes nothing. */
static void records_to_send_count(void **state)
{
	static const double factors[] = { 1.5, 2, 3, 4, 40 };
	const rates one = job_time_nominal(1);
	(void)state;
	for (size_t k = 0; k < LEN(factors); k++)
		for (int by = BY_MERGING; by <= BY_DISTRIBUTING; by++) {
			double factor[P] = { 1, 1, 1, factors[k] }, end[P];
			situation s;
			set_up(&s, (strategy)by, speed_sets[0], factor);
			for (size_t i = 0; i < P; i++)
				s.seen[i].held = s.in[i];
			const double send_s = job_time_send_s(&one, &s.o, N / P, P);
			assert_true(send_s > 0);
			replan(&s);
			assert_true(s.out.worth);
			for (size_t i = 0; i < P; i++)
				end[i] = (send_s + job_time_after_s(&one, &s.o, s.share[i])) *
					 factor[i];
			const double others = end[0], last = end[P - 1];
			assert_true((double)s.share[P - 1] < (double)s.share[0] / factors[k]);
			assert_true(s.share[P - 1] ? fabs(last / others - 1) < 1e-6
						   : last >= others);
			assert_true(fabs(end[1] / others - 1) < 1e-6);
			assert_true(fabs(end[2] / others - 1) < 1e-6);
		}
}

/* Equal shares on unequal ranks: the observed speeds decide, whatever the plan was. */
static void equal_shares_are_corrected(void **state)
{
	static const double planned[P] = { 1, 1, 1, 1 }, factor[P] = { 1, 1, 1.5, 1.5 };
	situation s;
	(void)state;
	set_up(&s, BY_MERGING, planned, factor);
	replan(&s);
	assert_true(s.out.worth);
	assert_true(fabs(s.out.gain - (1 - 1 / 1.25)) < 1e-6);
	assert_true(fabs((double)s.share[0] - 0.3 * (double)N) < 2);
}

static void the_rule_decides(void **state)
{
	static const double factor[P] = { 1, 1, 1, 2 };
	situation s;
	(void)state;
	set_up(&s, BY_MERGING, speed_sets[0], factor);
	replan(&s);
	const prospect first = s.out;
	assert_true(first.worth);
	s.o.adapt.gain = first.gain * 1.001;
	replan(&s);
	assert_false(s.out.worth);
	s.o.adapt.gain = 0.1;
	s.o.adapt.saved_s = first.saved_s * 1.001;
	replan(&s);
	assert_false(s.out.worth);
}

/* Equal ranks, and how much longer rank 3 took for all of its work, for the last half and for the
 * last quarter. */
typedef struct course {
	double whole_s; /* of the others */
	double factor[SIGHT_PARTS];
	double seen; /* the factor that counts */
} course;

static void set_course(situation *s, const course *c)
{
	static const double one[P] = { 1, 1, 1, 1 };
	set_up(s, BY_MERGING, speed_sets[0], one);
	for (size_t i = 0; i < P; i++)
		for (int k = 0; k < SIGHT_PARTS; k++)
			s->seen[i].took_s[k] =
				ldexp(c->whole_s, -k) * (i == P - 1 ? c->factor[k] : 1);
}

/* The rank turned slow (or fast) in the middle: its present speed counts if all ranks took long
 * enough for that part. */
static void recent_speeds_count(void **state)
{
	static const course courses[] = {
		{ 8, { 1, 1, 1 }, 1 },
		{ 8, { 2, 2, 2 }, 2 },
		{ 8, { 1.5, 2, 2 }, 2 },        /* from the middle on */
		{ 8, { 1.25, 1.5, 2 }, 2 },     /* from three quarters on */
		{ 8, { 1.5, 1, 1 }, 1 },        /* slow at first only */
		{ 8, { 0.75, 0.5, 0.5 }, 0.5 }, /* faster */
		{ 4, { 1.25, 1.5, 2 }, 2 },
		{ 3.99, { 1.25, 1.5, 2 }, 1.5 }, /* a quarter is too short for the others */
		{ 2, { 1.25, 1.5, 2 }, 1.5 },
		{ 1.99, { 1.25, 1.5, 2 }, 1.25 },
		{ 0.5, { 1.25, 1.5, 2 }, 1.25 },
		{ 8, { 1.25, 1.5, 0 }, 1.5 }, /* unknown */
		{ 8, { 1.25, 0, 2 }, 2 },
		{ 8, { 1.25, 0, 0 }, 1.25 },
	};
	(void)state;
	for (size_t k = 0; k < LEN(courses); k++) {
		situation s;
		set_course(&s, &courses[k]);
		replan(&s);
		for (size_t i = 0; i < P - 1; i++)
			if (fabs(s.now[P - 1] / s.now[i] * courses[k].seen - 1) > 1e-9)
				fail_msg("course %zu: speeds %g and %g", k, s.now[P - 1], s.now[i]);
		assert_int_equal(s.out.worth, courses[k].seen != 1);
		assert_int_equal(s.share[P - 1]<s.written[P - 1], courses[k].seen> 1);
		assert_int_equal(s.share[P - 1] > s.written[P - 1], courses[k].seen < 1);
	}
}

/* A rank without work, such as a root that scatters the input, does not hide the speeds of the
 * others. */
static void idle_ranks_do_not_hide_it(void **state)
{
	static const course c = { 8, { 1.25, 1.5, 2 }, 2 };
	situation s;
	(void)state;
	set_course(&s, &c);
	s.seen[0] = (sighting){ 0, { 0 }, 0 };
	replan(&s);
	assert_true(fabs(s.now[3] / s.now[2] - 0.5) < 1e-9);
	assert_true(s.out.worth);
}

/* Differences as small as quotas and disks cause them, in any part, change no shares. */
static void recent_noise_changes_nothing(void **state)
{
	uint64_t seed = 1;
	(void)state;
	for (int round = 0; round < 2000; round++) {
		situation s;
		set_course(&s, &(course){ 8, { 1, 1, 1 }, 1 });
		for (size_t i = 0; i < P; i++)
			for (int k = 0; k < SIGHT_PARTS; k++)
				s.seen[i].took_s[k] *=
					0.95 + (double)(splitmix(&seed) % 1000) / 10000;
		replan(&s);
		assert_false(s.out.worth);
	}
}

/* Ranks with little or no work keep their speed in the scale of the others. */
static void idle_ranks_keep_their_speed(void **state)
{
	static const double factor[P] = { 3, 3, 3, 3 };
	situation s;
	(void)state;
	set_up(&s, BY_MERGING, speed_sets[1], factor);
	s.seen[0] = (sighting){ 0, { 5 }, 0 };
	s.seen[1] = (sighting){ s.seen[1].work_s / 1000, { 5 }, 0 };
	s.seen[2].took_s[0] = 0;
	replan(&s);
	for (size_t i = 0; i < P; i++)
		assert_true(fabs(s.now[i] / s.planned[i] - 1) < 1e-9);
	assert_false(s.out.worth);
	memset(s.seen, 0, sizeof s.seen);
	replan(&s);
	assert_memory_equal(s.now, s.planned, sizeof s.now);
	assert_memory_equal(s.share, s.written, sizeof s.share);
	s.seen[0] = (sighting){ 1e300, { 1e-300 }, 0 }; /* more than a speed can be */
	replan(&s);
	assert_memory_equal(s.now, s.planned, sizeof s.now);
}

/* A rank at half its speed, and links that take longer than its work: nothing changes. If only one
 * link is that slow, the others take over its part. */
static void links_count(void **state)
{
	const double factor[P] = { 1, 1, 1, 2 };
	situation s;
	(void)state;
	set_up(&s, BY_MERGING, speed_sets[0], factor);
	for (size_t i = 0; i < P; i++)
		s.rate[i].link_s = job_time_byte_s(20);
	replan(&s);
	assert_false(s.out.worth);
	set_up(&s, BY_MERGING, speed_sets[0], factor);
	s.rate[0].link_s = job_time_byte_s(20);
	replan(&s);
	assert_true(s.out.worth);
	assert_true(s.share[0] < s.written[0] / 4);
	set_up(&s, BY_MERGING, speed_sets[0], factor);
	s.rate[0].disk_s = job_time_byte_s(20);
	replan(&s);
	assert_true(s.out.worth);
	assert_true(s.share[0] < s.written[0] / 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(links_count),
		cmocka_unit_test(noise_changes_nothing),
		cmocka_unit_test(a_slow_rank_writes_less),
		cmocka_unit_test(by_costs_as_by_speeds),
		cmocka_unit_test(records_to_send_count),
		cmocka_unit_test(equal_shares_are_corrected),
		cmocka_unit_test(the_rule_decides),
		cmocka_unit_test(recent_speeds_count),
		cmocka_unit_test(idle_ranks_do_not_hide_it),
		cmocka_unit_test(recent_noise_changes_nothing),
		cmocka_unit_test(idle_ranks_keep_their_speed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
