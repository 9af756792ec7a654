/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The predicted time of runs that were measured on the machine of the nominal rates, 2 processors
 * with nothing else to do (docs/performance.md): within a quarter. And what adds to it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "model/run_time.h"

#define LEN(a) (sizeof(a) / sizeof *(a))

static const settings usual = { .lay = LAYOUT_BYTES(100, 0, 10) };

static double predicted(const run_load *l)
{
	const rates r = rates_nominal(1);
	return run_time_s(&r, &usual, l);
}

static void measured_runs(void **state)
{
	enum { M = 1000000 };
	static const struct {
		double taken_s;
		run_load load;
	} run[] = {
		{ 3.12, { 20 * M, 20 * M, 1, 2, false, false, false, 0, 1, 0, 0, false, 0, 0 } },
		{ 3.20, { 20 * M, 20 * M, 1, 2, true, false, true, 0, 1, 0, 0, false, 0, 0 } },
		{ 10.7, { 60 * M, 60 * M, 1, 2, true, false, true, 0, 1, 0, 0, false, 0, 0 } },
		{ 3.80, { 10 * M, 10 * M, 2, 1, true, false, true, 0, 2, 0, 0, false, 0, 0 } },
		{ 34.7, { 100 * M, 100 * M, 1, 2, true, true, true, 0, 1, 0, 0, false, 0, 0 } },
		{ 31.5, { 100 * M, 100 * M, 1, 2, true, true, true, 0, 1, 0, 0, false, 0, 0 } },
		{ 29.8, { 100 * M, 100 * M, 1, 2, true, true, true, 0, 1, 0, 0, false, 0, 0 } },
	};
	(void)state;
	for (size_t i = 0; i < LEN(run); i++) {
		const double s = predicted(&run[i].load);
		if (s < 0.75 * run[i].taken_s || s > 1.25 * run[i].taken_s)
			fail_msg("%.1f s taken, %.2f s predicted", run[i].taken_s, s);
	}
}

/* Each of these takes longer, and a disk that is slow enough decides alone. */
static void what_takes_longer(void **state)
{
	const run_load base = {
		1000000, 1000000, 1, 1, false, false, false, 0, 1, 0, 0, false, 0, 0
	};
	run_load spills = base, slow = base, ranks = base, busy = base, fresh = base, lookups;
	(void)state;
	spills.spills = true;
	assert_true(predicted(&spills) > predicted(&base) + 0.1);
	ranks.ranks = 4;
	assert_true(predicted(&ranks) > predicted(&base));
	fresh.fresh_bytes = 1e9; /* cleared by the system, about as fast as copied */
	assert_float_equal(predicted(&fresh) - predicted(&base), 0.35, 1e-9);
	run_load far = ranks;
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

/* 4 million records in memory, by processor time of all phases but planning (2 processors, files in
 * memory): one rank, and two by either strategy. The second sort of those that distribute, what
 * they receive and the memory for it make them the slowest. */
static void measured_work(void **state)
{
	enum { M = 1000000 };
	static const struct {
		double taken_s;
		strategy by;
		run_load load;
	} run[] = {
		{ 1.515,
		  BY_MERGING,
		  { 4 * M, 4 * M, 1, 1, false, false, false, 0, 1, 87e6, 0, false, 0, 0 } },
		{ 0.945,
		  BY_MERGING,
		  { 2 * M, 2 * M, 2, 1, false, false, false, 0, 2, 54e6, 0, false, 0, 0 } },
		{ 1.103,
		  BY_DISTRIBUTING,
		  { 2 * M, 2 * M, 2, 1, false, false, false, 0, 2, 310e6, 0, false, 0, 0 } },
	};
	const rates r = rates_nominal(1);
	(void)state;
	for (size_t i = 0; i < LEN(run); i++) {
		settings o = usual;
		o.strategy = run[i].by;
		const double s = run_time_s(&r, &o, &run[i].load);
		if (s < 0.75 * run[i].taken_s || s > 1.25 * run[i].taken_s)
			fail_msg("%zu: %.3f s taken, %.3f s predicted", i, run[i].taken_s, s);
	}
}

static void same_parts(run_parts a, run_parts b)
{
	assert_float_equal(a.read.all_s, b.read.all_s, 1e-9);
	assert_float_equal(a.split.all_s, b.split.all_s, 1e-9);
	assert_float_equal(a.receive.all_s, b.receive.all_s, 1e-9);
	assert_float_equal(a.sort.all_s, b.sort.all_s, 1e-9);
	assert_float_equal(a.write.all_s, b.write.all_s, 1e-9);
}

/* Where the strategy sorts last, a rank whose runs spill has sent and sorted what it reads before;
 * so has one that is alone sorted it. */
static void what_comes_first(void **state)
{
	const rates r = rates_nominal(1);
	const run_load memory = { 1000000, 1000000, 4, 1, false, false, false,
				  0,       1,       0, 0, false, 0,     0 };
	run_load spills = memory, alone = memory, waits = memory;
	settings merging = usual, distributing = usual;
	(void)state;
	distributing.strategy = BY_DISTRIBUTING;
	const double sort_s = rates_before_s(&r, &merging, memory.in) -
			      rates_before_s(&r, &distributing, memory.in);
	const double sent_s = rates_send_s(&r, &usual, memory.in, 4) + 1e8 * r.copy_s;
	const run_parts m = run_time_parts(&r, &merging, &memory);
	const run_parts d = run_time_parts(&r, &distributing, &memory);
	assert_float_equal(m.read.all_s - sort_s, d.read.all_s, 1e-9);
	assert_float_equal(m.split.all_s + m.receive.all_s + m.sort.all_s, 0, 0);
	assert_float_equal(d.receive.all_s, sent_s, 1e-9);
	assert_float_equal(d.sort.all_s, sort_s, 1e-9);
	assert_true(d.split.all_s > 0); /* two passes over entries */
	assert_float_equal(d.write.all_s, m.write.all_s - rates_send_s(&r, &usual, memory.in, 4),
			   1e-9);
	alone.ranks = 1;
	same_parts(run_time_parts(&r, &merging, &alone), run_time_parts(&r, &distributing, &alone));
	spills.spills = true;
	same_parts(run_time_parts(&r, &merging, &spills),
		   run_time_parts(&r, &distributing, &spills));
	const double before_s = run_time_parts(&r, &merging, &spills).read.all_s;
	spills.spreads = true;
	const run_parts s = run_time_parts(&r, &distributing, &spills);
	assert_float_equal(s.read.all_s, before_s + sent_s, 1e-9);
	assert_float_equal(s.receive.all_s + s.sort.all_s + s.split.all_s, 0, 0);
	waits.durable = true;
	waits.disk_s = 1e-6; /* the disk decides, and writing takes what is left of its time */
	const run_parts w = run_time_parts(&r, &distributing, &waits);
	assert_float_equal(w.receive.all_s + w.sort.all_s + w.split.all_s + w.write.all_s, 100,
			   1e-6);
}

/* Memory that is used for the first time counts where that is: the records and their entries when
 * they are read; where they are sorted last, again by destination and when they are received. What
 * is left is for writing, and no byte counts twice. */
static void where_memory_is_fresh(void **state)
{
	const rates r = rates_nominal(1);
	const double copy = r.copy_s;
	run_load l = { 1000000, 1000000, 4, 1, false, false, false, 0, 1, 160e6, 0, false, 0, 0 };
	settings distributing = usual;
	(void)state;
	distributing.strategy = BY_DISTRIBUTING;
	const run_parts m = run_time_parts(&r, &usual, &l);
	assert_float_equal(m.read.fresh_s, (100e6 + 16e6) * copy, 1e-9);
	assert_float_equal(m.write.fresh_s, 144e6 * copy, 1e-9);
	const run_parts d = run_time_parts(&r, &distributing, &l);
	assert_float_equal(d.split.fresh_s, 16e6 * copy, 1e-9);
	assert_float_equal(d.receive.fresh_s, 116e6 * copy, 1e-9);
	assert_float_equal(d.write.fresh_s, 12e6 * copy, 1e-9);
	l.fresh_bytes = 0;
	const run_parts none = run_time_parts(&r, &distributing, &l);
	assert_float_equal(d.read.all_s - none.read.all_s, 16e6 * copy, 1e-7);
	assert_float_equal(d.split.all_s - none.split.all_s, 16e6 * copy, 1e-7);
	assert_float_equal(d.receive.all_s - none.receive.all_s, 116e6 * copy, 1e-7);
	assert_float_equal(d.write.all_s - none.write.all_s, 12e6 * copy, 1e-7);
	l.cold = l.durable = true;
	l.disk_s = 1e-6; /* it decides, and says nothing of memory */
	const run_parts disk = run_time_parts(&r, &usual, &l);
	assert_float_equal(disk.read.fresh_s + disk.read.files_s, 0, 0);
	assert_float_equal(disk.write.fresh_s + disk.write.files_s, 0, 0);
	l = (run_load){ 1000000, 1000000, 1, 1, false, true, false, 0, 1, 50e6, 0, false, 0, 0 };
	assert_float_equal(run_time_parts(&r, &usual, &l).read.fresh_s, 50e6 * copy, 1e-7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(measured_runs),         cmocka_unit_test(measured_work),
		cmocka_unit_test(what_takes_longer),     cmocka_unit_test(what_comes_first),
		cmocka_unit_test(where_memory_is_fresh),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
