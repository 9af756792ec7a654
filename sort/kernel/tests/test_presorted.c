/* SPDX-License-Identifier: GPL-3.0-or-later */
/* presorted_sort merges records in one or two runs, rising or falling, in the order of qsort, and
 * refuses records in more runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "kernel/bucket_sort.h"

#define LEN(a) (sizeof(a) / sizeof(a)[0])

enum { RECORDS = 40000 };

typedef struct keyed {
	uint64_t key;
	size_t at; /* the record's position in the input */
} keyed;

/* Each record of the input, and then in the order of keys and positions. */
static keyed in_order[RECORDS];

static int by_key(const void *a, const void *b)
{
	const keyed *x = a, *y = b;
	return x->key != y->key ? (x->key > y->key) - (x->key < y->key)
				: (x->at > y->at) - (x->at < y->at);
}

/* Make the keys of two runs, of `cut` records and the rest, which have some keys in common. Bit 0
 * of falls is for the first run, bit 1 for the second one. A run that rises has each key twice. */
static void make_keys(size_t cut, unsigned falls)
{
	for (size_t i = 0; i < RECORDS; i++) {
		const bool first = i < cut;
		const size_t at = first ? i : i - cut, n = first ? cut : RECORDS - cut;
		const bool down = first ? falls & 1 : falls & 2;
		in_order[i] = (keyed){ down ? 2 * (n - at) : at / 2 * 3, i };
	}
}

static void make_records(unsigned char *recs, const layout *l)
{
	for (size_t i = 0; i < RECORDS; i++) {
		unsigned char *rec = recs + in_order[i].at * l->record_bytes;
		const uint64_t key = htobe64(in_order[i].key);
		memset(rec, (int)(in_order[i].at % 251), l->record_bytes);
		memset(rec + l->key_off, 9, l->key_bytes);
		memcpy(rec + l->key_off + l->key_bytes - sizeof key, &key, sizeof key);
	}
}

static void one_layout(const layout *l, unsigned char *recs, unsigned char *out, size_t cut,
		       unsigned falls, unsigned threads)
{
	const size_t bytes = l->record_bytes;
	const records in = { .base = recs, .lay = *l };
	size_t misfits;
	make_records(recs, l);
	out[RECORDS * bytes] = 42;
	assert_true(presorted_sort(&in, RECORDS, out, threads, &misfits));
	assert_int_equal(misfits, 0);
	for (size_t i = 0; i < RECORDS; i++)
		if (memcmp(out + i * bytes, record_at(&in, in_order[i].at), bytes) != 0)
			fail_msg("records of %zu, cut %zu, falls %u: %zu differs", bytes, cut,
				 falls, i);
	assert_int_equal(out[RECORDS * bytes], 42);
	/* one that is out of place, near the end: a run more, or two */
	memset(recs + (RECORDS - 9) * bytes + l->key_off, falls & 2 ? 255 : 0, l->key_bytes);
	if (cut > 2 && cut < RECORDS - 20)
		assert_false(presorted_sort(&in, RECORDS, out, threads, &misfits));
}

static void test_presorted(void **state)
{
	static const layout OF[] = { LAYOUT_BYTES(8, 0, 8), LAYOUT_BYTES(16, 0, 8),
				     LAYOUT_BYTES(100, 3, 10), LAYOUT_BYTES(27, 2, 24),
				     LAYOUT_BYTES(1100, 1092, 8) };
	static const size_t CUTS[] = { 0,     1,     2,     5000,        16384,
				       16385, 16386, 32768, RECORDS - 1, RECORDS };
	const size_t most = RECORDS * OF[LEN(OF) - 1].record_bytes;
	unsigned char *recs = malloc(most), *out = malloc(most + 1);
	assert_true(recs && out);
	(void)state;
	for (unsigned c = 0; c < LEN(CUTS); c++)
		for (unsigned falls = 0; falls < 4; falls++) {
			make_keys(CUTS[c], falls);
			qsort(in_order, RECORDS, sizeof *in_order, by_key);
			for (unsigned l = 0; l < LEN(OF); l++)
				one_layout(&OF[l], recs, out, CUTS[c], falls, 1 + (c + falls) % 3);
		}
	free(recs);
	free(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_presorted) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
