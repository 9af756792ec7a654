/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Learning from run to run, with runs that are computed: near the best shares from the third run
 * on, whatever the cost; and files that are damaged, old, of other runs or of somebody else. */
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

static const char *const keys[P] = { "a:1", "b:1", "c:1", "c:2" };

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

/* A rank's seconds, with up to `noise` of it more or less. */
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

static settings of_kind(const char *wisdom_path)
{
	return (settings){ .wisdom = wisdom_path,
			   .lay = LAYOUT_BYTES(100, 0, 10),
			   .plan = PLAN_ONLINE };
}

/* One run by the book: plans, works, learns. Returns how far its end is above the best. */
static double run(const char *path, hetpart_cost_fn *f, const double *speed, uint64_t n,
		  double noise, unsigned *seed)
{
	const settings o = of_kind(path);
	uint64_t share[P], sum = 0;
	double last = 0;
	bool known;
	wisdom *w = NULL;
	err note = { ST_OK, "" }, e = { ST_OK, "" };
	assert_int_equal(wisdom_open(&w, &o, "here", P, &note, &e), ST_OK);
	assert_string_equal(note.text, "");
	assert_int_equal(wisdom_shares(w, PART_BEFORE, n, keys, P, share, &known, &e), ST_OK);
	wisdom_fade(w);
	for (size_t i = 0; i < P; i++) {
		if (!known)
			share[i] = n / P;
		sum += share[i];
		last = fmax(last, f(NULL, share[i]) / speed[i]);
		wisdom_add(w, PART_BEFORE, keys[i], share[i],
			   seconds(f, share[i], speed[i], noise, seed));
	}
	assert_true(sum == n);
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

/* With noise it stays near: no further off than twice the noise. */
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

/* A machine that changes is followed. */
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
	assert_int_equal(wisdom_open(&w, &o, "here", P, &note, &e), ST_OK);
	assert_int_equal(wisdom_shares(w, PART_AFTER, 1000, keys, P, share, &known, &e), ST_OK);
	assert_false(known);
	assert_string_equal(note.text, "");
	/* one is known: all others are taken to be like it */
	wisdom_add(w, PART_AFTER, keys[1], 250, 0.5);
	assert_int_equal(wisdom_shares(w, PART_AFTER, 1000, keys, P, share, &known, &e), ST_OK);
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

/* Opens path as that host and saves; the file's size before and after, and the note, tell. */
static void try_file(const char *path, const char *host, const char *words, bool replaced)
{
	const settings o = of_kind(path);
	uint64_t share[P];
	bool known = true;
	wisdom *w = NULL;
	struct stat before, after;
	err note = { ST_OK, "" }, e = { ST_OK, "" };
	assert_int_equal(stat(path, &before), 0);
	assert_int_equal(wisdom_open(&w, &o, host, P, &note, &e), ST_OK);
	if (!strstr(note.text, words))
		fail_msg("'%s' is not in '%s'", words, note.text);
	assert_int_equal(wisdom_shares(w, PART_BEFORE, 1000, keys, P, share, &known, &e), ST_OK);
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
	write_text("letter", "dear reader,\nthis is no wisdom\n");
	try_file("letter", "here", "wisdom is ignored: ", false);
	write_text("broken", "hetpart-wisdom 1\nhost here\n"
			     "number x y\n");
	try_file("broken", "here", "wisdom is ignored and replaced: ", true);
	write_text("later", "hetpart-wisdom 99\n");
	try_file("later", "here", "wisdom is ignored: ", false);
	write_text("nothing", "");
	try_file("nothing", "here", "wisdom is ignored and replaced: ", true);
	unlink("book");
	run("book", linear, speeds[0], 4000000, 0, &seed);
	try_file("book", "there", "it is about other runs, 'here merge ranks 4", false);
	assert_int_equal(wisdom_open(&w, &o, "here", P, &note, &e), ST_OK);
	wisdom_add(w, PART_BEFORE, keys[0], 10, 1);
	wisdom_save(w, 1000000, &note);
	wisdom_free(w);
	try_file("old", "here", "is older than half a year: starting anew", true);
}

static void places(void **state)
{
	settings o = of_kind(NULL);
	unsigned seed = 1;
	struct stat st;
	(void)state;
	run("a/b/", linear, speeds[0], 1000, 0, &seed);
	assert_int_equal(stat("a/b/here-merge-ranks-4-threads-0-record-100-key-0-10.wisdom", &st),
			 0);
	setenv("HETSORT_WISDOM", "c/", 1);
	run(NULL, linear, speeds[0], 1000, 0, &seed);
	assert_int_equal(stat("c/here-merge-ranks-4-threads-0-record-100-key-0-10.wisdom", &st), 0);
	unsetenv("HETSORT_WISDOM");
	unsetenv("XDG_STATE_HOME");
	unsetenv("HOME");
	wisdom *w = NULL;
	err note = { ST_OK, "" }, e = { ST_OK, "" };
	assert_int_equal(wisdom_open(&w, &o, "here", P, &note, &e), ST_OK);
	assert_non_null(strstr(note.text, "no place for wisdom"));
	wisdom_save(w, 1000000, &note);
	wisdom_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(third_run),        cmocka_unit_test(noisy_runs),
		cmocka_unit_test(follows),          cmocka_unit_test(nothing_known),
		cmocka_unit_test(files_not_obeyed), cmocka_unit_test(places),
	};
	const char *dir = getenv("TEST_TMP");
	if (dir && chdir(dir) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
