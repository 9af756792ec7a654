/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The input of a sort in memory changes while it is sorted. Nothing is read or written outside the
 * arrays. If many records change at one moment, a sort of short records fails with ST_INTERNAL, or
 * the output is in order; longer records are compared less often. Sizes are so small that each
 * sorter takes all of its ways. HETSORT_LONG=1: 300 bits that flip and 300 concurrent writers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/arith.h"
#include "base/pool.h"
#include "kernel/bucket_sort.h"

#define LEN(a) (sizeof(a) / sizeof(a)[0])

enum { RECORDS = 40000, GUARD = 4096, CANARY = 0x5a, THREADS = 2 };

/* 8 bytes: word_sort; up to 39: short_sort; more: demand. Keys of all bytes, of a part, of several
 * windows, and of fields. */
static const struct {
	uint32_t record_bytes;
	const char *key;
} LAYOUTS[] = { { 8, "0,8" },    { 8, "0,u64" },  { 8, "2,4" },    { 16, "0,8" },
		{ 16, "0,16" },  { 12, "1,10" },  { 24, "0,f64" }, { 27, "2,24" },
		{ 32, "0,10" },  { 39, "0,39" },  { 40, "0,8" },   { 64, "8,u32 0,4" },
		{ 100, "0,10" }, { 128, "0,128" } };

/* For records of 8 bytes: digits that are moved by lines, with and without streaming stores; parts
 * between pivots. For others: few buckets, many, large ones that are split again. */
static const bucket_sort_sizes SIZES[] = { { 16, { 100, 400, 6 }, 0 },
					   { 16, { 500, 2000, 6 }, 1 << 30 },
					   { 16, { 40000, 40000, 2 }, 0 },
					   { 1000, { 3000, 100, 1 }, 0 } };

/* Return the value of the key of record i. */
typedef uint64_t value_fn(uint64_t *s, size_t i);
static uint64_t uniform(uint64_t *s, size_t i)
{
	(void)i;
	return splitmix(s);
}
static uint64_t few(uint64_t *s, size_t i)
{
	(void)i;
	return splitmix(s) % 5 << 40;
}
static uint64_t zipf(uint64_t *s, size_t i)
{
	(void)i;
	return UINT64_MAX / (splitmix(s) | 1);
}
static uint64_t narrow(uint64_t *s, size_t i)
{
	const uint64_t v = splitmix(s);
	return i % 2 ? UINT64_C(1) << 60 | v >> 44 : v;
}
static uint64_t rising(uint64_t *s, size_t i)
{
	(void)s;
	return i / 2 << 30;
}
static uint64_t falling(uint64_t *s, size_t i)
{
	(void)s;
	return (RECORDS - i) << 30;
}
static uint64_t organ(uint64_t *s, size_t i)
{
	(void)s;
	return (i < RECORDS / 2 ? i : RECORDS - i) << 30;
}
static value_fn *const VALUES[] = { uniform, few, zipf, narrow, rising, falling, organ };

/* ------------------------------------------------------------------------------------ changes */

typedef struct changes {
	unsigned char *in, *reverse; /* the latter: the same records in the reverse order */
	size_t bytes;
	uint64_t state;
	unsigned at, phases; /* the change happens when this phase begins; phases so far */
	atomic_bool stop;
} changes;

static void flip_bit(changes *c)
{
	const uint64_t at = splitmix(&c->state) % (8 * c->bytes);
	c->in[at / 8] ^= (unsigned char)(1U << (at % 8));
}

/* Turn the order of all records round, at one moment: replace their pages. */
static void reverse(changes *c)
{
	const size_t pad = (uintptr_t)c->in % GUARD;
	assert_ptr_equal(mremap(c->reverse - pad, c->bytes + pad, c->bytes + pad,
				MREMAP_MAYMOVE | MREMAP_FIXED, c->in - pad),
			 c->in - pad);
	c->reverse = NULL;
}

/* Map memory that ends at the end of a page, before a page that cannot be read. */
static unsigned char *map_before_guard(size_t bytes)
{
	const size_t pad = -bytes % GUARD;
	unsigned char *page = mmap(NULL, pad + bytes + GUARD, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(page != MAP_FAILED);
	assert_int_equal(mprotect(page + pad + bytes, GUARD, PROT_NONE), 0);
	return page + pad;
}

static void unmap(unsigned char *at, size_t bytes)
{
	const size_t pad = -bytes % GUARD;
	assert_int_equal(munmap(at - pad, pad + bytes + GUARD), 0);
}

/* The second thread of each phase of a sort calls this first. */
static void flip_in_phase(void *changes_, unsigned worker)
{
	changes *c = changes_;
	(void)worker;
	if (c->phases++ == c->at)
		flip_bit(c);
}

static void reverse_in_phase(void *changes_, unsigned worker)
{
	changes *c = changes_;
	(void)worker;
	if (c->phases++ == c->at)
		reverse(c);
}

/* Write near and far keys until the sort has ended. */
static void *write_on(void *changes_)
{
	changes *c = changes_;
	while (!atomic_load(&c->stop))
		for (unsigned i = 0; i < 256; i++) {
			const uint64_t v = splitmix(&c->state);
			volatile unsigned char *at = c->in + v % (c->bytes - 8);
			for (unsigned k = 0; k < 8; k++)
				at[k] = (unsigned char)(i % 4 ? v >> 56 : v >> 8 * k);
		}
	return NULL;
}

/* ------------------------------------------------------------------------------------ one sort */

enum { FLIP, REVERSE, WRITER };

static uint64_t seed;
static unsigned failed, kept; /* sorts that reported a change, and others */

/* Sort one input, which changes in this way, and judge the result. */
static void one(size_t l, const bucket_sort_sizes *sizes, value_fn *value, unsigned way,
		unsigned phase)
{
	layout lay;
	mem m = { 0 };
	err e = { ST_OK, "" };
	assert_int_equal(layout_parse(&lay, LAYOUTS[l].record_bytes, LAYOUTS[l].key, &e), ST_OK);
	const size_t bytes = lay.record_bytes, all = RECORDS * bytes;
	unsigned char *in = map_before_guard(all), *back = map_before_guard(all);
	unsigned char *room = malloc(all + 2 * GUARD), *out = room + GUARD;
	assert_true(room);
	changes c = { .in = in, .reverse = back, .bytes = all, .state = seed++, .at = phase };
	for (size_t i = 0; i < all; i++)
		in[i] = (unsigned char)(splitmix(&c.state) % 3);
	for (size_t i = 0; i < RECORDS; i++) {
		const uint64_t v = htobe64(value(&c.state, i));
		memcpy(in + i * bytes, &v, sizeof v);
	}
	for (size_t i = 0; i < RECORDS; i++)
		memcpy(back + i * bytes, in + (RECORDS - 1 - i) * bytes, bytes);
	memset(room, CANARY, all + 2 * GUARD);
	const records r = { in, lay, 0 };
	const bucket_sort_task t = { &m, &r, RECORDS, out, THREADS, sizes, &e };
	pthread_t writer;
	if (way == WRITER)
		assert_int_equal(pthread_create(&writer, NULL, write_on, &c), 0);
	else
		pool_begin_with(way == FLIP ? flip_in_phase : reverse_in_phase, &c);
	const status rc = bucket_sort_sized(&t);
	pool_begin_with(NULL, NULL);
	atomic_store(&c.stop, true);
	if (way == WRITER)
		assert_int_equal(pthread_join(writer, NULL), 0);
	for (size_t i = 0; i < GUARD; i++)
		if (room[i] != CANARY || out[all + i] != CANARY)
			fail_msg("way %u, layout %zu, seed %d: written outside the output", way, l,
				 (int)seed);
	if (rc != ST_OK) {
		assert_int_equal(rc, ST_INTERNAL);
		assert_non_null(strstr(e.text, "changed"));
		failed++;
	} else {
		size_t wrong = 0;
		for (size_t i = 1; i < RECORDS; i++)
			wrong += key_compare(&lay, out + (i - 1) * bytes, out + i * bytes) > 0;
		kept++;
		/* Each thread may have compared a record, but not copied it yet. A sort on demand
		 * finds only changes of the key bits in its numbers. */
		if (way == REVERSE && bytes <= SHORT_MOST_BYTES && wrong > 2 * THREADS)
			fail_msg("phase %u, layout %zu, seed %d: %zu not in order, status 0", phase,
				 l, (int)seed, wrong);
	}
	assert_true(m.now_bytes == 0);
	unmap(in, all);
	if (c.reverse)
		unmap(back, all);
	else
		assert_int_equal(munmap(back + all, GUARD), 0);
	free(room);
}

/* Sort `times` inputs of each layout, with all sizes and kinds of keys in turn. */
static void many(unsigned way, size_t times)
{
	failed = kept = 0;
	for (size_t k = 0; k < times; k++) {
		const size_t l = k % LEN(LAYOUTS), turn = k / LEN(LAYOUTS);
		one(l, &SIZES[turn % LEN(SIZES)], VALUES[(turn + k) % LEN(VALUES)], way,
		    (unsigned)(turn / 2 % 4));
	}
	print_message("%zu sorts, %u reported a change\n", times, failed);
}

static bool is_long(void)
{
	return getenv("HETSORT_LONG") != NULL;
}

static void bits_flip(void **state)
{
	(void)state;
	many(FLIP, is_long() ? 300 : 8 * LEN(LAYOUTS));
	assert_true(kept > 0);
}

static void writers(void **state)
{
	(void)state;
	many(WRITER, is_long() ? 300 : 4 * LEN(LAYOUTS));
}

/* All records are reversed between the phases of a sort. Each sorter reports it for some keys.
 */
static void order_turns(void **state)
{
	enum { PHASES = 4, KINDS = LEN(VALUES) * PHASES };
	const unsigned every = is_long() ? 1 : 5;
	unsigned turn = 0, words = 0, others = 0;
	(void)state;
	for (size_t l = 0; l < LEN(LAYOUTS); l++)
		for (size_t k = 0; k < LEN(SIZES); k++) {
			failed = 0;
			for (unsigned v = 0; v < KINDS; v++)
				if (turn++ % every == 0)
					one(l, &SIZES[k], VALUES[v / PHASES], REVERSE, v % PHASES);
			words += l < 2 ? failed : 0;
			others += l < 2 ? 0 : failed > 0;
		}
	print_message("%u reports of words, and of %u other sets\n", words, others);
	assert_true(words > 0);
	assert_true(others > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(bits_flip), cmocka_unit_test(writers),
					    cmocka_unit_test(order_turns) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
