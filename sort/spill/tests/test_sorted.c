/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The heads of a piece of records in memory are the keys of its records in order, for streams that
 * share a scratch. A position outside the records is detected, and no memory there is read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/arith.h"
#include "kernel/bucket_sort.h"
#include "spill/sorted.h"

#include <sys/mman.h>
#include <unistd.h>

enum { RECS = 20000, RECORD = 100, PIECE = 256, BATCH = 64 };

static void heads_stay_inside(void **state)
{
	const layout lay = LAYOUT_BYTES(RECORD, 0, 10);
	const size_t bytes = RECS * RECORD;
	uint64_t seed = 1, before = 0, seen = 0;
	mem m = { 0 };
	err e = { 0 };
	const sorted_use use = { .m = &m, .piece_recs = PIECE };
	sorted_memory a = { .recs = { .lay = lay } };
	unsigned char *kept;
	sorted_reader *r;
	sorted_piece p;
	head h[BATCH];
	(void)state;
	/* the pages after the records cannot be read */
	unsigned char *recs = mmap(NULL, 2 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(recs != MAP_FAILED);
	assert_int_equal(mprotect(recs, bytes, PROT_READ | PROT_WRITE), 0);
	for (size_t i = 0; i < bytes; i++)
		recs[i] = (unsigned char)splitmix(&seed);
	a.recs.base = recs;
	const bucket_sort_task t = { .m = &m, .in = &a.recs, .n = RECS, .threads = 1, .e = &e };
	assert_int_equal(bucket_sort_begin(&t, &a.order, &kept), ST_OK);
	assert_int_equal(sorted_memory_make(&a, RECS, &e), ST_OK);
	assert_int_equal(a.s.ops->open_reader(&a.s, a.start, a.start + 1, &use, &r, &e), ST_OK);
	assert_int_equal(sorted_piece_open(&p, r, &m, &e), ST_OK);
	while (r->ops->piece(r, &p, &e) == ST_OK && p.n > 0) {
		for (size_t i = 0, n; i < p.n; i += n) {
			n = p.n - i < BATCH ? p.n - i : BATCH;
			assert_int_equal(sorted_piece_heads(&p, i, (uint32_t)n, 0, h), 0);
			for (size_t k = 0; k < n; before = h[k++].hi)
				assert_true(before <= h[k].hi);
		}
		seen += p.n;
		uint64_t *number = (uint64_t *)(uintptr_t)p.places.number;
		number[p.n - 1] |= p.places.mask;
		assert_int_equal(sorted_piece_heads(&p, p.n - 1, 1, 0, h), 1);
	}
	assert_int_equal(e.code, ST_OK);
	assert_int_equal(seen, RECS);
	sorted_piece_close(&p, &m);
	r->ops->close_reader(r);
	sorted_memory_close(&a);
	mem_free(&m, kept);
	assert_int_equal(m.now_bytes, 0);
	assert_int_equal(munmap(recs, 2 * bytes), 0);
}

/* An order in a mapped file may change after its numbers were checked. */
static void a_given_order_stays_inside(void **state)
{
	const size_t bytes = (size_t)sysconf(_SC_PAGESIZE), n = bytes / 64;
	uint64_t position[] = { 3, 1, n - 1, 2 };
	enum { PLACES = sizeof position / sizeof *position };
	unsigned char out[PLACES * 64];
	mem m = { 0 };
	err e = { 0 };
	const sorted_use use = { .m = &m, .piece_recs = PLACES };
	sorted_reader *r;
	sorted_piece p;
	(void)state;
	unsigned char *recs = mmap(NULL, 2 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(recs != MAP_FAILED);
	assert_int_equal(mprotect(recs, bytes, PROT_READ | PROT_WRITE), 0);
	for (size_t i = 0; i < bytes; i++)
		recs[i] = (unsigned char)(i / 64);
	for (size_t i = 0; i < PLACES; i++)
		position[i] = htole64(position[i]);
	sorted_given a = { .recs = { .base = recs, .lay = LAYOUT_BYTES(64, 0, 1) },
			   .count = n,
			   .position = position,
			   .start = { 0, PLACES } };
	sorted_given_make(&a);
	assert_int_equal(a.s.ops->open_reader(&a.s, a.start, a.start + 1, &use, &r, &e), ST_OK);
	assert_int_equal(sorted_piece_open(&p, r, &m, &e), ST_OK);
	assert_int_equal(r->ops->piece(r, &p, &e), ST_OK);
	assert_int_equal(sorted_piece_gather(&p, 0, PLACES, out), 0);
	assert_int_equal(out[0], 3);
	assert_int_equal(out[2 * 64], n - 1);
	position[1] = htole64(n);
	position[2] = UINT64_MAX;
	assert_int_equal(sorted_piece_gather(&p, 0, PLACES, out), 2);
	assert_int_equal(out[3 * 64], 2);
	sorted_piece_close(&p, &m);
	r->ops->close_reader(r);
	assert_int_equal(m.now_bytes, 0);
	assert_int_equal(munmap(recs, 2 * bytes), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(heads_stay_inside),
					    cmocka_unit_test(a_given_order_stays_inside) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
