/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Learning from job to job, with computed times: near the best shares from the third job on, for
 * any cost. Also jobs on other hosts, and files that are damaged, old, about other jobs or not
 * wisdom. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <hetpart.h>
#include "model/wisdom.h"

#define LEN(a) (sizeof(a) / sizeof *(a))

enum { P = 4 };

static const wisdom_rank ranks[P] = { { "a:1", 1 }, { "b:1", 1 }, { "c:1", 1 }, { "c:2", 1 } };

static double linear(void *ctx, uint64_t n)
{
	(void)ctx;
	return 1e-7 * (double)n;
}
static double sorting(void *ctx, uint64_t n)
{
	(void)ctx;
	return n > 1 ? 4e-9 * (double)n * log((double)n) : 0;
}
static double startup(void *ctx, uint64_t n)
{
	(void)ctx;
	return n ? 0.001 + 1e-7 * (double)n : 0;
}
static double power(void *ctx, uint64_t n)
{
	(void)ctx;
	return 1e-9 * pow((double)n, 1.3);
}

static const struct {
	const char *name;
	hetpart_cost_fn *f;
} costs[] = {
	{ "linear", linear }, { "sorting", sorting }, { "startup", startup }, { "power", power }
};

static const double speeds[][P] = {
	{ 1, 1, 1, 1 }, { 1, 1.5, 1, 1.5 }, { 1, 2, 4, 8 }, { 1, 10, 10, 10 }
};

/* Return the seconds of a rank, with up to the part `noise` of them more or less. */
static double seconds(hetpart_cost_fn *f, uint64_t n, double speed, double noise, unsigned *seed)
{
	*seed = *seed * 1103515245u + 12345u;
	return f(NULL, n) / speed * (1 + noise * ((double)(*seed >> 16 & 0x7fff) / 16384 - 1));
}

static double ideal(hetpart_cost_fn *f, uint64_t n, const double *speed)
{
	hetpart_cost *cost = NULL;
	hetpart_plan *plan = NULL;
	assert_int_equal(hetpart_cost_callback(&cost, f, NULL, true, 1, NULL), HETPART_OK);
	assert_int_equal(hetpart_share_create(&plan, n, speed, P, cost, NULL, NULL), HETPART_OK);
	const double t = hetpart_plan_makespan(plan);
	hetpart_plan_free(plan);
	hetpart_cost_free(cost);
	return t;
}

static void set_ranks(wisdom *w, const wisdom_rank *rank, size_t p)
{
	err e = { ST_OK, "" };
	assert_int_equal(wisdom_set_ranks(w, rank, p, &e), ST_OK);
}

static settings of_kind(const char *wisdom_path)
{
	return (settings){ .wisdom = wisdom_path,
			   .lay = LAYOUT_BYTES(100, 0, 10),
			   .plan = PLAN_ONLINE };
}

/* Run one job: plan, work, learn. Return its excess over the best time, as a part of it. */
static double run(const char *path, hetpart_cost_fn *f, const double *speed, uint64_t n,
		  double noise, unsigned *seed)
{
	const settings o = of_kind(path);
	uint64_t share[P], sum = 0;
	double last = 0;
	bool known;
	wisdom *w = NULL;
	err note = { ST_OK, "" }, e = { ST_OK, "" };
	assert_int_equal(wisdom_open(&w, &o, &note, &e), ST_OK);
	assert_string_equal(note.text, "");
	set_ranks(w, ranks, P);
	assert_int_equal(wisdom_shares(w, PART_BEFORE, n, share, &known, &e), ST_OK);
	run_times t[P] = { { 0 } };
	for (size_t i = 0; i < P; i++) {
		if (!known)
			share[i] = n / P;
		sum += share[i];
		last = fmax(last, f(NULL, share[i]) / speed[i]);
		t[i].in = share[i];
		t[i].before_s = seconds(f, share[i], speed[i], noise, seed);
	}
	assert_true(sum == n);
	wisdom_learn(w, t);
	wisdom_save(w, (uint64_t)time(NULL), &note);
	assert_string_equal(note.text, "");
	wisdom_free(w);
	return last / ideal(f, n, speed);
}

static void third_run(void **state)
{
	(void)state;
	for (size_t c = 0; c < LEN(costs); c++)
		for (size_t s = 0; s < LEN(speeds); s++) {
			unsigned seed = 1;
			double off = 0;
			unlink("book");
			for (int r = 1; r <= 6; r++) {
				off = run("book", costs[c].f, speeds[s], 4000000, 0, &seed);
				if (r >= 3 && off > 1.03)
					fail_msg("%s, speeds %zu, run %d: %.4f", costs[c].name, s,
						 r, off);
			}
		}
}

/* With noise, the time stays within twice the noise of the best. */
static void noisy_runs(void **state)
{
	(void)state;
	for (size_t c = 0; c < LEN(costs); c++)
		for (size_t s = 0; s < LEN(speeds); s++) {
			unsigned seed = (unsigned)(c * 10 + s);
			unlink("book");
			for (int r = 1; r <= 12; r++) {
				const double off =
					run("book", costs[c].f, speeds[s], 4000000, 0.03, &seed);
				if (r >= 3 && off > 1.06)
					fail_msg("%s, speeds %zu, run %d: %.4f", costs[c].name, s,
						 r, off);
			}
		}
}

/* The shares follow a machine whose speed changes. */
static void follows(void **state)
{
	unsigned seed = 1;
	double off = 0;
	(void)state;
	unlink("book");
	for (int r = 0; r < 6; r++)
		run("book", sorting, speeds[2], 4000000, 0, &seed);
	for (int r = 0; r < 8; r++)
		off = run("book", sorting, speeds[1], 4000000, 0, &seed);
	assert_true(off < 1.05);
}

static void nothing_known(void **state)
{
	const settings o = of_kind("none");
	uint64_t share[P];
	bool known = true;
	wisdom *w = NULL;
	err note = { ST_OK, "" }, e = { ST_OK, "" };
	(void)state;
	assert_int_equal(wisdom_open(&w, &o, &note, &e), ST_OK);
	set_ranks(w, ranks, P);
	assert_int_equal(wisdom_shares(w, PART_AFTER, 1000, share, &known, &e), ST_OK);
	assert_false(known);
	assert_string_equal(note.text, "");
	/* one rank is known, so all others get its speed */
	set_ranks(w, &ranks[1], 1);
	wisdom_learn(w, &(run_times){ .out = 250, .after_s = 0.5 });
	set_ranks(w, ranks, P);
	assert_int_equal(wisdom_shares(w, PART_AFTER, 1000, share, &known, &e), ST_OK);
	assert_true(known);
	for (size_t i = 0; i < P; i++)
		assert_true(share[i] == 250);
	wisdom_free(w);
}

static void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0 && fclose(f) == 0);
}

/* Open path for records of this size and save. Check the note, and whether the file was replaced.
 */
static void try_file(const char *path, uint32_t record_bytes, const char *words, bool replaced)
{
	settings o = of_kind(path);
	o.lay.record_bytes = record_bytes;
	uint64_t share[P];
	bool known = true;
	wisdom *w = NULL;
	struct stat before, after;
	err note = { ST_OK, "" }, e = { ST_OK, "" };
	assert_int_equal(stat(path, &before), 0);
	assert_int_equal(wisdom_open(&w, &o, &note, &e), ST_OK);
	if (!strstr(note.text, words))
		fail_msg("'%s' is not in '%s'", words, note.text);
	set_ranks(w, ranks, P);
	assert_int_equal(wisdom_shares(w, PART_BEFORE, 1000, share, &known, &e), ST_OK);
	assert_false(known);
	wisdom_save(w, (uint64_t)time(NULL), &note);
	wisdom_free(w);
	assert_int_equal(stat(path, &after), 0);
	assert_int_equal(before.st_ino != after.st_ino, replaced);
}

static void files_not_obeyed(void **state)
{
	const settings o = of_kind("old");
	unsigned seed = 1;
	wisdom *w = NULL;
	err note = { ST_OK, "" }, e = { ST_OK, "" };
	(void)state;
	write_text("letter", "dear reader,\nthese are not costs\n");
	try_file("letter", 100, "wisdom is ignored: ", false);
	write_text("broken", "hetpart-wisdom 1\nhost here\n"
			     "number x y\n");
	try_file("broken", 100, "wisdom is ignored and replaced: ", true);
	write_text("later", "hetpart-wisdom 99\n");
	try_file("later", 100, "wisdom is ignored: ", false);
	write_text("nothing", "");
	try_file("nothing", 100, "wisdom is ignored and replaced: ", true);
	unlink("book");
	run("book", linear, speeds[0], 4000000, 0, &seed);
	try_file("book", 64, "it is about other jobs, 'hosts merge threads 0 record 100", false);
	hetpart_wisdom *earlier = NULL;
	assert_int_equal(hetpart_wisdom_create(
				 &earlier, "a merge ranks 4 threads 0 record 100 key 0 10", NULL),
			 HETPART_OK);
	assert_int_equal(hetpart_wisdom_save(earlier, "earlier", NULL), HETPART_OK);
	hetpart_wisdom_free(earlier);
	try_file("earlier", 100, "'earlier' is of an earlier version, ", true);
	try_file("earlier", 100, "", true);
	assert_int_equal(wisdom_open(&w, &o, &note, &e), ST_OK);
	set_ranks(w, ranks, 1);
	wisdom_learn(w, &(run_times){ .in = 10, .before_s = 1 });
	wisdom_save(w, 1000000, &note);
	wisdom_free(w);
	try_file("old", 100, "is older than half a year: learning starts again", true);
}

static void places(void **state)
{
	settings o = of_kind(NULL);
	unsigned seed = 1;
	struct stat st;
	(void)state;
	run("a/b/", linear, speeds[0], 1000, 0, &seed);
	assert_int_equal(stat("a/b/hosts-merge-threads-0-record-100-key-0-10.wisdom", &st), 0);
	setenv("HETSORT_WISDOM", "c/", 1);
	run(NULL, linear, speeds[0], 1000, 0, &seed);
	assert_int_equal(stat("c/hosts-merge-threads-0-record-100-key-0-10.wisdom", &st), 0);
	unsetenv("HETSORT_WISDOM");
	unsetenv("XDG_STATE_HOME");
	unsetenv("HOME");
	wisdom *w = NULL;
	err note = { ST_OK, "" }, e = { ST_OK, "" };
	assert_int_equal(wisdom_open(&w, &o, &note, &e), ST_OK);
	assert_non_null(strstr(note.text, "no place for wisdom"));
	wisdom_save(w, 1000000, &note);
	wisdom_free(w);
}

typedef struct seen_rank {
	wisdom_rank is;
	uint64_t n; /* that it has worked on, in a second; or that it should be given */
} seen_rank;

static void learn(const seen_rank *r, size_t p)
{
	const settings o = of_kind("jobs");
	wisdom *w = NULL;
	err note = { ST_OK, "" }, e = { ST_OK, "" };
	assert_int_equal(wisdom_open(&w, &o, &note, &e), ST_OK);
	wisdom_rank rank[8];
	run_times t[8] = { { 0 } };
	for (size_t i = 0; i < p; i++) {
		rank[i] = r[i].is;
		t[i] = (run_times){ .in = r[i].n, .before_s = 1, .out = r[i].n, .after_s = 1 };
	}
	set_ranks(w, rank, p);
	wisdom_learn(w, t);
	wisdom_save(w, (uint64_t)time(NULL), &note);
	assert_string_equal(note.text, "");
	wisdom_free(w);
}

static void expect(const seen_rank *r, size_t p)
{
	const settings o = of_kind("jobs");
	wisdom *w = NULL;
	err note = { ST_OK, "" }, e = { ST_OK, "" };
	uint64_t share[8], sum = 0;
	wisdom_rank rank[8];
	bool known;
	for (size_t i = 0; i < p; i++) {
		rank[i] = r[i].is;
		sum += r[i].n;
	}
	assert_int_equal(wisdom_open(&w, &o, &note, &e), ST_OK);
	set_ranks(w, rank, p);
	for (run_part of = PART_BEFORE; of < PARTS; of++) {
		assert_int_equal(wisdom_shares(w, of, sum, share, &known, &e), ST_OK);
		assert_true(known);
		for (size_t i = 0; i < p; i++)
			if (fabs((double)share[i] - (double)r[i].n) > (double)r[i].n / 100)
				fail_msg("%s: %ju, not %ju", rank[i].key, (uintmax_t)share[i],
					 (uintmax_t)r[i].n);
	}
	wisdom_free(w);
}

/* The speed of a known host is used in jobs with any other hosts. Unknown hosts get the mean speed
 * of their group, even if the slow hosts of the group were seen with few records. */
static void other_hosts(void **state)
{
	const seen_rank yesterday[] = { { { "a1:x:1", 1 }, 80000 },
					{ { "a2:x:1", 1 }, 20000 },
					{ { "a3:x:1", 1 }, 80000 },
					{ { "a4:x:1", 1 }, 80000 },
					{ { "big1:x:1", 1 }, 240000 } };
	const seen_rank today[] = { { { "a6:x:1", 1 }, 65000 },  { { "a5:x:7", 1 }, 65000 },
				    { { "a4:x:1", 1 }, 80000 },  { { "a2:x:1", 1 }, 20000 },
				    { { "a3:x:1", 1 }, 80000 },  { { "big12:x:1", 1 }, 240000 },
				    { { "odd:x:1", 1 }, 100000 } };
	(void)state;
	unlink("jobs");
	learn(yesterday, LEN(yesterday));
	expect(today, LEN(today));
	expect(yesterday, LEN(yesterday));
	/* a job on other hosts changes no known speed */
	const seen_rank elsewhere = { { "z:x:1", 1 }, 5000 };
	for (int i = 0; i < 60; i++)
		learn(&elsewhere, 1);
	expect(today, LEN(today) - 1);
}

/* The speed of a rank grows with its processors. An unknown place of a host gets the mean speed of
 * the host. */
static void other_ranks_per_host(void **state)
{
	const seen_rank four[] = { { { "a1:x:1", 4 }, 40000 },
				   { { "a1:x:1", 4 }, 40000 },
				   { { "a2:x:1", 4 }, 10000 },
				   { { "a2:x:1", 4 }, 10000 },
				   { { "b1:x:1", 1 }, 10000 } };
	const seen_rank two[] = { { { "a1:x:1", 8 }, 80000 },
				  { { "a2:x:1", 8 }, 20000 },
				  { { "b1:x:1", 2 }, 20000 } };
	const seen_rank bound[] = { { { "a1:x:5", 2 }, 20000 },
				    { { "a2:x:6", 4 }, 10000 },
				    { { "a2:x:7", 2 }, 5000 },
				    { { "a3:x:6", 4 }, 25000 } };
	(void)state;
	unlink("jobs");
	learn(four, LEN(four));
	expect(four, LEN(four));
	expect(two, LEN(two));
	expect(bound, LEN(bound));
}

/* Jobs that run at the same time are all learnt. */
static void jobs_at_once(void **state)
{
	const seen_rank both[] = { { { "a1:x:1", 1 }, 40000 }, { { "b1:x:1", 1 }, 10000 } };
	const settings o = of_kind("jobs");
	wisdom *w[2] = { NULL, NULL };
	err note = { ST_OK, "" }, e = { ST_OK, "" };
	(void)state;
	unlink("jobs");
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(wisdom_open(&w[i], &o, &note, &e), ST_OK);
	for (size_t i = 0; i < 2; i++) {
		const uint64_t n = both[i].n;
		const run_times t = { .in = n, .before_s = 1, .out = n, .after_s = 1 };
		set_ranks(w[i], &both[i].is, 1);
		wisdom_learn(w[i], &t);
		wisdom_save(w[i], (uint64_t)time(NULL), &note);
		wisdom_free(w[i]);
	}
	assert_string_equal(note.text, "");
	expect(both, LEN(both));
}

/* Hosts that never appear again are forgotten in the end, but not the newest hosts. */
static void many_hosts(void **state)
{
	struct stat early, late;
	(void)state;
	unlink("jobs");
	for (int i = 0; i < 600; i += 50) {
		const settings o = of_kind("jobs");
		wisdom *w = NULL;
		err note = { ST_OK, "" }, e = { ST_OK, "" };
		wisdom_rank rank[50];
		run_times t[50];
		for (int k = 0; k < 50; k++) {
			rank[k].cpus = 1;
			snprintf(rank[k].key, sizeof rank[k].key, "h%04d:x:1", i + k);
			t[k] = (run_times){ 1, 1, 1000, 1000 };
		}
		assert_int_equal(wisdom_open(&w, &o, &note, &e), ST_OK);
		set_ranks(w, rank, 50);
		wisdom_learn(w, t);
		wisdom_save(w, (uint64_t)time(NULL), &note);
		assert_string_equal(note.text, "");
		wisdom_free(w);
		assert_int_equal(stat("jobs", i < 550 ? &early : &late), 0);
	}
	assert_true(late.st_size < early.st_size * 21 / 20);
	hetpart_wisdom *found = NULL;
	assert_int_equal(hetpart_wisdom_load(&found, "jobs", NULL, 0, NULL), HETPART_OK);
	size_t newest = 0, oldest = 0;
	const char *name;
	for (size_t i = 0; (name = hetpart_wisdom_model_name(found, i)); i++) {
		newest += strcmp(name, "after:h0599:x:1") == 0;
		oldest += strcmp(name, "after:h0000:x:1") == 0;
	}
	assert_true(newest == 1);
	assert_true(oldest == 0);
	hetpart_wisdom_free(found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(third_run),        cmocka_unit_test(noisy_runs),
		cmocka_unit_test(follows),          cmocka_unit_test(nothing_known),
		cmocka_unit_test(files_not_obeyed), cmocka_unit_test(places),
		cmocka_unit_test(other_hosts),      cmocka_unit_test(other_ranks_per_host),
		cmocka_unit_test(jobs_at_once),     cmocka_unit_test(many_hosts),
	};
	const char *dir = getenv("TEST_TMP");
	if (dir && chdir(dir) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
