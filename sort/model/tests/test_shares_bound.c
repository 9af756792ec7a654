/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shares that respect links and disks, over tables of ranks. They add up to all records. They take
 * hardly longer than equal shares or shares by speed, and faster links hardly make them slower. If
 * nothing but processors counts, they differ little from the shares by speed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/arith.h"
#include "model/shares.h"

#define LEN(a) (sizeof(a) / sizeof *(a))

enum { P = 6, MB = 1000000 };

/* Equal shares are preferred if others save little. */
static const double MARGIN = 1 / 0.92;

/* The time of a few records, which groups of ranks cannot divide as evenly as single ranks. */
static const double BRIEF_S = 1e-5;

static const settings by_strategy[] = {
	{ .strategy = BY_MERGING, .lay = LAYOUT_BYTES(100, 0, 10) },
	{ .strategy = BY_DISTRIBUTING, .lay = LAYOUT_BYTES(100, 0, 10) },
};

static const double speed_sets[][P] = { { 1, 1, 1, 1, 1, 1 },
					{ 1, 1, 1, 0.667, 0.667, 0.667 },
					{ 1, 2, 4, 8, 1, 0.1 } };
/* In MB/s; 0: not known. */
static const double link_sets[][P] = {
	{ 0, 0, 0, 0, 0, 0 },
	{ 125, 125, 125, 125, 125, 125 },
	{ 1250, 1250, 125, 1250, 1250, 1250 },
	{ 0, 0, 0, 0, 0, 12 },
	{ 10, 100, 1000, 10, 100, 1000 },
	{ 1e6, 1e6, 1e6, 1e6, 1e6, 1e6 },
};
static const double disk_sets[][P] = { { 0, 0, 0, 0, 0, 0 },
				       { 100, 100, 100, 1000, 1000, 1000 },
				       { 1e6, 1e6, 1e6, 1e6, 0, 0 } };
static const uint64_t counts[] = { 0, 1, 5, 6, 7, 1000, 10 * MB, UINT64_C(3000) * MB };

typedef struct ranks {
	bound_ranks b;
	rates rate[P];
	uint64_t in[P], out[P]; /* by speed */
	uint64_t new_in[P], new_out[P];
} ranks;

static void set_up(ranks *r, const settings *o, const double *speed, const double *link,
		   const double *disk, uint64_t records)
{
	err e = { ST_OK, "" };
	*r = (ranks){ .b = { .o = o, .p = P, .records = records, .far = 1 } };
	r->b.rate = r->rate;
	for (size_t i = 0; i < P; i++) {
		r->rate[i] = job_time_nominal(speed[i], 1);
		r->rate[i].link_s = link[i] > 0 ? job_time_byte_s(link[i]) : 0;
		r->rate[i].disk_s = disk[i] > 0 ? job_time_byte_s(disk[i]) : 0;
		r->rate[i].input_s = i % 3 ? r->rate[i].disk_s : 0;
	}
	const bool first = o->strategy == BY_MERGING;
	assert_int_equal(
		shares_by_speed(shares_kind(PLAN_NLOGN, first), records, speed, P, r->in, &e),
		ST_OK);
	assert_int_equal(
		shares_by_speed(shares_kind(PLAN_NLOGN, !first), records, speed, P, r->out, &e),
		ST_OK);
}

static uint64_t sum(const uint64_t *share)
{
	uint64_t all = 0;
	for (size_t i = 0; i < P; i++)
		all += share[i];
	return all;
}

static double plan(ranks *r)
{
	err e = { ST_OK, "" };
	memcpy(r->new_in, r->in, sizeof r->in);
	memcpy(r->new_out, r->out, sizeof r->out);
	assert_int_equal(shares_bound(&r->b, r->new_in, r->new_out, &e), ST_OK);
	return shares_bound_s(&r->b, r->new_in, r->new_out);
}

static double equal_s(const ranks *r, uint64_t records)
{
	uint64_t share[P];
	for (size_t i = 0; i < P; i++)
		share[i] = records / P + (i < records % P);
	return shares_bound_s(&r->b, r->b.in_fixed ? r->in : share, share);
}

static bool is_equal(const ranks *r, uint64_t records)
{
	bool equal = true;
	for (size_t i = 0; i < P; i++)
		equal = equal && r->new_out[i] <= records / P + 1 &&
			r->new_out[i] + 1 >= records / P;
	return equal;
}

typedef void check(ranks *r, uint64_t records);

static void over_tables(check *fn)
{
	for (size_t o = 0; o < LEN(by_strategy); o++)
		for (size_t s = 0; s < LEN(speed_sets); s++)
			for (size_t l = 0; l < LEN(link_sets); l++)
				for (size_t d = 0; d < LEN(disk_sets); d++)
					for (size_t n = 0; n < LEN(counts); n++) {
						ranks r;
						set_up(&r, &by_strategy[o], speed_sets[s],
						       link_sets[l], disk_sets[d], counts[n]);
						fn(&r, counts[n]);
					}
}

static void never_later(ranks *r, uint64_t records)
{
	for (int fixed = 0; fixed < 2; fixed++) {
		r->b.in_fixed = fixed;
		const double s = plan(r);
		assert_true(sum(r->new_in) == records && sum(r->new_out) == records);
		/* exactly, unless equal shares were preferred */
		const double by_speed_s = shares_bound_s(&r->b, r->in, r->out);
		assert_true(s <= by_speed_s || (is_equal(r, records) && s <= MARGIN * by_speed_s));
		if (s < by_speed_s)
			assert_true(s <= equal_s(r, records) + BRIEF_S);
		assert_true(!fixed || memcmp(r->new_in, r->in, sizeof r->in) == 0);
	}
}

static void plans_are_never_later(void **state)
{
	(void)state;
	over_tables(never_later);
}

/* If only processors bind, another plan gains little: the shares by speed ignore that records
 * are sent, too. */
static void what_does_not_bind_changes_little(void **state)
{
	(void)state;
	for (size_t s = 0; s < 2; s++)
		for (size_t n = 0; n < LEN(counts); n++)
			for (int known = 0; known < 2; known++) {
				ranks r;
				set_up(&r, &by_strategy[0], speed_sets[s], link_sets[known ? 5 : 0],
				       disk_sets[known ? 2 : 0], counts[n]);
				const double new_s = plan(&r);
				const double old_s = shares_bound_s(&r.b, r.in, r.out);
				assert_true(new_s >= 0.97 * old_s - BRIEF_S);
				if (s == 0 && counts[n] >= 1000)
					assert_memory_equal(r.new_in, r.in, sizeof r.in);
			}
}

/* Once nothing binds, shares are by speed only, which ignores that records are sent, too; and equal
 * shares are preferred if others save little. */
static void faster_links_are_never_later(void **state)
{
	(void)state;
	for (size_t s = 0; s < LEN(speed_sets); s++)
		for (size_t slow = 0; slow < P; slow++) {
			double last = INFINITY;
			for (double mb = 1; mb < 1e5; mb *= 1.7) {
				double link[P] = { 300, 300, 300, 300, 300, 300 };
				ranks r;
				link[slow] = mb;
				set_up(&r, &by_strategy[0], speed_sets[s], link, disk_sets[0],
				       60 * MB);
				const double now = plan(&r);
				assert_true(now <= last * 1.07 * MARGIN);
				last = now;
			}
		}
}

/* If only links bind, all are busy for the same time. */
static void only_links_bind(void **state)
{
	static const double slow[P] = { 1, 1, 1, 1, 1, 1 }, mixed[P] = { 1, 2, 3, 1, 2, 3 };
	double last = 0, least = INFINITY;
	ranks r;
	(void)state;
	set_up(&r, &by_strategy[0], speed_sets[1], slow, disk_sets[0], 6 * MB);
	plan(&r);
	for (size_t i = 0; i < P; i++) {
		assert_true(r.new_in[i] == MB);
		assert_true(r.new_out[i] == MB);
	}
	set_up(&r, &by_strategy[0], speed_sets[0], mixed, disk_sets[0], 12 * MB);
	plan(&r);
	for (size_t i = 0; i < P; i++) {
		const job_load l = {
			.in = r.new_in[i], .out = r.new_out[i], .all = 12 * MB, .ranks = P
		};
		last = fmax(last, job_time_link_s(&r.rate[i], r.b.o, &l));
		least = fmin(least, job_time_link_s(&r.rate[i], r.b.o, &l));
	}
	assert_true(last < MARGIN * least);
}

/* A rank with the only slow link reads and writes less. 10^5 ranks in groups are planned at once.
 */
static void many_ranks(void **state)
{
	enum { MANY = 100000 };
	const uint64_t records = (uint64_t)MANY * 10 * MB;
	rates *rate = calloc(MANY, sizeof *rate);
	uint64_t *in = calloc(MANY, sizeof *in), *out = calloc(MANY, sizeof *out),
		 all[2] = { 0, 0 };
	err e = { ST_OK, "" };
	(void)state;
	assert_true(rate && in && out);
	for (size_t i = 0; i < MANY; i++) {
		rate[i] = job_time_nominal(i % 2 ? 1 : 0.667, 1);
		rate[i].link_s = job_time_byte_s(i == 7 ? 125 : 1250);
		in[i] = out[i] = records / MANY;
	}
	const bound_ranks b = {
		.o = &by_strategy[0], .p = MANY, .records = records, .rate = rate, .far = 1
	};
	const double before_s = shares_bound_s(&b, in, out), t0 = now_s();
	assert_int_equal(shares_bound(&b, in, out, &e), ST_OK);
	print_message("%d ranks in groups: %.3f s\n", MANY, now_s() - t0);
	for (size_t i = 0; i < MANY; i++) {
		all[0] += in[i];
		all[1] += out[i];
	}
	assert_true(all[0] == records && all[1] == records);
	assert_true(shares_bound_s(&b, in, out) < 0.7 * before_s);
	assert_true(in[7] < 7 * MB && out[7] < 7 * MB);
	free(rate);
	free(in);
	free(out);
}

/* If only speeds differ, ranks write about as much as they read, although a disk that bounds
 * reading lets slow ranks read more in the same time. */
static void only_speeds_differ(void **state)
{
	enum { FEW = 4 };
	const uint64_t in[FEW] = { 16 * MB, 16 * MB, 8 * MB, 8 * MB };
	uint64_t new_in[FEW], new_out[FEW];
	rates rate[FEW];
	err e = { ST_OK, "" };
	(void)state;
	for (size_t i = 0; i < FEW; i++) {
		rate[i] = job_time_nominal(i < 2 ? 1 : 0.5, 1);
		rate[i].link_s = job_time_byte_s(1250);
		rate[i].disk_s = rate[i].input_s = job_time_byte_s(1000);
		new_in[i] = new_out[i] = in[i];
	}
	const bound_ranks b = {
		.o = &by_strategy[0], .p = FEW, .records = 48 * MB, .rate = rate, .far = 1
	};
	assert_int_equal(shares_bound(&b, new_in, new_out, &e), ST_OK);
	for (size_t i = 0; i < FEW; i++)
		assert_true(fabs((double)new_in[i] / (double)new_out[i] - 1) < 0.05);
	assert_true(shares_bound_s(&b, new_in, new_out) <= shares_bound_s(&b, in, in));
}

/* Random ranks cover cases that the tables do not have. */
static void random_ranks(void **state)
{
	uint64_t seed = 1;
	(void)state;
	for (int round = 0; round < 200; round++) {
		double speed[P], link[P], disk[P];
		ranks r;
		for (size_t i = 0; i < P; i++) {
			speed[i] = 0.1 + (double)(splitmix(&seed) % 100) / 25;
			link[i] = (double)(splitmix(&seed) % 5 * 100);
			disk[i] = (double)(splitmix(&seed) % 3 * 300);
		}
		const uint64_t records = splitmix(&seed) % (100 * MB);
		set_up(&r, &by_strategy[round % 2], speed, link, disk, records);
		never_later(&r, records);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plans_are_never_later),
		cmocka_unit_test(what_does_not_bind_changes_little),
		cmocka_unit_test(faster_links_are_never_later),
		cmocka_unit_test(only_links_bind),
		cmocka_unit_test(many_ranks),
		cmocka_unit_test(only_speeds_differ),
		cmocka_unit_test(random_ranks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
