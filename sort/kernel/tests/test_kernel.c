/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorting in memory: radix_sort, pairwise_merge and bucket_sort_records give the order of qsort
 * by (key, position), for every layout, distribution and size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/pool.h"
#include "kernel/merge.h"
#include "kernel/bucket_sort.h"
#include "kernel/radix.h"

#define LEN(a) (sizeof(a) / sizeof(a)[0])

/* ---------------------------------------------------------------------------------- inputs */

static uint64_t next(uint64_t *s)
{
	uint64_t z = (*s += UINT64_C(0x9e3779b97f4a7c15));
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* Writes the key of record i of n, of `bytes` bytes, to k. */
typedef void key_fn(uint64_t *s, size_t i, size_t n, unsigned char *k, size_t bytes);

static void fill(uint64_t *s, unsigned char *k, size_t from, size_t to)
{
	for (size_t j = from; j < to; j++)
		k[j] = (unsigned char)next(s);
}

/* Write v, most significant byte first, to the last 4 bytes of the first 10. */
static void number(unsigned char *k, size_t bytes, uint64_t v)
{
	const size_t end = bytes < 10 ? bytes : 10;
	memset(k, 0, bytes);
	for (size_t j = 0; j < 4 && j < end; j++)
		k[end - 1 - j] = (unsigned char)(v >> 8 * j);
}

static void uniform(uint64_t *s, size_t i, size_t n, unsigned char *k, size_t bytes)
{
	(void)i, (void)n;
	fill(s, k, 0, bytes);
}
static void all_equal(uint64_t *s, size_t i, size_t n, unsigned char *k, size_t bytes)
{
	(void)s, (void)i, (void)n;
	memset(k, 0xff, bytes);
}
static void prefix8(uint64_t *s, size_t i, size_t n, unsigned char *k, size_t bytes)
{
	(void)i, (void)n;
	memset(k, 7, bytes);
	fill(s, k, bytes < 8 ? bytes / 2 : 8, bytes);
}
static void prefix9(uint64_t *s, size_t i, size_t n, unsigned char *k, size_t bytes)
{
	(void)i, (void)n;
	memset(k, 0, bytes);
	fill(s, k, bytes < 9 ? bytes - 1 : 9, bytes);
}
static void tail_only(uint64_t *s, size_t i, size_t n, unsigned char *k, size_t bytes)
{
	(void)i, (void)n;
	memset(k, 0x80, bytes);
	k[bytes - 1] = (unsigned char)next(s);
}
static void ascending(uint64_t *s, size_t i, size_t n, unsigned char *k, size_t bytes)
{
	(void)s, (void)n;
	number(k, bytes, i);
}
static void descending(uint64_t *s, size_t i, size_t n, unsigned char *k, size_t bytes)
{
	(void)s;
	number(k, bytes, n - i);
}
static void organ(uint64_t *s, size_t i, size_t n, unsigned char *k, size_t bytes)
{
	(void)s;
	number(k, bytes, i < n / 2 ? i : n - i);
}
static void few(uint64_t *s, size_t i, size_t n, unsigned char *k, size_t bytes)
{
	(void)i, (void)n;
	memset(k, (int)(next(s) % 5) * 60, bytes);
}
/* Make a hundred keys that are equally frequent. */
static void hundred(uint64_t *s, size_t i, size_t n, unsigned char *k, size_t bytes)
{
	uint64_t of = next(s) % 100;
	(void)i, (void)n;
	fill(&of, k, 0, bytes);
}
static void zipf(uint64_t *s, size_t i, size_t n, unsigned char *k, size_t bytes)
{
	(void)i, (void)n;
	/* 1/u has the tail of Zipf's law with exponent 1 */
	number(k, bytes, UINT32_MAX / ((uint32_t)next(s) | 1));
}
static void one_giant(uint64_t *s, size_t i, size_t n, unsigned char *k, size_t bytes)
{
	(void)i, (void)n;
	fill(s, k, 0, bytes);
	if (next(s) % 10 < 6)
		memset(k, 0x55, bytes);
}
/* Half of the keys lie in a range so narrow that a sample sees one key in it, the others around. */
static void narrow(uint64_t *s, size_t i, size_t n, unsigned char *k, size_t bytes)
{
	(void)n;
	fill(s, k, 0, bytes);
	if (i % 2)
		memset(k, 0x40, bytes < 3 ? bytes : 3);
}
/* Make keys like gensort -s: they share one, two, ... first bytes with a few others, and one of the
 * keys is frequent. A few keys are next to these. */
static void clusters(uint64_t *s, size_t i, size_t n, unsigned char *k, size_t bytes)
{
	const uint64_t c = next(s) % 16, what = next(s) % 200;
	uint64_t same = c;
	(void)i, (void)n;
	fill(s, k, 0, bytes);
	fill(&same, k, 0, what < 40 ? bytes : (size_t)c < bytes ? (size_t)c : bytes);
	if (what == 199)
		k[c % bytes] ^= 1;
}

/* Make numbers of all lengths; each length has the same probability. */
static void exponential(uint64_t *s, size_t i, size_t n, unsigned char *k, size_t bytes)
{
	(void)i, (void)n;
	const uint64_t v = next(s);
	number(k, bytes, (uint32_t)v >> (v >> 32) % 32);
}
/* Make each of the numbers from 0 to n - 1 about once. */
static void dense(uint64_t *s, size_t i, size_t n, unsigned char *k, size_t bytes)
{
	(void)i;
	number(k, bytes, next(s) % n);
}
/* Words of letters, of which a few are frequent, filled up with spaces. */
static void text(uint64_t *s, size_t i, size_t n, unsigned char *k, size_t bytes)
{
	(void)i, (void)n;
	uint64_t word = 1000 / (next(s) % 1000 + 1), length = next(&word) % 12;
	memset(k, ' ', bytes);
	for (size_t j = 0; j < length && j < bytes; j++)
		k[j] = (unsigned char)('a' + next(&word) % 26);
}

static const struct kind {
	const char *name;
	key_fn *key;
} KINDS[] = {
	{ "uniform", uniform },       { "all equal", all_equal }, { "8 equal bytes", prefix8 },
	{ "9 equal bytes", prefix9 }, { "last byte", tail_only }, { "ascending", ascending },
	{ "descending", descending }, { "organ pipe", organ },    { "few", few },
	{ "hundred", hundred },       { "zipf", zipf },           { "one giant", one_giant },
	{ "narrow", narrow },         { "clusters", clusters },   { "exponential", exponential },
	{ "dense integers", dense },  { "text", text },
};

static const layout LAYOUTS[] = {
	LAYOUT_BYTES(100, 0, 10), LAYOUT_BYTES(100, 90, 10), LAYOUT_BYTES(11, 1, 10),
	LAYOUT_BYTES(10, 0, 10),  LAYOUT_BYTES(1, 0, 1),     LAYOUT_BYTES(8, 0, 8),
	LAYOUT_BYTES(16, 3, 4),   LAYOUT_BYTES(12, 2, 9),    LAYOUT_BYTES(40, 5, 24),
	LAYOUT_BYTES(200, 0, 11), LAYOUT_BYTES(16, 0, 8),    LAYOUT_BYTES(32, 4, 20),
	LAYOUT_BYTES(39, 0, 39),  LAYOUT_BYTES(8, 2, 5),     LAYOUT_BYTES(64, 8, 10),
};

static const size_t SIZES[] = { 0, 1, 2, 3, 24, 25, 257, 4099, 40000 };

/* ------------------------------------------------------------------------------- reference */

typedef struct input {
	records r;
	size_t n;
	unsigned char *bytes;
	size_t *order; /* the positions as they must come out */
	char name[96];
} input;

static const records *sorting; /* whose records by_key compares */

static int by_key(const void *a, const void *b)
{
	const size_t i = *(const size_t *)a, j = *(const size_t *)b;
	const layout *l = &sorting->lay;
	const int c = memcmp(record_at(sorting, i) + l->key_off, record_at(sorting, j) + l->key_off,
			     l->key_bytes);
	return c ? c : (i > j) - (i < j);
}

static input input_make(const layout *l, const struct kind *kind, size_t n)
{
	input in = { .r = { .lay = *l }, .n = n };
	uint64_t seed = n;
	in.bytes = malloc(n * l->record_bytes + 1);
	in.order = malloc((n + 1) * sizeof *in.order);
	assert_non_null(in.bytes);
	assert_non_null(in.order);
	for (size_t i = 0; i < n; i++) {
		unsigned char *rec = in.bytes + i * l->record_bytes;
		for (size_t j = 0; j < l->record_bytes; j++)
			rec[j] = (unsigned char)(i >> 8 * (j % 4)); /* differs among equal keys */
		kind->key(&seed, i, n, rec + l->key_off, l->key_bytes);
		in.order[i] = i;
	}
	in.r.base = in.bytes;
	sorting = &in.r;
	qsort(in.order, n, sizeof *in.order, by_key);
	snprintf(in.name, sizeof in.name, "%s, %zu records of %u, key %u+%u", kind->name, n,
		 l->record_bytes, l->key_off, l->key_bytes);
	return in;
}

static void input_free(input *in)
{
	free(in->bytes);
	free(in->order);
}

/* Take one large input in seven and one medium input in two, so that each layout and each kind is
 * among them; all with HETSORT_LONG=1. A build that counts each line takes fifty times as long, so
 * then take one in seven of both. */
static bool sampled_out(size_t l, size_t k, size_t n)
{
	const char *sanitizer = getenv("SANITIZER");
	const bool counts_lines = sanitizer && strcmp(sanitizer, "coverage") == 0;
	if (n <= 1000 || getenv("HETSORT_LONG") || LAYOUTS[l].record_bytes == sizeof(uint64_t))
		return false;
	return (l + k) % (n > 10000 || counts_lines ? 7 : 2) != 0;
}

static entry *entries_of(const input *in)
{
	entry *e = malloc((in->n + 1) * sizeof *e);
	assert_non_null(e);
	for (size_t i = 0; i < in->n; i++)
		e[i] = entry_make(record_at(&in->r, i), &in->r.lay, i);
	return e;
}

static void must_be_sorted(const input *in, const entry *e, const char *what)
{
	for (size_t i = 0; i < in->n; i++) {
		const entry want =
			entry_make(record_at(&in->r, in->order[i]), &in->r.lay, in->order[i]);
		if (e[i].hi != want.hi || e[i].lo != want.lo)
			fail_msg("%s: %s: entry %zu has record %zu, not %zu", in->name, what, i,
				 (size_t)entry_pos(&e[i]), in->order[i]);
	}
}

/* ----------------------------------------------------------------------------------- tests */

static void one_sort(const input *in)
{
	entry *e = entries_of(in), *tmp = malloc((in->n + 1) * sizeof *tmp);
	assert_non_null(tmp);
	radix_sort(e, tmp, in->n, &in->r);
	must_be_sorted(in, e, "radix_sort");
	free(e);
	free(tmp);
}

/* Deal the sorted entries to k runs: blocks of what lies together, or each to a random one. */
static void split_runs(const input *in, const entry *sorted, entry *const *run, size_t *n, size_t k)
{
	uint64_t seed = k;
	memset(n, 0, k * sizeof *n);
	for (size_t i = 0; i < in->n; i++) {
		const size_t to = k % 2 ? (size_t)(next(&seed) % k)
					: (i / 7 * 31 + (size_t)(next(&seed) % 2)) % k;
		run[to][n[to]++] = sorted[i];
	}
}

static void one_merge(const input *in)
{
	entry *e = entries_of(in), *own = malloc((in->n + 1) * sizeof *own);
	entry *tmp = malloc((in->n + 1) * sizeof *tmp);
	assert_non_null(own);
	assert_non_null(tmp);
	radix_sort(e, tmp, in->n, &in->r);
	for (size_t k = 1; k <= PAIRWISE_MAX && in->n < 10000; k++) {
		entry *run[PAIRWISE_MAX];
		const entry *src[PAIRWISE_MAX];
		size_t n[PAIRWISE_MAX], at = 0;
		for (size_t i = 0; i < k; i++)
			run[i] = malloc((in->n + 1) * sizeof *run[i]);
		split_runs(in, e, run, n, k);
		for (size_t i = 0; i < k; at += n[i++]) {
			src[i] = memcpy(own + at, run[i], n[i] * sizeof *own);
			free(run[i]);
		}
		must_be_sorted(in, pairwise_merge(src, n, k, own, tmp, &in->r), "entries_merge");
	}
	free(e);
	free(own);
	free(tmp);
}

/* As shipped; so small that every way is taken; with few large buckets, split at most once. */
static const bucket_sort_sizes SIZED[] = {
	{ 16384, { 8000, 32768, 6 }, 8 << 20 },
	{ 16, { 100, 300, 6 }, 0 },
	{ 100, { 1000, 20, 1 }, 0 },
};

static void must_be_in_order(const input *in, const unsigned char *out, const char *how)
{
	const size_t bytes = in->r.lay.record_bytes;
	for (size_t i = 0; i < in->n; i++)
		if (memcmp(out + i * bytes, record_at(&in->r, in->order[i]), bytes) != 0)
			fail_msg("%s, %s: record %zu differs", in->name, how, i);
}

static void one_records_sort(const input *in)
{
	char how[40];
	const size_t bytes = in->r.lay.record_bytes;
	const size_t room_bytes = in->n * bytes + 1 + 3 * LEN(SIZED);
	unsigned char *room = aligned_alloc(64, (room_bytes + 63) / 64 * 64);
	assert_non_null(room);
	static const unsigned THREADS[] = { 1, 2, 5 };
	for (unsigned v = 0; v < 3 * LEN(SIZED); v++) {
		unsigned char *out = room + v; /* aligned to a cache line, or not at all */
		const unsigned threads = THREADS[v % 3];
		mem m = { 0 };
		err e = { 0 };
		memset(out, 0, in->n * bytes + 1);
		bucket_sort_task t = { &m, &in->r, in->n, out, threads, &SIZED[v / 3], &e };
		assert_int_equal(bucket_sort_sized(&t), ST_OK);
		assert_int_equal(m.now_bytes, 0);
		if (v < 3) {
			const bucket_sort_sizes usual = bucket_sort_sizes_for(in->n);
			m = (mem){ 0 };
			t.sizes = &usual;
			assert_int_equal(bucket_sort_sized(&t), ST_OK);
			assert_true(m.peak_bytes <=
				    bucket_sort_most_bytes(&in->r.lay, in->n, threads));
		}
		snprintf(how, sizeof how, "%u threads, sizes %u", threads, v / 3);
		must_be_in_order(in, out, how);
		assert_int_equal(out[in->n * bytes], 0);
	}
	free(room);
}

static void be_late(void *arg, unsigned worker)
{
	(void)arg;
	if (worker > 0)
		(void)usleep(2000);
}

/* Threads that begin late find pieces that others have taken from them. */
static void test_late_threads(void **state)
{
	static const layout SHORT[] = { LAYOUT_BYTES(8, 0, 8), LAYOUT_BYTES(12, 2, 9),
					LAYOUT_BYTES(16, 0, 8), LAYOUT_BYTES(32, 4, 20) };
	enum { N = 40000, THREADS = 4 };
	(void)state;
	pool_begin_with(be_late, NULL);
	for (size_t i = 0; i < 2 * LEN(SHORT); i++) {
		input in = input_make(&SHORT[i / 2], &KINDS[i % 2 ? LEN(KINDS) - 1 : 0], N);
		unsigned char *out = malloc((size_t)N * in.r.lay.record_bytes);
		mem m = { 0 };
		err e = { 0 };
		assert_non_null(out);
		assert_int_equal(bucket_sort_records(&m, &in.r, N, out, THREADS, &e), ST_OK);
		must_be_in_order(&in, out, "late threads");
		free(out);
		input_free(&in);
	}
	pool_begin_with(NULL, NULL);
}

/* Check the record at any place, at any time, in buckets that are sorted already and in others. The
 * memory must be as promised. */
static void one_order(const input *in)
{
	const size_t n = in->n;
	for (unsigned threads = 1; threads <= 3; threads++) {
		mem m = { 0 };
		err e = { 0 };
		demand *d;
		demand_room *room;
		unsigned char *sample;
		const bucket_sort_task t = {
			.m = &m, .in = &in->r, .n = n, .threads = threads, .e = &e
		};
		assert_int_equal(bucket_sort_begin(&t, &d, &sample), ST_OK);
		assert_int_equal(demand_room_open(&room, d, &e), ST_OK);
		assert_true(m.peak_bytes <= bucket_sort_begin_most_bytes(&in->r.lay, n, threads));
		for (size_t k = 0, i = n; k < n; k++) {
			i = n > 4096 ? (i + 7919) % n : k;
			if (demand_position(d, room, i) != in->order[i])
				fail_msg("%s, %u threads: place %zu has not record %zu", in->name,
					 threads, i, in->order[i]);
			k += n > 4096 ? n / 1024 : 0;
		}
		demand_room_close(room);
		demand_close(d);
		mem_free(&m, sample);
		assert_int_equal(m.now_bytes, 0);
	}
}

/* Check each input in all ways. It is made once, because its order is found by qsort. */
static void test_sorts(void **state)
{
	(void)state;
	for (size_t l = 0; l < LEN(LAYOUTS); l++)
		for (size_t k = 0; k < LEN(KINDS); k++)
			for (size_t s = 0; s < LEN(SIZES); s++) {
				if (sampled_out(l, k, SIZES[s]))
					continue;
				input in = input_make(&LAYOUTS[l], &KINDS[k], SIZES[s]);
				one_sort(&in);
				one_merge(&in);
				one_records_sort(&in);
				one_order(&in);
				input_free(&in);
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sorts),
		cmocka_unit_test(test_late_threads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
