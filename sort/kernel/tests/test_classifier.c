/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The classifier keeps the order of keys, and its numbers keep it within a bucket. No bucket with
 * more than one key is much larger than the others, even if keys cluster. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <inttypes.h>

#include "base/arith.h"
#include "kernel/classifier.h"
#include "kernel/radix.h"

enum { RECORDS = 60000, BYTES = 32, POS_BITS_OF_NUMBER = 17 };
static const uint32_t BUCKETS[] = { 128, 1100 }; /* a large sample only for 1100 */

/* Makes the 8 bytes of a key that the kind decides; the others are random, or all the same. */
typedef uint64_t value_fn(uint64_t *s, uint64_t i);

static uint64_t uniform(uint64_t *s, uint64_t i)
{
	(void)i;
	return splitmix(s);
}
/* Make keys like gensort -s: they begin like one of a few others, in any number of bits. */
static uint64_t clustered(uint64_t *s, uint64_t i)
{
	uint64_t centre = i % 5;
	const unsigned bits = (unsigned)(splitmix(s) % 64);
	const uint64_t mask = bits ? ~UINT64_C(0) << (64 - bits) : 0;
	return (splitmix(&centre) & mask) | (splitmix(s) & ~mask);
}
static uint64_t at_the_ends(uint64_t *s, uint64_t i)
{
	const uint64_t x = splitmix(s) >> splitmix(s) % 64;
	return i % 2 ? x : ~x;
}
static uint64_t few(uint64_t *s, uint64_t i)
{
	uint64_t one = splitmix(s) % 7;
	return i % 3 == 0 ? UINT64_MAX : i % 3 == 1 ? 0 : splitmix(&one);
}
static uint64_t one(uint64_t *s, uint64_t i)
{
	(void)s, (void)i;
	return 42;
}

/* Half of them in a tenth of the range, and one in a thousand the same. */
static uint64_t uneven(uint64_t *s, uint64_t i)
{
	const uint64_t x = splitmix(s);
	return i % 1000 == 0 ? UINT64_MAX / 3 * 2 : i % 2 ? x : x / 10;
}

static const struct kind {
	const char *name;
	value_fn *value;
} KINDS[] = { { "uniform", uniform }, { "clustered", clustered }, { "at the ends", at_the_ends },
	      { "few", few },         { "uneven", uneven },       { "one", one } };

/* Where in a key of 24 bytes the value lies, and whether the others differ. */
static const struct shape {
	uint32_t at, key_bytes;
	bool random;
} SHAPES[] = {
	{ 0, 8, false }, { 0, 24, true }, { 8, 24, false }, { 3, 11, false }, { 0, 5, true }
};

typedef struct classified {
	uint32_t bucket;
	uint64_t number;
	const unsigned char *rec;
} classified;

static const layout *comparing;

static int by_key(const void *a, const void *b)
{
	const unsigned char *x = *(unsigned char *const *)a, *y = *(unsigned char *const *)b;
	const int c = key_compare(comparing, x, y);
	return c ? c : (x > y) - (x < y);
}

/* Make the records, and find the place of each in the order of keys. */
static void fill(unsigned char *recs, uint32_t *place, const struct kind *kind,
		 const struct shape *shape)
{
	static const unsigned char *order[RECORDS];
	uint64_t s = 7;
	for (uint64_t i = 0; i < RECORDS; i++) {
		unsigned char *rec = recs + i * BYTES;
		const uint64_t v = htobe64(kind->value(&s, i));
		memset(rec, 5, BYTES);
		for (unsigned j = 0; shape->random && j < BYTES; j++)
			rec[j] = (unsigned char)splitmix(&s);
		memcpy(rec + shape->at, &v, sizeof v);
		order[i] = rec;
	}
	qsort(order, RECORDS, sizeof *order, by_key);
	for (uint32_t i = 0; i < RECORDS; i++)
		place[(order[i] - recs) / BYTES] = i;
}

static uint64_t with_tree, with_cells, with_same, even; /* what inputs led to */

/* Check the results for all records, which are in the order of keys. */
static void must_be_fine(const classifier *m, const classified *all, uint32_t buckets,
			 const char *what)
{
	uint64_t held = 1;
	for (size_t i = 1; i < RECORDS; i++) {
		const classified *x = &all[i - 1], *y = &all[i];
		const bool same = x->bucket == y->bucket;
		if (x->bucket > y->bucket || y->bucket >= m->buckets)
			fail_msg("%s: bucket %u before %u of %u", what, x->bucket, y->bucket,
				 m->buckets);
		if (same && (x->number | m->pos_mask) > (y->number | m->pos_mask))
			fail_msg("%s: numbers of bucket %u have another order", what, x->bucket);
		if (same && m->bucket[x->bucket].exact && x->number >= y->number)
			fail_msg("%s: bucket %u is not exact", what, x->bucket);
		const bool same_key = key_compare(comparing, x->rec, y->rec) == 0;
		with_same += same && m->bucket[x->bucket].same;
		if (same && m->bucket[x->bucket].same && !same_key)
			fail_msg("%s: bucket %u has more than one key", what, x->bucket);
		held = same ? held + !same_key : 1;
		if (held > 8 * RECORDS / buckets)
			fail_msg("%s: bucket %u has more than %" PRIu64 " keys", what, x->bucket,
				 held);
	}
}

/* Classify in all ways: records one after the other or at given positions, with and without
 * numbers.
 */
static void classify(const classifier *m, const records *in, const uint32_t *place, classified *all)
{
	uint16_t to[CLASSIFIER_BLOCK], again[CLASSIFIER_BLOCK];
	uint64_t number[CLASSIFIER_BLOCK], same[CLASSIFIER_BLOCK], at[CLASSIFIER_BLOCK];
	for (size_t i = 0, n; i < RECORDS; i += n) {
		n = i % 7 ? i % CLASSIFIER_BLOCK + 1 : CLASSIFIER_BLOCK;
		n = n < RECORDS - i ? n : RECORDS - i;
		classifier_block(m, &(classifier_work){ in, i, NULL, n, to, number });
		for (size_t k = 0; k < n; k++) {
			const unsigned char *rec = record_at(in, i + k);
			all[place[i + k]] = (classified){ to[k], number[k], rec };
			assert_int_equal(number[k] & m->pos_mask, i + k);
			const classifier_bucket *b = &m->bucket[to[k]];
			const uint64_t upper = number[k] ^ (i + k);
			assert_true(classifier_fits(&in->lay, b, m->pos_mask, upper, rec,
						    b->window.of));
			/* each bit is flipped in an eighth of the records */
			for (size_t bit = (i + k) % 8; bit < 64; bit += 8)
				assert_false(classifier_fits(&in->lay, b, m->pos_mask,
							     upper ^ UINT64_C(1) << bit, rec,
							     b->window.of));
			at[n - 1 - k] = ~m->pos_mask | (i + k); /* whatever is above it */
		}
		classifier_block(m, &(classifier_work){ in, 0, at, n, again, same });
		for (size_t k = 0; k < n; k++) {
			assert_int_equal(to[k], again[n - 1 - k]);
			assert_int_equal(number[k], same[n - 1 - k]);
		}
		classifier_block(m, &(classifier_work){ in, i, NULL, n, again, NULL });
		assert_memory_equal(to, again, n * sizeof *to);
	}
}

static void one_map(const records *in, const uint32_t *place, const char *kind, uint32_t buckets,
		    void *room, classified *all, entry *sample)
{
	char what[80];
	classifier m = { .room = room, .pos_bits = POS_BITS_OF_NUMBER };
	snprintf(what, sizeof what, "%s, key of %u, %u buckets", kind, in->lay.key_bytes, buckets);
	const size_t n = classifier_sample(in, RECORDS, buckets, sample);
	radix_sort(sample, sample + n, n, in);
	classifier_make(&m, in, sample, n, buckets);
	assert_true(m.buckets <= buckets);
	with_tree += m.root.levels > 0;
	with_cells += m.root.levels == 0;
	even += m.root.segments > m.root.last_cell;
	classify(&m, in, place, all);
	must_be_fine(&m, all, buckets, what);
}

static void test_maps(void **state)
{
	(void)state;
	void *room = malloc(classifier_room_bytes(BUCKETS[1]));
	unsigned char *recs = malloc((size_t)RECORDS * BYTES);
	classified *all = malloc(RECORDS * sizeof *all);
	uint32_t *place = malloc(RECORDS * sizeof *place);
	entry *sample = malloc(2 * SAMPLE_MAX * sizeof *sample);
	assert_true(room && recs && all && place && sample);
	for (size_t k = 0; k < sizeof KINDS / sizeof *KINDS; k++)
		for (size_t s = 0; s < sizeof SHAPES / sizeof *SHAPES; s++) {
			const uint32_t key_bytes = SHAPES[s].key_bytes;
			const records in = { .base = recs,
					     .lay = LAYOUT_BYTES(BYTES, 0, key_bytes) };
			comparing = &in.lay;
			fill(recs, place, &KINDS[k], &SHAPES[s]);
			for (unsigned b = 0; b < sizeof BUCKETS / sizeof *BUCKETS; b++)
				one_map(&in, place, KINDS[k].name, BUCKETS[b], room, all, sample);
		}
	assert_true(with_tree > 0 && with_cells > 0 && with_same > 0 && even > 0);
	free(room);
	free(recs);
	free(all);
	free(place);
	free(sample);
}

/* Check that values with much more than a bucket each get a bucket of their own, which needs no
 * sorting. Their number is a sixteenth of the buckets. */
static void test_frequent(void **state)
{
	enum { VALUES = 16, MANY = 260 };
	(void)state;
	void *room = malloc(classifier_room_bytes(MANY));
	unsigned char *recs = calloc(RECORDS, BYTES);
	entry *sample = malloc(2 * SAMPLE_MAX * sizeof *sample);
	const records in = { .base = recs, .lay = LAYOUT_BYTES(BYTES, 0, 10) };
	uint64_t seed = 1, same = 0;
	classifier m = { .room = room, .pos_bits = POS_BITS_OF_NUMBER };
	assert_true(room && recs && sample);
	for (size_t i = 0; i < RECORDS; i++)
		for (uint64_t j = 0, value = splitmix(&seed) % VALUES; j < 8; j++)
			recs[i * BYTES + j] = (unsigned char)splitmix(&value);
	const size_t n = classifier_sample(&in, RECORDS, MANY, sample);
	radix_sort(sample, sample + n, n, &in);
	classifier_make(&m, &in, sample, n, MANY);
	for (uint32_t b = 0; b < m.buckets; b++)
		same += m.bucket[b].same;
	assert_int_equal(same, VALUES);
	free(room);
	free(recs);
	free(sample);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_maps),
					    cmocka_unit_test(test_frequent) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
