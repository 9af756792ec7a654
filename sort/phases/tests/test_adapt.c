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
	double slower[P];
	uint64_t in[P], written[P], share[P];
	sighting seen[P];
	rates rate[P], now[P];
	bound_ranks b;
	prospect out;
} situation;

/* Find the shares of writing for ranks of these rates that have read their shares. */
static void divide(situation *s, const rates *rate, uint64_t *share)
{
	err e = { ST_OK, "" };
	bound_ranks b = s->b;
	uint64_t in[P];
	b.rate = rate;
	memcpy(in, s->in, sizeof in);
	memcpy(share, s->in, sizeof s->in);
	assert_int_equal(shares_bound(&b, in, share, &e), ST_OK);
}

/* Set up ranks with the planned speeds whose work takes `factor` times as long while they read. */
static void set_up(situation *s, strategy by, const double *planned, const double *factor)
{
	err e = { ST_OK, "" };
	*s = (situation){ .o = { .strategy = by,
				 .lay = LAYOUT_BYTES(DEFAULT_RECORD_BYTES, 0, DEFAULT_KEY_BYTES),
				 .adapt = { .gain = 0.1, .saved_s = 0.02 } } };
	s->b = (bound_ranks){
		.o = &s->o, .p = P, .records = N, .rate = s->rate, .far = 1, .in_fixed = true
	};
	assert_int_equal(shares_by_speed(shares_kind(PLAN_NLOGN, by == BY_MERGING), N, planned, P,
					 s->in, &e),
			 ST_OK);
	for (size_t i = 0; i < P; i++) {
		s->rate[i] = job_time_nominal(planned[i], 1);
		s->seen[i].expected_s = job_time_before_s(&s->rate[i], &s->o, s->in[i]);
		s->seen[i].busy_s[0] = s->seen[i].expected_s * factor[i];
		s->seen[i].held = s->in[i];
	}
	divide(s, s->rate, s->written);
}

static void replan(situation *s)
{
	err e = { ST_OK, "" };
	uint64_t sum = 0;
	for (size_t i = 0; i < P; i++)
		s->now[i].link_s = s->rate[i].link_s;
	assert_int_equal(
		adapt_plan(&s->b, s->seen, s->written, s->now, s->slower, s->share, &s->out, &e),
		ST_OK);
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

/* One rank is slower than planned: it writes less, as if the plan had known its speed. */
static void a_slow_rank_writes_less(void **state)
{
	static const double factors[] = { 1.5, 2, 3, 4, 40 };
	size_t changed = 0;
	(void)state;
	for (size_t k = 0; k < LEN(speed_sets); k++)
		for (size_t slow = 0; slow < P; slow++)
			for (size_t f = 0; f < LEN(factors); f++)
				for (int by = BY_MERGING; by <= BY_DISTRIBUTING; by++) {
					double factor[P] = { 1, 1, 1, 1 };
					situation s;
					uint64_t want[P];
					rates known[P];
					factor[slow] = factors[f];
					set_up(&s, (strategy)by, speed_sets[k], factor);
					replan(&s);
					memcpy(known, s.rate, sizeof known);
					rates_scale(&known[slow], factors[f]);
					known[slow].cpus = s.rate[slow].cpus;
					divide(&s, known, want);
					changed += s.out.worth;
					if (!s.out.worth) /* it has a small part of the work */
						continue;
					const bound_ranks b = s.b;
					s.b.rate = known;
					assert_true(shares_left_s(&s.b, s.in, s.share) <
						    1.03 * shares_left_s(&s.b, s.in, want));
					s.b = b;
					assert_true(s.share[slow] < s.written[slow]);
				}
	assert_true(changed > 60); /* of 160; many work for less than half a second */
}

/* Among equal ranks, a slow one is always worth new shares. It also has to send what it has read,
 * so it writes even less than by its speed. */
static void equal_ranks_notice(void **state)
{
	static const double factors[] = { 1.5, 2, 3, 4, 40 };
	(void)state;
	for (size_t f = 0; f < LEN(factors); f++)
		for (int by = BY_MERGING; by <= BY_DISTRIBUTING; by++) {
			const double factor[P] = { 1, 1, 1, factors[f] };
			situation s;
			set_up(&s, (strategy)by, speed_sets[0], factor);
			replan(&s);
			assert_true(s.out.worth && s.out.gain >= 0.1);
			assert_true((double)s.share[P - 1] < (double)s.share[0] / factors[f]);
		}
}

/* Equal shares on unequal ranks: what ranks show decides, whatever the plan was. */
static void equal_shares_are_corrected(void **state)
{
	static const double planned[P] = { 1, 1, 1, 1 }, factor[P] = { 1, 1, 1.5, 1.5 };
	situation s;
	(void)state;
	set_up(&s, BY_MERGING, planned, factor);
	replan(&s);
	assert_true(s.out.worth);
	assert_true(s.share[0] == s.share[1] && s.share[2] == s.share[3]);
	assert_true((double)s.share[0] > 1.5 * (double)s.share[2]);
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
			s->seen[i].busy_s[k] =
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
		{ 1.99, { 1.4, 1.5, 2 }, 1.4 },
		{ 0.5, { 1.4, 1.5, 2 }, 1.4 },
		{ 8, { 1.25, 1.5, 0 }, 1.5 }, /* unknown */
		{ 8, { 1.25, 0, 2 }, 2 },
		{ 8, { 1.4, 0, 0 }, 1.4 },
		{ 8, { 1.25, 0, 0 }, 1 },
	};
	(void)state;
	for (size_t k = 0; k < LEN(courses); k++) {
		situation s;
		set_course(&s, &courses[k]);
		replan(&s);
		for (size_t i = 0; i < P - 1; i++)
			if (fabs(s.slower[P - 1] / s.slower[i] / courses[k].seen - 1) > 1e-9)
				fail_msg("course %zu: factors %g and %g", k, s.slower[P - 1],
					 s.slower[i]);
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
	s.seen[0] = (sighting){ .held = s.in[0] };
	replan(&s);
	assert_true(fabs(s.slower[3] / s.slower[2] - 2) < 1e-9);
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
				s.seen[i].busy_s[k] *=
					0.95 + (double)(splitmix(&seed) % 1000) / 10000;
		replan(&s);
		assert_false(s.out.worth);
	}
}

/* Ranks with little or no work keep their planned rates. */
static void idle_ranks_keep_their_speed(void **state)
{
	static const double factor[P] = { 3, 3, 3, 3 };
	situation s;
	(void)state;
	set_up(&s, BY_MERGING, speed_sets[1], factor);
	s.seen[0] = (sighting){ 0, { 5 }, 0, 0, s.in[0] };
	s.seen[1].expected_s /= 1000;
	s.seen[2].busy_s[0] = 0;
	replan(&s);
	for (size_t i = 0; i < P; i++)
		assert_float_equal(s.slower[i], 1, 1e-9);
	assert_false(s.out.worth);
	for (size_t i = 0; i < P; i++)
		s.seen[i] = (sighting){ .held = s.in[i] };
	replan(&s);
	assert_memory_equal(s.share, s.written, sizeof s.share);
	s.seen[0] = (sighting){ 1e300, { 1e-300 }, 0, 0, s.in[0] }; /* more than a speed can be */
	replan(&s);
	assert_false(s.out.worth);
}

/* A disk that was the limit while the input was read, and a link that is measured again: the rank
 * writes less if it became slow. Another disk than the one for the output does not count. */
static void disks_and_links_count(void **state)
{
	static const double one[P] = { 1, 1, 1, 1 };
	situation s;
	err e = { ST_OK, "" };
	(void)state;
	for (int same = 0; same < 2; same++) {
		set_up(&s, BY_MERGING, one, one);
		for (size_t i = 0; i < P; i++)
			s.rate[i].input_s = s.rate[i].disk_s = job_time_byte_s(500);
		s.seen[1].input_s = job_time_byte_s(100);
		s.seen[1].same_disk = (uint64_t)same;
		replan(&s);
		assert_int_equal(s.out.worth, same);
		assert_true(!same || s.share[1] < s.share[0] / 2);
	}
	set_up(&s, BY_MERGING, one, one);
	for (size_t i = 0; i < P; i++) { /* rank 2 has little to send */
		s.now[i].link_s = job_time_byte_s(i == 2 ? 50 : 1000);
		s.seen[i].held = i == 2 ? 3 * (N / 300) : N / 300 * 99;
	}
	assert_int_equal(adapt_plan(&s.b, s.seen, s.written, s.now, s.slower, s.share, &s.out, &e),
			 ST_OK);
	assert_true(s.share[2] < s.written[2]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(disks_and_links_count),
		cmocka_unit_test(noise_changes_nothing),
		cmocka_unit_test(a_slow_rank_writes_less),
		cmocka_unit_test(equal_ranks_notice),
		cmocka_unit_test(equal_shares_are_corrected),
		cmocka_unit_test(the_rule_decides),
		cmocka_unit_test(recent_speeds_count),
		cmocka_unit_test(idle_ranks_do_not_hide_it),
		cmocka_unit_test(recent_noise_changes_nothing),
		cmocka_unit_test(idle_ranks_keep_their_speed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
