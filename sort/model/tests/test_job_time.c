/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The predicted time of runs that were measured on the machine of the nominal rates, 2 processors
 * with nothing else to do (docs/performance.md): within a quarter. And what adds to it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "model/job_time.h"

#define LEN(a) (sizeof(a) / sizeof *(a))

static const settings usual = { .lay = LAYOUT_BYTES(100, 0, 10) };

static double predicted(const job_load *l)
{
	const rates r = job_time_nominal(1);
	return job_time_of(&r, &usual, l).total_s;
}

static void measured_runs(void **state)
{
	enum { M = 1000000 };
	static const struct {
		double taken_s;
		job_load load;
	} run[] = {
		{ 3.12,
		  { 20 * M, 20 * M, 1, 2, false, false, false, 0, 1, 0, 0, false, 0, 0, false,
		    false } },
		{ 3.20,
		  { 20 * M, 20 * M, 1, 2, true, false, true, 0, 1, 0, 0, false, 0, 0, false,
		    false } },
		{ 10.7,
		  { 60 * M, 60 * M, 1, 2, true, false, true, 0, 1, 0, 0, false, 0, 0, false,
		    false } },
		{ 3.80,
		  { 10 * M, 10 * M, 2, 1, true, false, true, 0, 2, 0, 0, false, 0, 0, false,
		    false } },
		{ 34.7,
		  { 100 * M, 100 * M, 1, 2, true, true, true, 0, 1, 0, 0, false, 0, 0, false,
		    false } },
		{ 31.5,
		  { 100 * M, 100 * M, 1, 2, true, true, true, 0, 1, 0, 0, false, 0, 0, false,
		    false } },
		{ 29.8,
		  { 100 * M, 100 * M, 1, 2, true, true, true, 0, 1, 0, 0, false, 0, 0, false,
		    false } },
	};
	(void)state;
	for (size_t i = 0; i < LEN(run); i++) {
		const double s = predicted(&run[i].load);
		if (s < 0.75 * run[i].taken_s || s > 1.25 * run[i].taken_s)
			fail_msg("%.1f s taken, %.2f s predicted", run[i].taken_s, s);
	}
}

/* Each of these takes longer. Only the disk counts if it is slow enough. */
static void costs_add_time(void **state)
{
	const job_load base = { 1000000, 1000000, 1, 1,     false, false, false, 0,
				1,       0,       0, false, 0,     0,     false, false };
	job_load spills = base, slow = base, ranks = base, busy = base, fresh = base, lookups;
	(void)state;
	spills.spills = true;
	assert_true(predicted(&spills) > predicted(&base) + 0.1);
	ranks.ranks = 4;
	assert_true(predicted(&ranks) > predicted(&base));
	fresh.fresh_bytes = 1e9; /* cleared by the system, about as fast as copied */
	assert_float_equal(predicted(&fresh) - predicted(&base), 0.35, 1e-9);
	job_load far = ranks;
	far.far = 0.75; /* 75 MB to other hosts, and from them */
	assert_float_equal(predicted(&far) - predicted(&ranks), 150e6 * 2.4 * 0.35e-9, 1e-6);
	ranks.spills = true;
	lookups = ranks;
	lookups.lookup_bytes = 1e8; /* 0.08 s from the disk, 0.035 s to check */
	assert_float_equal(predicted(&lookups) - predicted(&ranks), 0.115, 1e-9);
	busy.cpus = 0.5;
	assert_float_equal(predicted(&busy), 2 * predicted(&base), 1e-9);
	slow.disk_s = 1e-6; /* 1 MB/s */
	assert_float_equal(predicted(&slow), predicted(&base), 1e-9);
	slow.spills = slow.durable = true; /* 100 MB to disk, 100 MB from and 100 MB to disk */
	assert_float_equal(predicted(&slow), 300, 1e-6);
	slow.held = 0.75; /* 25 MB to disk and from there, and the output */
	assert_float_equal(predicted(&slow), 150, 1e-6);
}

/* 4 million records in memory, by processor time of all phases except planning (2 processors,
 * files in memory): one rank, and two ranks by either strategy. Ranks that distribute are the
 * slowest, because they sort twice and need memory for the records received. */
static void measured_work(void **state)
{
	enum { M = 1000000 };
	static const struct {
		double taken_s;
		strategy by;
		job_load load;
	} run[] = {
		{ 1.515,
		  BY_MERGING,
		  { 4 * M, 4 * M, 1, 1, false, false, false, 0, 1, 87e6, 0, false, 0, 0, false,
		    false } },
		{ 0.945,
		  BY_MERGING,
		  { 2 * M, 2 * M, 2, 1, false, false, false, 0, 2, 54e6, 0, false, 0, 0, false,
		    false } },
		{ 1.103,
		  BY_DISTRIBUTING,
		  { 2 * M, 2 * M, 2, 1, false, false, false, 0, 2, 310e6, 0, false, 0, 0, false,
		    false } },
	};
	const rates r = job_time_nominal(1);
	(void)state;
	for (size_t i = 0; i < LEN(run); i++) {
		settings o = usual;
		o.strategy = run[i].by;
		const double s = job_time_of(&r, &o, &run[i].load).total_s;
		if (s < 0.75 * run[i].taken_s || s > 1.25 * run[i].taken_s)
			fail_msg("%zu: %.3f s taken, %.3f s predicted", i, run[i].taken_s, s);
	}
}

static void same_parts(job_time a, job_time b)
{
	assert_float_equal(a.stage[STAGE_READ].all_s, b.stage[STAGE_READ].all_s, 1e-9);
	assert_float_equal(a.stage[STAGE_SPLIT].all_s, b.stage[STAGE_SPLIT].all_s, 1e-9);
	assert_float_equal(a.stage[STAGE_RECEIVE].all_s, b.stage[STAGE_RECEIVE].all_s, 1e-9);
	assert_float_equal(a.stage[STAGE_SORT].all_s, b.stage[STAGE_SORT].all_s, 1e-9);
	assert_float_equal(a.stage[STAGE_WRITE].all_s, b.stage[STAGE_WRITE].all_s, 1e-9);
}

/* If the strategy sorts last, a rank whose runs spill still sends and sorts records while it reads.
 * A single rank also sorts while it reads. */
static void strategies_order_the_stages(void **state)
{
	const rates r = job_time_nominal(1);
	const job_load memory = { 1000000, 1000000, 4, 1,     false, false, false, 0,
				  1,       0,       0, false, 0,     0,     false, false };
	job_load spills = memory, single = memory, waits = memory;
	settings merging = usual, distributing = usual;
	(void)state;
	distributing.strategy = BY_DISTRIBUTING;
	const double sort_s = job_time_before_s(&r, &merging, memory.in) -
			      job_time_before_s(&r, &distributing, memory.in);
	const double sent_s = job_time_send_s(&r, &usual, memory.in, 4) + 1e8 * r.copy_s;
	const job_time m = job_time_of(&r, &merging, &memory);
	const job_time d = job_time_of(&r, &distributing, &memory);
	assert_float_equal(m.stage[STAGE_READ].all_s - sort_s, d.stage[STAGE_READ].all_s, 1e-9);
	assert_float_equal(m.stage[STAGE_SPLIT].all_s + m.stage[STAGE_RECEIVE].all_s +
				   m.stage[STAGE_SORT].all_s,
			   0, 0);
	assert_float_equal(d.stage[STAGE_RECEIVE].all_s, sent_s, 1e-9);
	assert_float_equal(d.stage[STAGE_SORT].all_s, sort_s, 1e-9);
	assert_true(d.stage[STAGE_SPLIT].all_s > 0); /* two passes over entries */
	assert_float_equal(d.stage[STAGE_WRITE].all_s,
			   m.stage[STAGE_WRITE].all_s - job_time_send_s(&r, &usual, memory.in, 4),
			   1e-9);
	single.ranks = 1;
	same_parts(job_time_of(&r, &merging, &single), job_time_of(&r, &distributing, &single));
	spills.spills = true;
	same_parts(job_time_of(&r, &merging, &spills), job_time_of(&r, &distributing, &spills));
	const double before_s = job_time_of(&r, &merging, &spills).stage[STAGE_READ].all_s;
	spills.spreads = true;
	const job_time s = job_time_of(&r, &distributing, &spills);
	assert_float_equal(s.stage[STAGE_READ].all_s, before_s + sent_s, 1e-9);
	assert_float_equal(s.stage[STAGE_RECEIVE].all_s + s.stage[STAGE_SORT].all_s +
				   s.stage[STAGE_SPLIT].all_s,
			   0, 0);
	waits.durable = true;
	waits.disk_s = 1e-6; /* the disk decides, and writing takes the rest of its time */
	const job_time w = job_time_of(&r, &distributing, &waits);
	assert_float_equal(w.stage[STAGE_RECEIVE].all_s + w.stage[STAGE_SORT].all_s +
				   w.stage[STAGE_SPLIT].all_s + w.stage[STAGE_WRITE].all_s,
			   100, 1e-6);
}

/* Memory counts in the stage of its first use: records and their entries when they are read. With a
 * last sort, entries also count when records are divided, and when they are received. */
static void where_memory_is_fresh(void **state)
{
	const rates r = job_time_nominal(1);
	const double copy = r.copy_s;
	job_load l = { 1000000, 1000000, 4, 1,     false, false, false, 0,
		       1,       160e6,   0, false, 0,     0,     false, false };
	settings distributing = usual;
	(void)state;
	distributing.strategy = BY_DISTRIBUTING;
	const job_time m = job_time_of(&r, &usual, &l);
	assert_float_equal(m.stage[STAGE_READ].fresh_s, (100e6 + 16e6) * copy, 1e-9);
	assert_float_equal(m.stage[STAGE_WRITE].fresh_s, 144e6 * copy, 1e-9);
	const job_time d = job_time_of(&r, &distributing, &l);
	assert_float_equal(d.stage[STAGE_SPLIT].fresh_s, 16e6 * copy, 1e-9);
	assert_float_equal(d.stage[STAGE_RECEIVE].fresh_s, 116e6 * copy, 1e-9);
	assert_float_equal(d.stage[STAGE_WRITE].fresh_s, 12e6 * copy, 1e-9);
	l.fresh_bytes = 0;
	const job_time none = job_time_of(&r, &distributing, &l);
	assert_float_equal(d.stage[STAGE_READ].all_s - none.stage[STAGE_READ].all_s, 16e6 * copy,
			   1e-7);
	assert_float_equal(d.stage[STAGE_SPLIT].all_s - none.stage[STAGE_SPLIT].all_s, 16e6 * copy,
			   1e-7);
	assert_float_equal(d.stage[STAGE_RECEIVE].all_s - none.stage[STAGE_RECEIVE].all_s,
			   116e6 * copy, 1e-7);
	assert_float_equal(d.stage[STAGE_WRITE].all_s - none.stage[STAGE_WRITE].all_s, 12e6 * copy,
			   1e-7);
	l.cold = l.durable = true;
	l.disk_s = 1e-6; /* only the disk counts, not the memory */
	const job_time disk = job_time_of(&r, &usual, &l);
	assert_float_equal(disk.stage[STAGE_READ].fresh_s + disk.stage[STAGE_READ].files_s, 0, 0);
	assert_float_equal(disk.stage[STAGE_WRITE].fresh_s + disk.stage[STAGE_WRITE].files_s, 0, 0);
	l = (job_load){ 1000000, 1000000, 1, 1,     false, true, false, 0,
			1,       50e6,    0, false, 0,     0,    false, false };
	assert_float_equal(job_time_of(&r, &usual, &l).stage[STAGE_READ].fresh_s, 50e6 * copy,
			   1e-7);
}

/* The stages add up to the whole time, so the time left of a job that has not begun is the
 * predicted time. This includes the link and reading the output again. */
static void all_seconds_are_in_stages(void **state)
{
	enum { M = 1000000 };
	rates r = job_time_nominal(1);
	job_load l = { .in = 10 * M, .out = 10 * M, .ranks = 4, .cpus = 1, .disk_ranks = 1 };
	(void)state;
	for (int i = 0; i < 32; i++) {
		settings o = usual;
		double sum = 0;
		rank_progress s;
		o.strategy = i & 1 ? BY_DISTRIBUTING : BY_MERGING;
		l.spills = i & 2;
		l.rereads = i & 4;
		l.durable = i & 8;
		r.link_s = i & 16 ? job_time_byte_s(50) : 0;
		const job_time t = job_time_of(&r, &o, &l);
		progress_init(&s);
		for (int k = STAGE_READ; k < STAGES; k++) {
			sum += t.stage[k].all_s;
			progress_plan(&s, (stage_kind)k, t.stage[k]);
		}
		assert_float_equal(sum, t.total_s, 1e-9);
		assert_float_equal(progress_look(&s, (moment){ 0 }).left_s, t.total_s, 1e-9);
		assert_true((t.stage[STAGE_CHECK].all_s > 0) == l.rereads);
	}
}

static void names_what_binds(void **state)
{
	enum { M = 1000000 };
	const job_load l = { .in = 10 * M, .out = 10 * M, .ranks = 4, .cpus = 1, .durable = true };
	job_load slow_disk = l;
	rates r = job_time_nominal(1);
	(void)state;
	assert_int_equal(job_time_bound_by(&r, &usual, &l), BOUND_BY_PROCESSOR);
	const double free_s = predicted(&l);
	slow_disk.disk_s = 1e-7;
	assert_int_equal(job_time_bound_by(&r, &usual, &slow_disk), BOUND_BY_DISK);
	r.link_s = job_time_byte_s(1);
	assert_int_equal(job_time_bound_by(&r, &usual, &l), BOUND_BY_LINK);
	/* 1 GB, three quarters of which leave, while the rank writes */
	const double added_s = job_time_of(&r, &usual, &l).total_s - free_s;
	assert_true(added_s > 740 && added_s < 750);
	r.link_s = job_time_byte_s(1e6); /* fast enough: it adds nothing */
	assert_float_equal(job_time_of(&r, &usual, &l).total_s, free_s, 1e-9);
	for (int i = 0; i < BOTTLENECKS; i++)
		assert_true(strlen(job_time_bound_name((bottleneck)i)) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(measured_runs),
		cmocka_unit_test(measured_work),
		cmocka_unit_test(costs_add_time),
		cmocka_unit_test(strategies_order_the_stages),
		cmocka_unit_test(where_memory_is_fresh),
		cmocka_unit_test(names_what_binds),
		cmocka_unit_test(all_seconds_are_in_stages),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
