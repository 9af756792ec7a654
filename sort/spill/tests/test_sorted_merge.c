/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The merge of runs on disk, read ahead or not. The pieces contain the same records in the order of
 * (key, place), for any sizes, keys and threads, and for all records or a part of each run. Memory
 * stays within the limit. A merge that fails, or is closed early, ends. Lookups return the right
 * record or place. */
#include "base/pool.h"
#include "spill_help.h"
#include "spill/sorted_files.h"

#include <stdatomic.h>
#include <string.h>

enum { LEAST = 0, SOME = 1, MUCH = 16 << 20, CONTROL_BYTES = 64 << 10, MOST_TEST_PIECES = 100000 };
enum { KEY_BYTES = 4, MOST_TEST_RUNS = 40, TEST_STRIDE = 16 };

typedef enum keys { RANDOM, FEW, EQUAL, SORTED, STEEP, KINDS } keys;

/* Sorted runs on disk, with their samples. */
typedef struct bed {
	layout lay;
	size_t count;
	uint64_t *start;    /* of d */
	unsigned char *all; /* the records at their places */
	mem m;
	sorted_disk d;
} bed;

static uint32_t key_for(keys kind, uint64_t place, uint64_t n, uint64_t *seed)
{
	const uint64_t z = next_random(seed);
	switch (kind) {
	case FEW:
		return (uint32_t)(z % 3);
	case EQUAL:
		return 7;
	case SORTED:
		return (uint32_t)(place * 1000 / (n + 1));
	case STEEP:
		return (uint32_t)(z >> (32 + z % 32));
	default:
		return (uint32_t)z;
	}
}

static int by_key(const void *a, const void *b)
{
	return memcmp(a, b, KEY_BYTES);
}

/* Make a sorted run. Each record ends with its place, if it is long enough. */
static void fill_run(const bed *b, size_t k, keys kind, uint64_t *seed)
{
	const uint32_t rec = b->lay.record_bytes;
	const uint64_t lo = b->start[k], n = b->start[k + 1] - lo, all = b->start[b->count];
	unsigned char *p = b->all + lo * rec;
	for (uint64_t i = 0; i < n; i++) {
		const uint32_t key = htobe32(key_for(kind, lo + i, all, seed));
		memcpy(p + i * rec, &key, KEY_BYTES);
	}
	qsort(p, n, rec, by_key);
	for (uint64_t i = 0; rec >= KEY_BYTES + 8 && i < n; i++) {
		const uint64_t place = lo + i;
		memcpy(p + (i + 1) * rec - 8, &place, 8);
	}
}

static void take_samples(const bed *b, size_t k)
{
	const records r = { b->all, b->lay, 0 };
	const size_t isz = item_bytes(&b->lay), *at = b->d.sample_at;
	for (size_t i = 0; i < at[k + 1] - at[k]; i++) {
		const uint64_t place = b->start[k] + i * TEST_STRIDE;
		const entry e = entry_make(record_at(&r, place), &b->lay, place);
		item_of((void *)(b->d.sample + (at[k] + i) * isz), &e, &r);
	}
}

static void bed_make(bed *b, uint32_t rec, size_t count, uint64_t most, keys kind, uint64_t seed)
{
	err e = { ST_OK, "" };
	*b = (bed){ .lay = LAYOUT_BYTES(rec, 0, KEY_BYTES), .count = count };
	b->d.sample_at = mem_array(&b->m, count + 1, sizeof *b->d.sample_at, "samples", &e);
	b->d.start = b->start = mem_array(&b->m, count + 1, sizeof *b->start, "runs", &e);
	assert_true(b->d.sample_at && b->start);
	for (size_t k = 0; k < count; k++) {
		const uint64_t n = 1 + next_random(&seed) % most;
		b->start[k + 1] = b->start[k] + n;
		b->d.sample_at[k + 1] = b->d.sample_at[k] + (n - 1) / TEST_STRIDE + 1;
	}
	b->all = calloc(b->start[count], rec);
	b->d.sample = mem_array(&b->m, b->d.sample_at[count], item_bytes(&b->lay), "samples", &e);
	b->d.stride = TEST_STRIDE;
	b->d.s.count = count;
	assert_true(b->all && b->d.sample);
	spill_plan p = plan_of(&here, rec, count, b->start[count]);
	p.block_bytes = rec == 4096 ? 0 : 4096;
	p.memory_runs = count / 5;
	p.memory_recs = most;
	good(spill_open(&b->d.spill, &b->m, &p, &e), &e);
	for (size_t k = 0; k < count; k++) {
		const uint64_t n = b->start[k + 1] - b->start[k];
		fill_run(b, k, kind, &seed);
		take_samples(b, k);
		good(spill_run_begin(b->d.spill, k, n, &e), &e);
		good(spill_run_append(b->d.spill, k, b->all + b->start[k] * rec, n, &e), &e);
		good(spill_run_end(b->d.spill, k, &e), &e);
	}
	spill_end_writing(b->d.spill);
	good(sorted_disk_open(&b->d, &b->m, &b->lay, 0, &e), &e);
}

static void bed_free(bed *b)
{
	sorted_disk_close(&b->d, &b->m);
	assert_int_equal(b->m.now_bytes, 0);
	free(b->all);
}

/* Threads that take pieces, each into its place of out. */
typedef struct crew {
	sorted_reader *r;
	sorted_piece *p; /* of each thread */
	uint32_t rec;
	atomic_int failures;
	atomic_bool disordered;
	unsigned char *out[MOST_TEST_PIECES];
	size_t n[MOST_TEST_PIECES];
} crew;

static void take_pieces(void *crew_, unsigned worker)
{
	crew *c = crew_;
	sorted_piece *p = &c->p[worker];
	for (;;) {
		err e = { ST_OK, "" };
		if (c->r->ops->piece(c->r, p, &e) != ST_OK) {
			c->failures++;
			return;
		}
		if (p->n == 0)
			return;
		if (p->number >= MOST_TEST_PIECES || p->n > c->r->most)
			abort();
		c->n[p->number] = p->n;
		c->out[p->number] = malloc(p->n * c->rec);
		if (!c->out[p->number] || sorted_piece_gather(p, 0, p->n, c->out[p->number]))
			abort();
		const unsigned char *there = sorted_piece_in_order(p, 0);
		if (there && memcmp(there, c->out[p->number], p->n * c->rec) != 0)
			c->disordered = true;
		c->r->ops->give(c->r, p);
	}
}

static void take_all(bed *b, unsigned threads, crew *c)
{
	err e = { ST_OK, "" };
	c->rec = b->lay.record_bytes;
	c->p = calloc(threads, sizeof *c->p);
	assert_non_null(c->p);
	for (unsigned i = 0; i < threads; i++)
		good(sorted_piece_open(&c->p[i], c->r, &b->m, &e), &e);
	pool_run(threads, take_pieces, c);
	for (unsigned i = 0; i < threads; i++)
		sorted_piece_close(&c->p[i], &b->m);
	free(c->p);
	assert_false(c->disordered);
}

static void crew_free(crew *c)
{
	for (size_t i = 0; i < MOST_TEST_PIECES; i++)
		free(c->out[i]);
	free(c);
}

static crew *crew_new(void)
{
	crew *c = calloc(1, sizeof *c);
	assert_non_null(c);
	return c;
}

/* Check that the pieces in order have all records [lo[k], hi[k]), sorted by key and place. */
static void check_pieces(const bed *b, const crew *c, const uint64_t *lo, const uint64_t *hi)
{
	const uint32_t rec = b->lay.record_bytes;
	const unsigned char *last = NULL;
	uint64_t n = 0, sum = 0, want = 0, before = 0, all = 0;
	for (size_t i = 0; i < MOST_TEST_PIECES; i++)
		for (size_t k = 0; k < c->n[i]; k++, n++) {
			const unsigned char *p = c->out[i] + k * rec;
			uint64_t place = n;
			if (rec >= KEY_BYTES + 8)
				memcpy(&place, p + rec - 8, 8);
			const int way = last ? memcmp(last, p, KEY_BYTES) : -1;
			if (way > 0 || (way == 0 && place <= before))
				fail_msg("record %" PRIu64 " is out of order", n);
			sum += mix64(place);
			before = place;
			last = p;
		}
	for (size_t k = 0; k < b->count; k++) {
		all += hi[k] - lo[k];
		for (uint64_t i = lo[k]; i < hi[k]; i++)
			want += mix64(i);
	}
	assert_int_equal(n, all);
	if (rec >= KEY_BYTES + 8)
		assert_int_equal(sum, want);
}

/* Merge all records. With `part`, merge only the middle of each run, or none of its records. */
static void merge_one(uint32_t rec, size_t count, keys kind, unsigned threads, uint64_t ahead_bytes,
		      unsigned readers, bool part)
{
	bed b;
	err e = { ST_OK, "" };
	uint64_t lo[MOST_TEST_RUNS], hi[MOST_TEST_RUNS];
	crew *c = crew_new();
	bed_make(&b, rec, count, 40 + 50000 / rec, kind, rec + count);
	for (size_t k = 0; k < count; k++) {
		const uint64_t n = b.start[k + 1] - b.start[k];
		lo[k] = b.start[k] + (part ? n / 3 : 0);
		hi[k] = b.start[k + 1] - (part ? n / 4 : 0);
		hi[k] = part && k % 4 == 3 ? lo[k] : hi[k];
	}
	const uint64_t block = rec == 4096 ? SPILL_BLOCK_BYTES : SPILL_ALIGN;
	const uint64_t least = (count + 5) * (rec + block) + 3 * readers * (rec + block);
	ahead_bytes = ahead_bytes > SOME ? ahead_bytes : ahead_bytes == SOME ? 4 * least : least;
	const sorted_use u = {
		.m = &b.m, .piece_recs = 500, .ahead_bytes = ahead_bytes, .readers = readers
	};
	const size_t before = b.m.now_bytes;
	good(b.d.s.ops->open_reader(&b.d.s, lo, hi, &u, &c->r, &e), &e);
	assert_true(b.m.now_bytes - before <= ahead_bytes + CONTROL_BYTES);
	take_all(&b, threads, c);
	assert_int_equal(c->failures, 0);
	c->r->ops->close_reader(c->r);
	check_pieces(&b, c, lo, hi);
	crew_free(c);
	bed_free(&b);
}

static void all_records_are_merged(void **state)
{
	static const uint32_t rec[] = { 4, 16, 100, 101, 4096, 5000 };
	(void)state;
	for (size_t i = 0; i < LEN(rec); i++)
		for (keys kind = RANDOM; kind < KINDS; kind++)
			for (size_t count = 1; count <= MOST_TEST_RUNS; count += 13) {
				/* every second case, so that each two of the three are combined */
				if ((i + kind + count / 13) % 2 && !getenv("HETSORT_LONG"))
					continue;
				merge_one(rec[i], count, kind, 1 + count % 4, MUCH, 2, false);
				merge_one(rec[i], count, kind, 1 + kind, SOME, 2, kind % 2);
				merge_one(rec[i], count, kind, 2, LEAST, 1, kind % 2 == 0);
				merge_one(rec[i], count, kind, 1, kind % 2 ? SOME : LEAST, 0, true);
			}
}

/* Close the merge before any piece, and after some. */
static void a_merge_can_be_closed_early(void **state)
{
	(void)state;
	for (size_t pieces = 0; pieces < 3; pieces++) {
		bed b;
		err e = { ST_OK, "" };
		sorted_reader *r;
		sorted_piece p;
		const sorted_use u = {
			.m = &b.m, .piece_recs = 500, .ahead_bytes = 400000, .readers = 2
		};
		bed_make(&b, 100, 12, 2000, RANDOM, pieces);
		good(b.d.s.ops->open_reader(&b.d.s, b.start, b.start + 1, &u, &r, &e), &e);
		good(sorted_piece_open(&p, r, &b.m, &e), &e);
		for (size_t i = 0; i < pieces; i++)
			good(r->ops->piece(r, &p, &e), &e);
		r->ops->close_reader(r);
		sorted_piece_close(&p, &b.m);
		bed_free(&b);
	}
}

/* Fail on every thread if a run cannot be read any more, and let none wait. */
static void a_failure_ends_all(void **state)
{
	enum { THREADS = 3 };
	(void)state;
	for (unsigned readers = 0; readers <= 2; readers += 2) {
		bed b;
		err e = { ST_OK, "" };
		const sorted_use u = {
			.m = &b.m, .piece_recs = 500, .ahead_bytes = 400000, .readers = readers
		};
		crew *c = crew_new();
		bed_make(&b, 100, 12, 2000, RANDOM, 1);
		assert_int_equal(ftruncate(spill_run_layout(b.d.spill, 7, 0).fd, 0), 0);
		good(b.d.s.ops->open_reader(&b.d.s, b.start, b.start + 1, &u, &c->r, &e), &e);
		take_all(&b, THREADS, c);
		assert_int_equal(c->failures, THREADS);
		c->r->ops->close_reader(c->r);
		crew_free(c);
		bed_free(&b);
	}
}

/* Compare lookups with the same records in memory. */
static void lookups_are_right(void **state)
{
	(void)state;
	for (keys kind = RANDOM; kind < KINDS; kind++) {
		bed b;
		err e = { ST_OK, "" };
		uint64_t seed = kind;
		uint64_t room[2][sizeof(item) / sizeof(uint64_t) + 1]; /* tails have no bytes */
		item *it = (void *)room[0], *wanted = (void *)room[1];
		bed_make(&b, 100, 9, 700, kind, 3);
		sorted *s = &b.d.s;
		const records r = { b.all, b.lay, 0 };
		for (size_t i = 0; i < 300; i++) {
			const uint64_t place = next_random(&seed) % sorted_total(s);
			const size_t k = i % b.count;
			uint64_t at = b.start[k];
			const entry en = entry_make(record_at(&r, place), &b.lay, place);
			item_of(wanted, &en, &r);
			s->ops->item(s, place, it);
			assert_int_equal(item_cmp(it, wanted, &b.lay), 0);
			for (; at < b.start[k + 1]; at++) {
				const entry other = entry_make(record_at(&r, at), &b.lay, at);
				if (entry_item_cmp(&other, it, &r) >= 0)
					break;
			}
			assert_int_equal(s->ops->before(s, b.start[k], b.start[k + 1], it), at);
		}
		good(sorted_failure(s, &e), &e);
		bed_free(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_records_are_merged),
		cmocka_unit_test(a_merge_can_be_closed_early),
		cmocka_unit_test(a_failure_ends_all),
		cmocka_unit_test(lookups_are_right),
	};
	return cmocka_run_group_tests(tests, begin_tests, end_tests);
}
