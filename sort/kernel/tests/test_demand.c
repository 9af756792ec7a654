/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorting on demand gives the order of a stable sort for any keys, sample, chunks and order of
 * chunks. It does so on several threads and within the planned memory, and detects each flipped bit
 * in a number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/pool.h"
#include "base/arith.h"
#include "kernel/demand.h"
#include "kernel/gather.h"

#define LEN(a) (sizeof(a) / sizeof(a)[0])

enum { RANK = 3, LANES = 3, SAMPLES = 200 };

/* ----------------------------------------------------------------------------------- inputs */

/* Makes the value of the key of record i of n. */
typedef uint64_t value_fn(uint64_t *s, uint64_t i, uint64_t n);

static uint64_t uniform(uint64_t *s, uint64_t i, uint64_t n)
{
	(void)i, (void)n;
	return splitmix(s);
}
static uint64_t equal(uint64_t *s, uint64_t i, uint64_t n)
{
	(void)s, (void)i, (void)n;
	return UINT64_C(0x0102030405060708);
}
static uint64_t zipf(uint64_t *s, uint64_t i, uint64_t n)
{
	(void)i, (void)n;
	return UINT64_MAX / (splitmix(s) | 1);
}
static uint64_t few(uint64_t *s, uint64_t i, uint64_t n)
{
	(void)i, (void)n;
	return splitmix(s) % 5 << 40;
}
static uint64_t sorted(uint64_t *s, uint64_t i, uint64_t n)
{
	(void)s, (void)n;
	return i / 2;
}
static uint64_t reverse(uint64_t *s, uint64_t i, uint64_t n)
{
	(void)s;
	return n - i;
}
static uint64_t organ(uint64_t *s, uint64_t i, uint64_t n)
{
	(void)s;
	return i < n / 2 ? i : n - i;
}
/* Half of the keys so near to each other that a sample sees one. */
static uint64_t narrow(uint64_t *s, uint64_t i, uint64_t n)
{
	(void)n;
	const uint64_t v = splitmix(s);
	return i % 2 ? UINT64_C(1) << 60 | v >> 44 : v;
}

static const struct kind {
	const char *name;
	value_fn *value;
} KINDS[] = { { "uniform", uniform },  { "all equal", equal }, { "zipf", zipf },
	      { "few", few },          { "sorted", sorted },   { "reverse", reverse },
	      { "organ pipe", organ }, { "narrow", narrow } };

static const struct shape {
	uint32_t record_bytes;
	const char *key;
} SHAPES[] = { { 100, "0,10" },          { 1, "0,1" },   { 5, "1,3" },
	       { 8, "0,u64le" },         { 16, "4,12" }, { 12, "8,i32,desc 0,8" },
	       { 40, "0,f64,desc 8,30" } };

static const demand_sizes TINY[] = {
	{ 100, 300, 6 }, /* usual proportions */
	{ 200, 64, 2 },  /* nearly all buckets are split */
	{ 100, 80, 0 },  /* nearly all are sorted in place */
};

typedef enum sampling { FAIR, NONE, FIRST, ONE, SAMPLINGS } sampling; /* FIRST, ONE: misleading */

typedef struct input {
	records r;
	size_t n;
	unsigned char *bytes;
	unsigned char *sample;
	size_t samples;
	size_t *order; /* the positions as they must come out */
	char name[160];
} input;

static const records *comparing;

static int by_key(const void *a, const void *b)
{
	const size_t i = *(const size_t *)a, j = *(const size_t *)b;
	const int c =
		key_compare(&comparing->lay, record_at(comparing, i), record_at(comparing, j));
	return c ? c : (i > j) - (i < j);
}

static layout layout_of(const struct shape *s)
{
	layout l;
	err e = { 0 };
	if (layout_parse(&l, s->record_bytes, s->key, &e) != ST_OK)
		fail_msg("%s: %s", s->key, e.text);
	return l;
}

static void input_sample(input *in, sampling how, uint64_t *s)
{
	const size_t bytes = in->r.lay.record_bytes;
	in->samples = how == NONE || in->n == 0 ? 0 : SAMPLES;
	for (size_t i = 0; i < in->samples; i++) {
		size_t from = splitmix(s) % in->n;
		if (how != FAIR)
			from = how == ONE ? 0 : from / 50;
		memcpy(in->sample + i * bytes, in->bytes + from * bytes, bytes);
	}
}

static input input_make(const struct shape *shape, const struct kind *kind, size_t n)
{
	input in = { .n = n };
	uint64_t s = n;
	in.r = (records){ .lay = layout_of(shape), .rank = RANK };
	const size_t bytes = in.r.lay.record_bytes;
	in.bytes = malloc(n * bytes + 1);
	in.sample = malloc(SAMPLES * bytes);
	in.order = malloc((n + 1) * sizeof *in.order);
	assert_true(in.bytes && in.sample && in.order);
	for (size_t i = 0; i < n; i++) {
		const uint64_t v = htobe64(kind->value(&s, i, n));
		unsigned char *rec = in.bytes + i * bytes;
		memset(rec, (int)(i % 251), bytes);
		for (size_t at = 0; at < bytes; at += sizeof v)
			memcpy(rec + at, &v, bytes - at < sizeof v ? bytes - at : sizeof v);
		in.order[i] = i;
	}
	in.r.base = in.bytes;
	comparing = &in.r;
	qsort(in.order, n, sizeof *in.order, by_key);
	snprintf(in.name, sizeof in.name, "%s, %zu records of %s in %zu", kind->name, n, shape->key,
		 bytes);
	return in;
}

static void input_free(input *in)
{
	free(in->bytes);
	free(in->sample);
	free(in->order);
}

/* Add all records in chunks of random size, in random order, on random lanes. */
static void add_all(demand *d, size_t n, uint64_t *s)
{
	size_t cut[64] = { 0 }, chunks = 1 + splitmix(s) % (LEN(cut) - 1);
	err e = { 0 };
	for (size_t i = 1; i <= chunks; i++)
		cut[i] = i == chunks ? n : cut[i - 1] + splitmix(s) % (n - cut[i - 1] + 1);
	size_t from[LEN(cut)], to[LEN(cut)];
	for (size_t i = 0; i < chunks; i++) {
		const size_t j = splitmix(s) % (i + 1);
		from[i] = from[j];
		to[i] = to[j];
		from[j] = cut[i];
		to[j] = cut[i + 1];
	}
	for (size_t i = 0; i < chunks; i++)
		assert_int_equal(demand_add(d, (unsigned)(splitmix(s) % LANES), from[i],
					    to[i] - from[i], &e),
				 ST_OK);
}

static demand *sorted_by(const input *in, mem *m, const demand_sizes *sizes, uint64_t more,
			 void *room, size_t room_bytes, uint64_t *s)
{
	err e = { 0 };
	demand *d;
	demand_plan p = { .in = in->r,
			  .n = in->n + more,
			  .lanes = LANES,
			  .threads = 2,
			  .sample = in->sample,
			  .samples = in->samples,
			  .room = room,
			  .room_bytes = room_bytes,
			  .sizes = sizes };
	p.in.base = NULL; /* they are not there yet */
	assert_int_equal(demand_open(&d, m, &p, &e), ST_OK);
	demand_move(d, in->bytes);
	add_all(d, in->n, s);
	assert_int_equal(demand_end(d, &e), ST_OK);
	assert_int_equal(demand_count(d), in->n);
	return d;
}

/* -------------------------------------------------------------------------------- the order */

/* Pieces up to random places, or up to the border of each bucket. */
static const char *take_all(const input *in, demand *d, demand_room *r, size_t from, size_t to,
			    bool cut, uint64_t *s, unsigned char *out)
{
	const size_t bytes = in->r.lay.record_bytes;
	for (uint64_t place = from, end; place < to; place = end) {
		demand_piece p;
		end = demand_border(d, place);
		if (end <= place || end > in->n)
			return "border";
		if (cut)
			end = place + 1 + splitmix(s) % (end - place);
		end = end < to ? end : to;
		demand_take(d, r, place, end, &p);
		if (p.place != place || p.n != end - place)
			return "piece";
		for (size_t i = 0; i < p.n; i++)
			if ((p.number[i] & p.mask) != in->order[place + i])
				return "order";
		const size_t first = p.n / 3;
		size_t misfits = demand_gather(&p, 0, first, out);
		p.streaming = true;
		misfits += demand_gather(&p, first, p.n - first, out + first * bytes);
		if (misfits + demand_misfits(&p, 0, p.n) != 0)
			return "misfits";
		for (size_t i = 0; i < p.n; i++)
			if (memcmp(out + i * bytes, record_at(&in->r, in->order[place + i]),
				   bytes) != 0)
				return "records";
	}
	return NULL;
}

/* Single places, and where items of records lie: of this rank and of those around it. */
static const char *look_up(const input *in, demand *d, demand_room *r, unsigned times, uint64_t *s)
{
	union {
		item it;
		unsigned char room[sizeof(item) + 64];
	} u;
	for (unsigned i = 0; i < times && in->n > 0; i++) {
		const size_t place = splitmix(s) % in->n, pos = in->order[place];
		if (demand_position(d, r, place) != pos)
			return "position";
		const entry x = entry_make(record_at(&in->r, pos), &in->r.lay, pos);
		item_of(&u.it, &x, &in->r);
		if (demand_before(d, r, 0, in->n, &u.it) != place)
			return "place of a record";
		size_t low = place, high = place + 1;
		while (low > 0 && key_compare(&in->r.lay, record_at(&in->r, in->order[low - 1]),
					      record_at(&in->r, pos)) == 0)
			low--;
		while (high < in->n && key_compare(&in->r.lay, record_at(&in->r, in->order[high]),
						   record_at(&in->r, pos)) == 0)
			high++;
		u.it.rank = RANK - 1;
		if (demand_before(d, r, 0, in->n, &u.it) != low)
			return "place before equal keys";
		u.it.rank = RANK + 1;
		if (demand_before(d, r, 0, in->n, &u.it) != high)
			return "place after equal keys";
		const size_t lo = splitmix(s) % (in->n + 1);
		const size_t hi = lo + splitmix(s) % (in->n - lo + 1);
		const size_t want = high < lo ? lo : high > hi ? hi : high;
		if (demand_before(d, r, lo, hi, &u.it) != want)
			return "place in a range";
	}
	return NULL;
}

static void one_order(input *in, const demand_sizes *sizes, sampling how, uint64_t seed)
{
	uint64_t s = seed;
	mem m = { 0 };
	err e = { 0 };
	demand_room *r;
	const size_t room_bytes = seed % 2 ? splitmix(&s) % (8 * in->n + 1) : 0;
	unsigned char *room = malloc(room_bytes + 1),
		      *out = malloc(in->n * in->r.lay.record_bytes + 1);
	assert_true(room && out);
	input_sample(in, how, &s);
	demand *d = sorted_by(in, &m, sizes, seed % 3 ? 0 : seed * 1000, room_bytes ? room : NULL,
			      room_bytes, &s);
	assert_int_equal(demand_room_open(&r, d, &e), ST_OK);
	const char *wrong = NULL;
	if (seed % 2)
		wrong = look_up(in, d, r, 3, &s);
	if (!wrong)
		wrong = take_all(in, d, r, 0, in->n, false, &s, out);
	if (!wrong && room_bytes) {
		assert_int_equal(demand_leave_room(d, 0, &e), ST_OK);
		memset(room, 0xa5, room_bytes);
	}
	if (!wrong)
		wrong = look_up(in, d, r, 3, &s);
	if (!wrong)
		wrong = take_all(in, d, r, 0, in->n, true, &s, out);
	if (wrong)
		fail_msg("%s, buckets of %u, sampling %d, seed %u: %s", in->name, sizes->bucket,
			 (int)how, (unsigned)seed, wrong);
	demand_room_close(r);
	demand_close(d);
	assert_int_equal(m.now_bytes, 0);
	free(room);
	free(out);
}

static void test_order(void **state)
{
	static const size_t SIZES[] = { 0, 1, 2, 63, 299, 300, 301, 20000 };
	uint64_t seed = 0;
	(void)state;
	for (size_t l = 0; l < LEN(SHAPES); l++)
		for (size_t k = 0; k < LEN(KINDS); k++)
			for (size_t n = 0; n < LEN(SIZES); n++) {
				input in = input_make(&SHAPES[l], &KINDS[k], SIZES[n]);
				for (size_t v = 0; v < LEN(TINY) * SAMPLINGS; v++, seed++)
					if (SIZES[n] < 1000 || seed % 4 == 0 ||
					    getenv("HETSORT_LONG"))
						one_order(&in, &TINY[v / SAMPLINGS], v % SAMPLINGS,
							  seed);
				input_free(&in);
			}
}

/* ---------------------------------------------------------------------------------- threads */

typedef struct shared {
	const input *in;
	demand *d;
	_Atomic unsigned next;
	_Atomic(const char *) wrong;
} shared;

/* Take random ranges, which cut buckets, and look up places, while other threads do so, too. */
static void take_part(void *arg, unsigned worker)
{
	shared *x = arg;
	const input *in = x->in;
	err e = { 0 };
	demand_room *r;
	unsigned char *out = malloc(in->n * in->r.lay.record_bytes);
	(void)worker;
	if (!out || demand_room_open(&r, x->d, &e) != ST_OK) {
		x->wrong = "no memory";
		return;
	}
	for (uint64_t i; (i = x->next++) < 40;) {
		uint64_t s = i;
		const size_t from = splitmix(&s) % in->n;
		const size_t to = from + splitmix(&s) % (in->n - from) / (1 + i % 4) + 1;
		const char *wrong = i % 3 == 0 ? look_up(in, x->d, r, 4, &s)
					       : take_all(in, x->d, r, from, to, i % 2, &s, out);
		if (wrong)
			x->wrong = wrong;
	}
	demand_room_close(r);
	free(out);
}

typedef struct adding {
	demand *d;
	size_t n;
	_Atomic size_t next;
	_Atomic bool failed;
} adding;

static void add_part(void *arg, unsigned worker)
{
	enum { PART = 700 };
	adding *x = arg;
	err e = { 0 };
	for (size_t i; (i = x->next++) * PART < x->n;) {
		const size_t n = x->n - i * PART;
		if (demand_add(x->d, worker, i * PART, n < PART ? n : PART, &e) != ST_OK)
			x->failed = true;
	}
}

static void test_threads(void **state)
{
	enum { N = 30000, THREADS = 4 };
	(void)state;
	for (size_t k = 0; k < LEN(KINDS) * 2; k++) {
		input in = input_make(&SHAPES[k % 2 ? 0 : 4], &KINDS[k / 2], N);
		uint64_t s = k;
		mem m = { 0 };
		err e = { 0 };
		demand *d;
		input_sample(&in, k % SAMPLINGS, &s);
		const demand_plan p = { .in = in.r,
					.n = N,
					.lanes = THREADS,
					.threads = THREADS,
					.sample = in.sample,
					.samples = in.samples,
					.sizes = &TINY[k % LEN(TINY)] };
		assert_int_equal(demand_open(&d, &m, &p, &e), ST_OK);
		adding a = { .d = d, .n = N };
		pool_run(THREADS, add_part, &a);
		assert_false(a.failed);
		assert_int_equal(demand_end(d, &e), ST_OK);
		shared x = { .in = &in, .d = d };
		pool_run(THREADS, take_part, &x);
		if (x.wrong)
			fail_msg("%s: %s", in.name, x.wrong);
		demand_close(d);
		assert_int_equal(m.now_bytes, 0);
		input_free(&in);
	}
}

/* ------------------------------------------------------------------------------------ flips */

/* Change `number` wherever it is in the lent room: where the sort keeps it, or kept it before. */
static void change_word(uint64_t *room, size_t bytes, uint64_t number, uint64_t to)
{
	size_t found = 0;
	for (size_t i = 0; i < bytes / sizeof number; i++)
		if (room[i] == number) {
			room[i] = to;
			found++;
		}
	assert_true(found > 0);
}

/* Check that a flipped bit of a number is detected when its record leaves. It is not if it leads to
 * another record whose key is the same in the bits of the number. That record leaves twice, which a
 * checksum shows. */
static void one_flip(const input *in, demand *d, demand_room *r, uint64_t *room, uint64_t *copy,
		     size_t room_bytes, uint64_t *s)
{
	const uint64_t place = splitmix(s) % in->n;
	const uint64_t flip = UINT64_C(1) << splitmix(s) % 64;
	demand_piece p;
	uint64_t from = 0;
	while (demand_border(d, from) <= place)
		from = demand_border(d, from);
	demand_take(d, r, from, in->n, &p);
	const uint64_t number = p.number[place - from];
	const uint64_t pos = (number ^ flip) & p.mask, was = number & p.mask;
	bool alike = false;
	if (pos != was && pos < in->n) {
		const uint64_t a = key_prefix_of(&in->r.lay, record_at(&in->r, pos)).hi;
		const uint64_t b = key_prefix_of(&in->r.lay, record_at(&in->r, was)).hi;
		alike = (a > b ? a - b : b - a) <= p.mask;
	}
	memcpy(copy, room, room_bytes);
	change_word(room, room_bytes, number, number ^ flip);
	demand_take(d, r, from, in->n, &p);
	const size_t misfits = demand_misfits(&p, 0, p.n);
	if (alike ? misfits > 1 : misfits != 1)
		fail_msg("%s: place %zu, bit %" PRIx64 ": %zu misfits", in->name, (size_t)place,
			 flip, misfits);
	memcpy(room, copy, room_bytes);
}

static void test_flips(void **state)
{
	enum { N = 20000 };
	(void)state;
	for (size_t l = 0; l < LEN(SHAPES); l++)
		for (size_t k = 0; k < LEN(KINDS); k++) {
			input in = input_make(&SHAPES[l], &KINDS[k], N);
			uint64_t s = l * 100 + k;
			mem m = { 0 };
			err e = { 0 };
			demand_room *r;
			const size_t room_bytes = 32 * N;
			uint64_t *room = aligned_alloc(64, 2 * room_bytes);
			assert_non_null(room);
			input_sample(&in, k % 3, &s);
			demand *d = sorted_by(&in, &m, &TINY[l % 2], 0, room, room_bytes, &s);
			assert_int_equal(demand_room_open(&r, d, &e), ST_OK);
			for (unsigned i = 0; i < 60; i++)
				one_flip(&in, d, r, room, room + room_bytes / sizeof *room,
					 room_bytes, &s);
			demand_room_close(r);
			demand_close(d);
			free(room);
			input_free(&in);
		}
}

/* Check that these are refused: records beyond the plan, records that have changed before a split
 * reads them again, and records that are added more than once. */
static void test_refused(void **state)
{
	enum { N = 5000 };
	input in = input_make(&SHAPES[0], &KINDS[0], N);
	mem m = { 0 };
	err e = { 0 };
	demand *d;
	(void)state;
	const demand_plan p = { .in = in.r, .n = N, .lanes = 1, .threads = 1, .sizes = &TINY[0] };
	assert_int_equal(demand_open(&d, &m, &p, &e), ST_OK);
	assert_int_equal(demand_add(d, 0, 1, N, &e), ST_INTERNAL);
	assert_string_equal(e.text, "more records than planned for");
	e = (err){ 0 };
	assert_int_equal(demand_add(d, 0, 0, N, &e), ST_OK);
	in.bytes[100 * 77] ^= 4;
	assert_int_equal(demand_end(d, &e), ST_INTERNAL);
	assert_non_null(strstr(e.text, "1 record changed"));
	demand_close(d);
	e = (err){ 0 };
	assert_int_equal(demand_open(&d, &m, &p, &e), ST_OK);
	for (unsigned i = 0; i < 100 && e.code == ST_OK; i++)
		(void)demand_add(d, 0, 0, N, &e);
	assert_int_equal(e.code, ST_RESOURCE);
	assert_string_equal(e.text, "more numbers than planned for");
	demand_close(d);
	assert_int_equal(m.now_bytes, 0);
	input_free(&in);
}

/* ----------------------------------------------------------------------------------- memory */

static void test_memory(void **state)
{
	enum { N = 2000000, BYTES = 8, THREADS = 2 };
	unsigned char *recs = malloc((size_t)N * BYTES), *sample;
	const size_t samples = demand_samples(N);
	sample = malloc(samples * BYTES);
	(void)state;
	assert_true(recs && sample);
	for (size_t k = 0; k < LEN(KINDS) * 2; k++) {
		uint64_t s = 5;
		mem m = { 0 };
		err e = { 0 };
		demand *d;
		demand_room *r[THREADS];
		for (size_t i = 0; i < N; i++) {
			const uint64_t v = htobe64(KINDS[k / 2].value(&s, i, N));
			memcpy(recs + i * BYTES, &v, BYTES);
		}
		for (size_t i = 0; i < samples; i++) /* fair, or of the first records */
			memcpy(sample + i * BYTES, recs + splitmix(&s) % (k % 2 ? 999 : N) * BYTES,
			       BYTES);
		const demand_plan p = { .in = { .base = recs, .lay = LAYOUT_BYTES(BYTES, 0, 8) },
					.n = N,
					.lanes = THREADS,
					.threads = THREADS,
					.sample = sample,
					.samples = samples };
		assert_int_equal(demand_open(&d, &m, &p, &e), ST_OK);
		adding a = { .d = d, .n = N };
		pool_run(THREADS, add_part, &a);
		assert_int_equal(demand_end(d, &e), ST_OK);
		for (size_t i = 0; i < THREADS; i++)
			assert_int_equal(demand_room_open(&r[i], d, &e), ST_OK);
		const uint64_t most = demand_most_bytes(N, THREADS, THREADS);
		if (m.peak_bytes > most)
			fail_msg("%s: %zu bytes, %zu planned", KINDS[k / 2].name,
				 (size_t)m.peak_bytes, (size_t)most);
		if (k == 0 && m.peak_bytes < most / 100 * 95)
			fail_msg("only %zu bytes, %zu planned", (size_t)m.peak_bytes, (size_t)most);
		for (size_t i = 0; i < THREADS; i++)
			demand_room_close(r[i]);
		demand_close(d);
		assert_int_equal(m.now_bytes, 0);
	}
	free(recs);
	free(sample);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),  cmocka_unit_test(test_threads),
		cmocka_unit_test(test_flips),  cmocka_unit_test(test_refused),
		cmocka_unit_test(test_memory),
	};
	return cmocka_run_group_tests_name("demand", tests, NULL, NULL);
}
