/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The predicted time of runs that were measured on the machine of the nominal rates, 2 processors
 * with nothing else to do: within a quarter. And what adds to it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>
#include "model/job_time.h"

#define LEN(a) (sizeof(a) / sizeof *(a))

static const settings usual = { .lay = LAYOUT_BYTES(100, 0, 10) };

static double predicted(const job_load *l)
{
	const rates r = job_time_nominal(1, 1);
	return job_time_of(&r, &usual, l).total_s;
}

/* Medians of three rounds of `make bench ARGS='--records N --repeat 3 --dir /dev/shm --warm --group
 * hetsort'`, whose inputs are in the page cache; and sorts whose files are on a nominal disk. */
static void measured_runs(void **state)
{
	enum { M = 1000000 };
	static const job_load one = { .ranks = 1, .in_place = true };
	static const job_load two = { .ranks = 2, .in_place = true };
	static const job_load disk = { .ranks = 1 }, disks = { .ranks = 2 };
	static const job_load runs = { .ranks = 1, .spills = true };
	static const struct {
		double taken_s;
		strategy by;
		const job_load *load;
		uint64_t records; /* of a rank */
		double fresh_bytes;
	} run[] = {
		{ 3.20, BY_MERGING, &disk, 20 * M, 0 },
		{ 10.7, BY_MERGING, &disk, 60 * M, 0 },
		{ 3.80, BY_MERGING, &disks, 10 * M, 0 },
		{ 34.7, BY_MERGING, &runs, 100 * M, 0 },
		{ 31.5, BY_MERGING, &runs, 100 * M, 0 },
		{ 29.8, BY_MERGING, &runs, 100 * M, 0 },
		{ 0.527, BY_MERGING, &one, 4 * M, 55e6 },
		{ 0.566, BY_MERGING, &two, 2 * M, 42e6 },
		{ 0.867, BY_DISTRIBUTING, &two, 2 * M, 250e6 },
		{ 3.589, BY_MERGING, &one, 20 * M, 190e6 },
		{ 4.058, BY_MERGING, &two, 10 * M, 110e6 },
		{ 4.608, BY_DISTRIBUTING, &two, 10 * M, 1180e6 },
	};
	(void)state;
	for (size_t i = 0; i < LEN(run); i++) {
		settings o = usual;
		job_load l = *run[i].load;
		o.strategy = run[i].by;
		l.in = l.out = run[i].records;
		l.fresh_bytes = run[i].fresh_bytes;
		rates r = job_time_nominal(1, 2.0 / (double)l.ranks);
		if (!l.in_place)
			r.disk_s = r.input_s = job_time_byte_s(NOMINAL_DISK_MB) * (double)l.ranks;
		const double s = job_time_of(&r, &o, &l).total_s;
		if (s < 0.75 * run[i].taken_s || s > 1.25 * run[i].taken_s)
			fail_msg("%zu: %.3f s taken, %.3f s predicted", i, run[i].taken_s, s);
	}
}

/* A part of a job in memory: the seconds of one processor for 4.7 million records, 470 MB, in the
 * page cache. Most of the time is spent when records are gathered, not when they are read. */
static void measured_stages(void **state)
{
	const job_load l = { .in = 4700000, .out = 4700000, .ranks = 1, .in_place = true };
	const rates r = job_time_nominal(1, 1);
	const job_time t = job_time_of(&r, &usual, &l);
	job_load copied = l;
	copied.in_place = false;
	(void)state;
	assert_true(t.stage[STAGE_WRITE].all_s > 5 * t.stage[STAGE_READ].all_s);
	assert_true(t.stage[STAGE_WRITE].all_s < 9 * t.stage[STAGE_READ].all_s);
	assert_float_equal(t.stage[STAGE_READ].fresh_s, 0, 0); /* no memory for the records */
	assert_true(job_time_of(&r, &usual, &copied).stage[STAGE_READ].all_s >
		    2 * t.stage[STAGE_READ].all_s);
	settings unique = usual;
	unique.unique = true; /* compares neighbours, which are far apart in memory */
	assert_true(job_time_of(&r, &unique, &l).stage[STAGE_WRITE].all_s >
		    1.2 * t.stage[STAGE_WRITE].all_s);
}

/* Each of these takes longer. Only the disk counts if it is slow enough. */
static void costs_add_time(void **state)
{
	const job_load base = { .in = 1000000, .out = 1000000, .ranks = 1 };
	job_load spills = base, slow = base, ranks = base, fresh = base, lookups;
	rates half = job_time_nominal(1, 0.5), disk = job_time_nominal(1, 1);
	(void)state;
	spills.spills = true;
	assert_true(predicted(&spills) > predicted(&base) + 0.1);
	ranks.ranks = 4;
	assert_true(predicted(&ranks) > predicted(&base));
	fresh.fresh_bytes = 1e9; /* cleared by the system, about as fast as copied */
	assert_float_equal(predicted(&fresh) - predicted(&base), 1e9 * 0.53 * 0.665e-9, 1e-9);
	job_load far = ranks;
	far.far = 1; /* 75 MB to other hosts, and from them */
	assert_float_equal(predicted(&far) - predicted(&ranks), 150e6 * 1.26 * 0.665e-9, 1e-6);
	ranks.spills = true;
	lookups = ranks;
	lookups.lookup_bytes = 1e8; /* 0.1 s from the disk, 0.035 s to check */
	disk.disk_s = 1e-9;
	assert_float_equal(job_time_of(&disk, &usual, &lookups).total_s -
				   job_time_of(&disk, &usual, &ranks).total_s,
			   0.135, 1e-6);
	assert_float_equal(job_time_of(&half, &usual, &base).total_s, 2 * predicted(&base), 1e-9);
	disk.disk_s = 1e-6; /* 1 MB/s */
	slow.buffer_bytes = 100e6;
	assert_float_equal(job_time_of(&disk, &usual, &slow).total_s, predicted(&base), 1e-9);
	slow.spills = true; /* 100 MB to disk, 100 MB from and 100 MB to disk */
	slow.buffer_bytes = 0;
	assert_float_equal(job_time_of(&disk, &usual, &slow).total_s, 300, 1e-6);
	slow.held = 0.75; /* 25 MB to disk and from there, and the output */
	assert_float_equal(job_time_of(&disk, &usual, &slow).total_s, 150, 1e-6);
	slow.buffer_bytes = 40e6; /* the rest of the output */
	assert_float_equal(job_time_of(&disk, &usual, &slow).total_s, 110, 1e-6);
}

static void same_parts(job_time a, job_time b)
{
	assert_float_equal(a.stage[STAGE_READ].all_s, b.stage[STAGE_READ].all_s, 1e-9);
	assert_float_equal(a.stage[STAGE_SPLIT].all_s, b.stage[STAGE_SPLIT].all_s, 1e-9);
	assert_float_equal(a.stage[STAGE_RECEIVE].all_s, b.stage[STAGE_RECEIVE].all_s, 1e-9);
	assert_float_equal(a.stage[STAGE_SORT].all_s, b.stage[STAGE_SORT].all_s, 1e-9);
	assert_float_equal(a.stage[STAGE_WRITE].all_s, b.stage[STAGE_WRITE].all_s, 1e-9);
}

/* A rank in memory sorts while it writes. If the strategy sorts last, a rank whose runs spill still
 * sends and sorts records while it reads. A single rank ignores the strategy. */
static void strategies_order_the_stages(void **state)
{
	const rates r = job_time_nominal(1, 1);
	const job_load memory = { .in = 1000000, .out = 1000000, .ranks = 4 };
	job_load spills = memory, single = memory, waits = memory;
	settings merging = usual, distributing = usual;
	(void)state;
	distributing.strategy = BY_DISTRIBUTING;
	const double order_s = job_time_before_s(&r, &merging, memory.in) -
			       job_time_before_s(&r, &distributing, memory.in);
	const double sort_s = r.sort_s * 1e6 * log(1e6);
	/* three quarters of the records are gathered and copied to be sent; all are stored */
	const double send_s = 75e6 * (r.merge_s / 2 + r.copy_s);
	const double sent_s = send_s + 1e8 * r.copy_s;
	const job_time m = job_time_of(&r, &merging, &memory);
	const job_time d = job_time_of(&r, &distributing, &memory);
	assert_float_equal(m.stage[STAGE_READ].all_s, d.stage[STAGE_READ].all_s, 1e-9);
	assert_float_equal(m.stage[STAGE_SPLIT].all_s + m.stage[STAGE_RECEIVE].all_s +
				   m.stage[STAGE_SORT].all_s,
			   0, 0);
	assert_float_equal(d.stage[STAGE_RECEIVE].all_s, sent_s, 1e-9);
	assert_float_equal(d.stage[STAGE_SORT].all_s, sort_s - order_s, 1e-9);
	/* no record is sent or merged; its own ones are gathered once, not twice */
	assert_float_equal(d.stage[STAGE_WRITE].all_s,
			   m.stage[STAGE_WRITE].all_s - send_s - 25e6 * (r.merge_s / 2 + r.copy_s),
			   1e-9);
	single.ranks = 1;
	same_parts(job_time_of(&r, &merging, &single), job_time_of(&r, &distributing, &single));
	spills.spills = true;
	same_parts(job_time_of(&r, &merging, &spills), job_time_of(&r, &distributing, &spills));
	rates disk = r;
	disk.disk_s = 1e-6; /* the disk decides, and writing takes the rest of its time */
	const job_time w = job_time_of(&disk, &distributing, &waits);
	assert_float_equal(w.stage[STAGE_RECEIVE].all_s + w.stage[STAGE_SORT].all_s +
				   w.stage[STAGE_SPLIT].all_s + w.stage[STAGE_WRITE].all_s,
			   100, 1e-6);
}

/* Memory counts in the stage of its first use: records and their buckets when they are read. With a
 * last sort, received records and their buckets count as well. */
static void where_memory_is_fresh(void **state)
{
	const rates r = job_time_nominal(1, 1);
	const double copy = cost_ratios_find()->fresh * r.file_s; /* per byte that is cleared */
	job_load l = { .in = 1000000, .out = 1000000, .ranks = 4, .fresh_bytes = 160e6 };
	settings distributing = usual;
	(void)state;
	distributing.strategy = BY_DISTRIBUTING;
	const job_time m = job_time_of(&r, &usual, &l);
	assert_float_equal(m.stage[STAGE_READ].fresh_s, (100e6 + 10e6) * copy, 1e-9);
	assert_float_equal(m.stage[STAGE_WRITE].fresh_s, 150e6 * copy, 1e-9);
	const job_time d = job_time_of(&r, &distributing, &l);
	assert_float_equal(d.stage[STAGE_RECEIVE].fresh_s, 100e6 * copy, 1e-9);
	assert_float_equal(d.stage[STAGE_SORT].fresh_s, 10e6 * copy, 1e-9);
	assert_float_equal(d.stage[STAGE_WRITE].fresh_s, 40e6 * copy, 1e-9);
	l.fresh_bytes = 0;
	const job_time none = job_time_of(&r, &distributing, &l);
	static const double fresh[STAGES] = { [STAGE_READ] = 10e6,
					      [STAGE_RECEIVE] = 100e6,
					      [STAGE_SORT] = 10e6,
					      [STAGE_WRITE] = 40e6 };
	for (int k = STAGE_READ; k < STAGES; k++)
		assert_float_equal(d.stage[k].all_s - none.stage[k].all_s, fresh[k] * copy, 1e-7);
	rates slow = r;
	slow.disk_s = slow.input_s = 1e-6; /* only the disk counts, not the memory */
	const job_time disk = job_time_of(&slow, &usual, &l);
	assert_float_equal(disk.stage[STAGE_READ].fresh_s + disk.stage[STAGE_READ].files_s, 0, 0);
	assert_float_equal(disk.stage[STAGE_WRITE].fresh_s + disk.stage[STAGE_WRITE].files_s, 0, 0);
	l = (job_load){
		.in = 1000000, .out = 1000000, .ranks = 1, .spills = true, .fresh_bytes = 50e6
	};
	assert_float_equal(job_time_of(&r, &usual, &l).stage[STAGE_READ].fresh_s, 50e6 * copy,
			   1e-7);
}

/* The stages add up to the whole time, so the time left of a job that has not begun is the
 * predicted time. This includes the link and reading the output again. */
static void all_seconds_are_in_stages(void **state)
{
	enum { M = 1000000 };
	rates r = job_time_nominal(1, 1);
	job_load l = { .in = 10 * M, .out = 10 * M, .ranks = 4 };
	(void)state;
	for (int i = 0; i < 32; i++) {
		settings o = usual;
		double sum = 0;
		rank_progress s;
		o.strategy = i & 1 ? BY_DISTRIBUTING : BY_MERGING;
		l.spills = i & 2;
		l.rereads = i & 4;
		r.disk_s = i & 8 ? job_time_byte_s(300) : 0;
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
	const job_load l = { .in = 10 * M, .out = 10 * M, .ranks = 4 };
	rates r = job_time_nominal(1, 1), slow_disk = r;
	(void)state;
	assert_int_equal(job_time_bound_by(&r, &usual, &l), BOUND_BY_PROCESSOR);
	const double free_s = predicted(&l);
	slow_disk.disk_s = 1e-7;
	assert_int_equal(job_time_bound_by(&slow_disk, &usual, &l), BOUND_BY_DISK);
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

/* A rank sends what it reads and does not write, and receives what it writes and has not read. */
static void both_shares_decide_what_moves(void **state)
{
	enum { M = 1000000 };
	static const struct {
		uint64_t in, out;
		double mb; /* the larger one of both directions */
	} ranks[] = { { 10 * M, 10 * M, 750 }, { 0, 40 * M, 4000 }, { 40 * M, 0, 4000 },
		      { 40 * M, 40 * M, 0 },   { 0, 0, 0 },         { 20 * M, 4 * M, 1800 },
		      { 4 * M, 20 * M, 1800 } };
	rates r = job_time_nominal(1, 1);
	(void)state;
	r.link_s = 1e-6;
	for (size_t i = 0; i < LEN(ranks); i++) {
		const job_load l = {
			.in = ranks[i].in, .out = ranks[i].out, .all = 40 * M, .ranks = 4
		};
		assert_float_equal(job_time_link_s(&r, &usual, &l), ranks[i].mb, 1e-6);
	}
}

/* A rank with many processors needs lanes to use them; its busiest kind of thread shows how many.
 */
static void lanes_use_processors(void **state)
{
	enum { M = 1000000 };
	const rates r = job_time_nominal(1, 16);
	job_load l = { .in = 10 * M, .out = 10 * M, .ranks = 4, .lanes = 1 };
	const double thread_s = job_time_thread_s(&r, &usual, &l);
	double last_s = INFINITY;
	(void)state;
	assert_float_equal(job_time_of(&r, &usual, &l).stage[STAGE_WRITE].all_s, thread_s, 1e-9);
	for (l.lanes = 1; l.lanes <= 15; l.lanes++) {
		const double s = job_time_of(&r, &usual, &l).stage[STAGE_WRITE].all_s;
		assert_true(s <= last_s && s >= thread_s / l.lanes - 1e-12);
		last_s = s;
	}
	assert_true(last_s < thread_s / 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_shares_decide_what_moves),
		cmocka_unit_test(lanes_use_processors),
		cmocka_unit_test(measured_runs),
		cmocka_unit_test(measured_stages),
		cmocka_unit_test(costs_add_time),
		cmocka_unit_test(strategies_order_the_stages),
		cmocka_unit_test(where_memory_is_fresh),
		cmocka_unit_test(names_what_binds),
		cmocka_unit_test(all_seconds_are_in_stages),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
