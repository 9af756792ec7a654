/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --unique, --count, --sum, --min, --max and --top in all ways of sorting. The output must equal a
 * stable sort of the input, one pass over it and a cut, byte for byte; all other records are
 * reported as dropped. A sum that does not fit is an error in all ways of sorting.
 * Sorts are drawn at random: ranks, strategy, runs in memory and on disk. Pieces of the merge have
 * a few records, so that keys cross the borders of runs, pieces and ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/arith.h"
#include "phases/selection.h"
#include "job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	SORTS = 60,
	LONG_SORTS = 3000,
	RECORD = 48,
	KEY_AT = 3,
	KEY = 2,
	INDEX_AT = 8,
	FOLDS_AT = 16,
	FOLD_BYTES = 8 /* room for each of these fields */
};

typedef struct trial {
	settings o;
	test_sizes sizes;
	int ranks;
	size_t n;
	unsigned keys; /* approximate number of different keys */
	unsigned char *in, *want;
	size_t wanted; /* records */
	bool overflows;
	job_result res;
} trial;

static uint64_t seed;
static bool large_values;

static uint64_t draw(uint64_t below)
{
	return splitmix(&seed) % below;
}

static void save(const char *path, const unsigned char *data, size_t bytes)
{
	FILE *f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, bytes, f), bytes);
	assert_int_equal(fclose(f), 0);
}

static int by_key_and_index(const void *a, const void *b)
{
	const unsigned char *x = a, *y = b;
	const int c = memcmp(x + KEY_AT, y + KEY_AT, KEY);
	uint64_t i, k;
	memcpy(&i, x + INDEX_AT, sizeof i);
	memcpy(&k, y + INDEX_AT, sizeof k);
	return c ? c : (i > k) - (i < k);
}

/* Draw the value of a folded field. Most sums fit, and some large values cancel each other. */
static void draw_value(const key_field *f, unsigned char *rec)
{
	const unsigned bits = 8 * f->bytes - (f->type != KEY_TYPE_UNSIGNED);
	const uint64_t most = (bits == 64 ? 0 : UINT64_C(1) << bits) - 1;
	uint64_t v = draw(100);
	if (f->type == KEY_TYPE_FLOAT)
		v = draw(UINT64_MAX);
	else if (draw(large_values ? 4 : 1000000) == 0)
		v = most - draw(3);
	if (f->type == KEY_TYPE_SIGNED && draw(2))
		v = -v;
	for (uint32_t k = 0; k < f->bytes; k++)
		rec[f->off + (f->little ? k : f->bytes - 1 - k)] = (unsigned char)(v >> 8 * k);
}

/* Read a folded field, most significant byte first. */
static uint64_t bits_of(const key_field *f, const unsigned char *rec)
{
	uint64_t v = 0;
	for (uint32_t k = 0; k < f->bytes; k++)
		v = v << 8 | rec[f->off + (f->little ? f->bytes - 1 - k : k)];
	return v;
}

/* Read an integer, or compare floats by a comparable integer. */
static __int128 value_of(const key_field *f, const unsigned char *rec)
{
	const uint64_t v = bits_of(f, rec), sign = UINT64_C(1) << (8 * f->bytes - 1);
	if (f->type == KEY_TYPE_UNSIGNED || !(v & sign))
		return v;
	return f->type == KEY_TYPE_SIGNED ? (__int128)v - 2 * (__int128)sign
					  : -1 - (__int128)(v - sign);
}

/* Write a folded field. Return whether its value fits. */
static bool put_value(const key_field *f, unsigned char *rec, __int128 v)
{
	const __int128 end = (__int128)1 << (8 * f->bytes - (f->type != KEY_TYPE_UNSIGNED));
	if (f->fold == FOLD_COUNT && v >= end)
		v = end - 1;
	const bool fits = v < end && v >= (f->type == KEY_TYPE_UNSIGNED ? 0 : -end);
	if (f->type == KEY_TYPE_FLOAT && v < 0)
		v = end + (-1 - v);
	for (uint32_t k = 0; k < f->bytes; k++)
		rec[f->off + (f->little ? k : f->bytes - 1 - k)] =
			(unsigned char)((uint64_t)v >> 8 * k);
	return fits;
}

static void make_input(trial *t)
{
	t->in = malloc(t->n * RECORD + 1);
	t->want = malloc(t->n * RECORD + 1);
	assert_true(t->in && t->want);
	for (uint64_t i = 0; i < t->n; i++) {
		unsigned char *rec = t->in + i * RECORD;
		const uint64_t key = draw(t->keys);
		memset(rec, 0xa5, RECORD);
		rec[KEY_AT] = (unsigned char)(key >> 8);
		rec[KEY_AT + 1] = (unsigned char)key;
		memcpy(rec + INDEX_AT, &i, sizeof i);
		for (uint32_t k = 0; k < t->o.lay.folds; k++)
			draw_value(&t->o.lay.fold[k], rec);
	}
	save("in", t->in, t->n * RECORD);
}

static bool same_key(const unsigned char *a, const unsigned char *b)
{
	return memcmp(a + KEY_AT, b + KEY_AT, KEY) == 0;
}

/* Make the expected output: a stable sort, then a fold of each group of equal keys. */
static void make_wanted(trial *t)
{
	const layout *l = &t->o.lay;
	memcpy(t->want, t->in, t->n * RECORD);
	qsort(t->want, t->n, RECORD, by_key_and_index);
	t->wanted = 0;
	for (size_t i = 0, end; i < t->n; i = end) {
		unsigned char *rec = t->want + i * RECORD;
		__int128 v[FOLDS_MAX] = { 0 };
		for (end = i; end < t->n &&
			      (end == i || (t->o.unique && same_key(rec, t->want + end * RECORD)));
		     end++)
			for (uint32_t k = 0; k < l->folds; k++) {
				const key_field *f = &l->fold[k];
				const __int128 one = f->fold == FOLD_COUNT
							     ? 1
							     : value_of(f, t->want + end * RECORD);
				if (f->fold == FOLD_MIN || f->fold == FOLD_MAX)
					v[k] = end == i || (one < v[k]) == (f->fold == FOLD_MIN)
						       ? one
						       : v[k];
				else
					v[k] += one;
			}
		unsigned char *to = memmove(t->want + t->wanted++ * RECORD, rec, RECORD);
		for (uint32_t k = 0; k < l->folds; k++)
			t->overflows |= !put_value(&l->fold[k], to, v[k]);
	}
	if (t->o.top)
		t->wanted = (size_t)u64_min(t->wanted, t->o.top);
}

static status run_rank(comm *c, void *trial_)
{
	trial *t = trial_;
	job_result res = { .status = ST_OK };
	const status rc = job_execute(c, &t->o, &res);
	if (c->rank == 0)
		t->res = res;
	return rc;
}

static bool output_is_wanted(const trial *t)
{
	const size_t bytes = t->wanted * RECORD;
	unsigned char *is = malloc(bytes + 1);
	FILE *f = fopen("out", "rb");
	const bool same =
		is && f && fread(is, 1, bytes + 1, f) == bytes && memcmp(is, t->want, bytes) == 0;
	if (f)
		fclose(f);
	free(is);
	return same;
}

static bool report_adds_up(const trial *t)
{
	uint64_t out = 0, gone = 0;
	for (int i = 0; i < t->res.size; i++) {
		out += t->res.rank[i].out;
		gone += t->res.rank[i].dropped;
	}
	return out == t->wanted && out + gone == t->n && t->res.out == out &&
	       t->res.records == t->n;
}

/* Add a field that is folded, of any kind and type. */
static void add_fold(layout *l)
{
	static const char *const types[] = { "u8",  "u16", "u32", "u64", "i8",
					     "i16", "i32", "i64", "f32", "f64" };
	static const char *const orders[] = { "", "le", "be" };
	char text[32];
	const char *why = NULL;
	do {
		snprintf(text, sizeof text, "%u,%s%s", FOLDS_AT + FOLD_BYTES * l->folds,
			 types[draw(sizeof types / sizeof *types)], orders[draw(3)]);
		why = layout_add_fold(l, (fold_kind)(FOLD_COUNT + draw(4)), text);
	} while (why); /* not every kind accepts every type */
}

static trial draw_trial(void)
{
	static const char *const names[] = { "in" };
	static const char *const tmp = ".";
	trial t = { .ranks = 1 + (int)draw(5), .n = draw(4) ? draw(3000) : draw(9) };
	t.keys = (unsigned)(draw(3) == 0 ? 1 : 1 + draw(draw(2) ? 40 : 4000));
	t.sizes = (test_sizes){ .bucket_recs = 1 + draw(200),
				.sampled_bytes = draw(2) ? 0 : 1,
				.run_recs = draw(2) ? 0 : t.n / (size_t)t.ranks / 5 + 1,
				.lanes = 1 + draw(8) };
	t.o = (settings){ .inputs = names,
			  .ninputs = 1,
			  .output = "out",
			  .lay = LAYOUT_BYTES(RECORD, KEY_AT, KEY),
			  .strategy = draw(2) ? BY_MERGING : BY_DISTRIBUTING,
			  .exchange_threads = (unsigned)draw(3),
			  .threads = 1 + (unsigned)draw(4),
			  .tmpdir = { tmp },
			  .tmpdirs = 1,
			  .verify = draw(3) ? VERIFY_BUFFERS : VERIFY_REREAD,
			  .force = true };
	t.o.unique = draw(4) > 0;
	large_values = draw(8) == 0;
	for (uint64_t k = t.o.unique && draw(4) ? 1 + draw(4) : 0; k > 0; k--)
		add_fold(&t.o.lay);
	if (!t.o.unique || draw(3) == 0)
		t.o.top = 1 + draw(draw(2) ? t.n + 10 : 20);
	return t;
}

static void the_output_is_the_expected_one(void **state)
{
	const int sorts = getenv("HETSORT_LONG") ? LONG_SORTS : SORTS;
	err e = { ST_OK, "" };
	int overflows = 0;
	(void)state;
	for (int i = 0; i < sorts; i++) {
		const uint64_t begun = seed;
		trial t = draw_trial();
		char way[SELECTION_TEXT_BYTES];
		t.o.test_sizes = &t.sizes;
		make_input(&t);
		make_wanted(&t);
		const status rc = comm_local_run(t.ranks, run_rank, &t, &e);
		const bool good =
			t.overflows ? rc == ST_INVALID && access("out", F_OK) != 0
				    : rc == ST_OK && output_is_wanted(&t) && report_adds_up(&t);
		overflows += t.overflows;
		e = (err){ ST_OK, "" };
		if (!good)
			printf("# seed %llu: n %zu, keys %u, ranks %d, %s, run_recs %llu, %s: %s\n",
			       (unsigned long long)begun, t.n, t.keys, t.ranks,
			       strategy_names[t.o.strategy], (unsigned long long)t.sizes.run_recs,
			       settings_selection_text(&t.o, way),
			       t.res.rank ? t.res.rank[0].text : "");
		assert_true(good);
		job_result_free(&t.res);
		free(t.in);
		free(t.want);
		(void)unlink("out");
	}
}

/* Check that a count beyond 32 bits becomes the largest value of the field. */
static void counts_stop_at_the_maximum(void **state)
{
	const key_field f = { .off = FOLDS_AT,
			      .bytes = 4,
			      .type = KEY_TYPE_UNSIGNED,
			      .little = 1,
			      .fold = FOLD_COUNT };
	unsigned char rec[RECORD] = { 0 };
	(void)state;
	assert_true(fold_fits(&f, (fold_value)1 << 33));
	fold_store(&f, rec, (fold_value)1 << 33);
	assert_memory_equal(rec + FOLDS_AT, "\xff\xff\xff\xff\0\0\0\0", 8);
}

int main(void)
{
	const char *given = getenv("SEED");
	const struct CMUnitTest tests[] = { cmocka_unit_test(the_output_is_the_expected_one),
					    cmocka_unit_test(counts_stop_at_the_maximum) };
	seed = given ? strtoull(given, NULL, 10) : (uint64_t)getpid() * 2654435761U;
	printf("# SEED=%llu\n", (unsigned long long)seed);
	if (getenv("TEST_TMP") && chdir(getenv("TEST_TMP")) != 0)
		return 1;
	return cmocka_run_group_tests_name("tests", tests, NULL, NULL);
}
