/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Windows over spilled runs, read ahead or not: piece by piece the same records come out, in the
 * order of (key, place), whatever the sizes, the distribution of keys and the threads; and a
 * read-ahead that fails, or is left in the middle, ends. */
#include "base/pool.h"
#include "spill_help.h"
#include "spill/merge_slice.h"

#include <stdatomic.h>
#include <string.h>

enum { JUST_ENOUGH = 1 }; /* bytes to read ahead: chunks are small then */
enum { KEY_BYTES = 4, MOST_TEST_RUNS = 40, TEST_STRIDE = 16 };

typedef enum keys { RANDOM, FEW, EQUAL, SORTED, STEEP, KINDS } keys;

/* Sorted runs on disk, with their samples. */
typedef struct bed {
	layout lay;
	size_t count;
	uint64_t start[MOST_TEST_RUNS + 1];
	size_t sample_at[MOST_TEST_RUNS + 1];
	unsigned char *all, *sample; /* the records at their places */
	spill *s;
	mem m;
	runs r;
} bed;

static uint32_t key_for(keys kind, uint64_t place, uint64_t n, uint64_t *seed)
{
	const uint64_t z = next(seed);
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

/* Each record ends in its place, if there is room. */
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

static void take_samples(bed *b, size_t k)
{
	const records r = { b->all, b->lay, 0 };
	const size_t isz = item_bytes(&b->lay);
	for (size_t i = 0; i < b->sample_at[k + 1] - b->sample_at[k]; i++) {
		const uint64_t place = b->start[k] + i * TEST_STRIDE;
		const entry e = entry_make(record_at(&r, place), &b->lay, place);
		item_of((void *)(b->sample + (b->sample_at[k] + i) * isz), &e, &r);
	}
}

static void bed_make(bed *b, uint32_t rec, size_t count, uint64_t most, keys kind, uint64_t seed)
{
	err e = { ST_OK, "" };
	*b = (bed){ .lay = LAYOUT_BYTES(rec, 0, KEY_BYTES), .count = count };
	for (size_t k = 0; k < count; k++) {
		const uint64_t n = 1 + next(&seed) % most;
		b->start[k + 1] = b->start[k] + n;
		b->sample_at[k + 1] = b->sample_at[k] + (n - 1) / TEST_STRIDE + 1;
	}
	b->all = calloc(b->start[count], rec);
	b->sample = malloc(b->sample_at[count] * item_bytes(&b->lay));
	assert_true(b->all && b->sample);
	spill_plan p = plan_of(&here, rec, count, b->start[count]);
	p.block_bytes = rec == 4096 ? 0 : 4096;
	good(spill_open(&b->s, &b->m, &p, &e), &e);
	for (size_t k = 0; k < count; k++) {
		const uint64_t n = b->start[k + 1] - b->start[k];
		fill_run(b, k, kind, &seed);
		take_samples(b, k);
		good(spill_run_begin(b->s, k, n, &e), &e);
		good(spill_run_append(b->s, k, b->all + b->start[k] * rec, n, &e), &e);
		good(spill_run_end(b->s, k, &e), &e);
	}
	spill_end_writing(b->s);
	b->r = (runs){ .recs = { NULL, b->lay, 0 },
		       .count = count,
		       .start = b->start,
		       .spill = b->s,
		       .sample = b->sample,
		       .sample_at = b->sample_at,
		       .stride = TEST_STRIDE };
}

static void bed_free(bed *b)
{
	spill_close(b->s);
	assert_int_equal(b->m.now_bytes, 0);
	free(b->all);
	free(b->sample);
}

/* Threads that take pieces, each into its place of out. */
typedef struct crew {
	const bed *b;
	const merge_slices *w;
	merge_slice *v;
	atomic_size_t next;
	atomic_int failures;
	unsigned char **out; /* [pieces] */
	size_t *n;
} crew;

static void load_pieces(void *crew_, unsigned worker)
{
	crew *c = crew_;
	merge_slice *v = &c->v[worker];
	for (size_t i; (i = atomic_fetch_add(&c->next, 1)) < c->w->count;) {
		err e = { ST_OK, "" };
		if (merge_slice_load(v, c->w, i, &e) != ST_OK) {
			c->failures++;
			return;
		}
		merge_slice_merge(v);
		const uint32_t rec = v->record_bytes;
		c->n[i] = v->n;
		c->out[i] = malloc(v->n * rec + 1);
		for (size_t k = 0; c->out[i] && k < v->n; k++)
			memcpy(c->out[i] + k * rec, record_at(&v->recs, entry_pos(&v->order[k])),
			       rec);
	}
}

/* All pieces on so many threads; read_ahead_bytes 0: without reading ahead. Returns how many
 * threads failed. */
static int load_all(bed *b, merge_slices *w, read_ahead *ahead, unsigned threads, crew *c)
{
	err e = { ST_OK, "" };
	*c = (crew){ .b = b, .w = w };
	c->v = calloc(threads, sizeof *c->v);
	c->out = calloc(w->count, sizeof *c->out);
	c->n = calloc(w->count, sizeof *c->n);
	assert_true(c->v && c->out && c->n);
	for (unsigned i = 0; i < threads; i++)
		good(merge_slice_open(&c->v[i], &b->m, w, ahead, MERGE_SLICE_CHUNK_BYTES, &e), &e);
	pool_run(threads, load_pieces, c);
	for (unsigned i = 0; i < threads; i++)
		merge_slice_close(&c->v[i], &b->m);
	return c->failures;
}

static void crew_free(crew *c)
{
	for (size_t i = 0; i < c->w->count; i++)
		free(c->out[i]);
	free(c->out);
	free(c->n);
	free(c->v);
}

/* One after another, the pieces hold all records in the order of keys, then of places. */
static void check_pieces(const bed *b, const crew *c)
{
	const uint32_t rec = b->lay.record_bytes;
	const unsigned char *last = NULL;
	uint64_t n = 0, sum = 0, want = 0, before = 0;
	for (size_t i = 0; i < c->w->count; i++)
		for (size_t k = 0; k < c->n[i]; k++, n++) {
			const unsigned char *p = c->out[i] + k * rec;
			uint64_t place = n;
			if (rec >= KEY_BYTES + 8)
				memcpy(&place, p + rec - 8, 8);
			const int way = last ? memcmp(last, p, KEY_BYTES) : -1;
			if (way > 0 || (way == 0 && place <= before))
				fail_msg("record %" PRIu64 " is out of order", n);
			sum += mix(place);
			before = place;
			last = p;
		}
	for (uint64_t i = 0; i < n; i++)
		want += mix(i);
	assert_int_equal(n, b->start[b->count]);
	assert_int_equal(sum, want);
}

static void one(uint32_t rec, size_t count, keys kind, unsigned threads, uint64_t read_ahead_bytes,
		bool fed)
{
	bed b;
	err e = { ST_OK, "" };
	merge_slices w;
	read_ahead *ahead;
	crew c;
	bed_make(&b, rec, count, 40 + 50000 / rec, kind, rec + count);
	good(merge_slices_cut(&w, &b.m, &b.r, b.r.start, b.r.start + 1, 500, &e), &e);
	if (read_ahead_bytes == JUST_ENOUGH)
		read_ahead_bytes = 4 * w.most * rec + (count + 4) * 8 * (rec + SPILL_ALIGN);
	const size_t before = b.m.now_bytes;
	good(read_ahead_open(&ahead, &b.m, &w, read_ahead_bytes, &e), &e);
	assert_int_equal(ahead != NULL, fed);
	assert_true(b.m.now_bytes - before <= read_ahead_bytes + (64 << 10));
	assert_int_equal(load_all(&b, &w, ahead, threads, &c), 0);
	read_ahead_close(ahead);
	check_pieces(&b, &c);
	crew_free(&c);
	merge_slices_free(&w, &b.m);
	bed_free(&b);
}

static void all_come_out(void **state)
{
	static const uint32_t rec[] = { 4, 16, 100, 101, 4096, 5000 };
	(void)state;
	for (size_t i = 0; i < LEN(rec); i++)
		for (keys kind = RANDOM; kind < KINDS; kind++)
			for (size_t count = 1; count <= MOST_TEST_RUNS; count += 13) {
				/* every second: each two of the three meet */
				if ((i + kind + count / 13) % 2 && !getenv("HETSORT_LONG"))
					continue;
				one(rec[i], count, kind, 1 + count % 4, 16 << 20, true);
				one(rec[i], count, kind, 1 + kind, JUST_ENOUGH, true);
			}
}

static void too_few_bytes_to_read_ahead(void **state)
{
	(void)state;
	one(100, 20, RANDOM, 2, 20000, false);
	one(100, 20, SORTED, 2, 0, false);
}

/* Left before any piece, and in the middle. */
static void it_can_be_left(void **state)
{
	(void)state;
	for (size_t pieces = 0; pieces < 3; pieces++) {
		bed b;
		err e = { ST_OK, "" };
		merge_slices w;
		read_ahead *ahead;
		merge_slice v;
		bed_make(&b, 100, 12, 2000, RANDOM, pieces);
		good(merge_slices_cut(&w, &b.m, &b.r, b.r.start, b.r.start + 1, 500, &e), &e);
		good(read_ahead_open(&ahead, &b.m, &w, 400000, &e), &e);
		good(merge_slice_open(&v, &b.m, &w, ahead, MERGE_SLICE_CHUNK_BYTES, &e), &e);
		for (size_t i = 0; i < pieces; i++)
			good(merge_slice_load(&v, &w, i, &e), &e);
		read_ahead_close(ahead);
		merge_slice_close(&v, &b.m);
		merge_slices_free(&w, &b.m);
		bed_free(&b);
	}
}

/* A run that cannot be read any more fails every thread, and none waits on. */
static void a_failure_ends_all(void **state)
{
	enum { THREADS = 3 };
	bed b;
	err e = { ST_OK, "" };
	merge_slices w;
	read_ahead *ahead;
	crew c;
	(void)state;
	bed_make(&b, 100, 12, 2000, RANDOM, 1);
	good(merge_slices_cut(&w, &b.m, &b.r, b.r.start, b.r.start + 1, 500, &e), &e);
	spill_drop_run(b.s, 7);
	good(read_ahead_open(&ahead, &b.m, &w, 400000, &e), &e);
	assert_int_equal(load_all(&b, &w, ahead, THREADS, &c), THREADS);
	read_ahead_close(ahead);
	crew_free(&c);
	merge_slices_free(&w, &b.m);
	bed_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_come_out),
		cmocka_unit_test(too_few_bytes_to_read_ahead),
		cmocka_unit_test(it_can_be_left),
		cmocka_unit_test(a_failure_ends_all),
	};
	return cmocka_run_group_tests(tests, begin_tests, end_tests);
}
