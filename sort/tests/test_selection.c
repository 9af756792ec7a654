/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --unique, --count and --top in all ways of sorting. The output must equal a stable sort of the
 * input, one pass over it and a cut, byte for byte; all other records are reported as dropped.
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
	RECORD = 24,
	KEY_AT = 3,
	KEY = 2,
	INDEX_AT = 8,
	COUNT_AT = 16
};

typedef struct trial {
	settings o;
	test_sizes sizes;
	int ranks;
	size_t n;
	unsigned keys; /* approximate number of different keys */
	unsigned char *in, *want;
	size_t wanted; /* records */
	job_result res;
} trial;

static uint64_t seed;

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
	}
	save("in", t->in, t->n * RECORD);
}

/* Make the expected output. */
static void make_wanted(trial *t)
{
	uint64_t count = 0;
	memcpy(t->want, t->in, t->n * RECORD);
	qsort(t->want, t->n, RECORD, by_key_and_index);
	t->wanted = t->o.unique ? 0 : t->n;
	for (size_t i = 0; i < t->n && t->o.unique; i++) {
		const unsigned char *rec = t->want + i * RECORD;
		unsigned char *last = t->want + (t->wanted - 1) * RECORD;
		const bool again = t->wanted && memcmp(last + KEY_AT, rec + KEY_AT, KEY) == 0;
		count = again ? count + 1 : 1;
		if (!again)
			memmove(last = t->want + t->wanted++ * RECORD, rec, RECORD);
		for (uint32_t k = 0; k < t->o.count.bytes; k++)
			last[COUNT_AT + (t->o.count.little ? k : t->o.count.bytes - 1 - k)] =
				(unsigned char)(count >> 8 * k);
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
	if (t.o.unique && draw(2))
		t.o.count = (key_field){ .off = COUNT_AT,
					 .bytes = draw(2) ? 4 : 8,
					 .type = KEY_TYPE_UNSIGNED,
					 .little = draw(2) };
	if (!t.o.unique || draw(3) == 0)
		t.o.top = 1 + draw(draw(2) ? t.n + 10 : 20);
	return t;
}

static void the_output_is_the_expected_one(void **state)
{
	const int sorts = getenv("HETSORT_LONG") ? LONG_SORTS : SORTS;
	err e = { ST_OK, "" };
	(void)state;
	for (int i = 0; i < sorts; i++) {
		const uint64_t begun = seed;
		trial t = draw_trial();
		char way[SELECTION_TEXT_BYTES];
		t.o.test_sizes = &t.sizes;
		make_input(&t);
		make_wanted(&t);
		const status rc = comm_local_run(t.ranks, run_rank, &t, &e);
		const bool good = rc == ST_OK && output_is_wanted(&t) && report_adds_up(&t);
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
	rank_result mine = { .rank = 0 };
	comm c = { .rank = 0, .size = 1 };
	const settings o = { .lay = LAYOUT_BYTES(RECORD, KEY_AT, KEY),
			     .unique = true,
			     .count = { COUNT_AT, 4, KEY_TYPE_UNSIGNED, 1, 0, 0 } };
	rank_env env = { .c = &c, .o = &o, .stats = &mine };
	unsigned char rec[RECORD] = { 0 };
	const uint64_t many = UINT64_C(1) << 33;
	selection s;
	dropped d = { 0 };
	(void)state;
	assert_int_equal(selection_open(&s, &env, 1), ST_OK);
	selection_count(&s, rec, 1, &many, &d);
	assert_memory_equal(rec + COUNT_AT, "\xff\xff\xff\xff\0\0\0\0", 8);
	selection_close(&s, &env.m);
	assert_int_equal(env.m.now_bytes, 0);
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
