/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorting short records by moving them to buckets.
 *
 * A classifier, made from a sample, maps keys to some thousand buckets. All threads read the keys,
 * store the bucket of each record and count the records of each bucket. Then they move the records
 * to their buckets in the output, two cache lines at a time, by streaming stores. Then each thread
 * takes one bucket after another, and sorts it in the cache. All threads together sort each bucket
 * that is too large in the same way again.
 *
 * Keys of the input are read to find buckets, and again when records move. In between, another
 * thread or a memory error may change them. This is reported, because the order is checked where it
 * does not follow from the sort of a bucket: between buckets, and for samples of the records whose
 * keys must be equal, because a check of each would take 10 % of the time.
 *
 * Threads may differ in speed, so the input is cut into many more pieces than threads, and each
 * thread takes ranges of pieces. The sort is stable: in each bucket, the records of a piece follow
 * the records of the pieces before it. So a thread keeps its partly filled lines from piece to
 * piece. */
#include "bucket_sort.h"
#include "base/arith.h"
#include "base/pool.h"
#include "classifier.h"
#include "radix.h"
#include "gather.h"
#include "u64_sort.h"

#include <stdatomic.h>

enum { LINE = 2 * STREAMING_LINE, STAGE_BYTES = 2 * LINE, SAME = 0x80 };

/* The number of pieces. With fewer, a thread could work long on its last piece while the others are
 * idle. The counts of pieces take less than 1 % of the memory of the records. */
enum { PIECES = 128, PIECES_A_THREAD = 4, PIECE_LEAST = 2048 };

/* The stages for the next records of each bucket. A stage is a line (here two cache lines) that is
 * being filled, and another for the end of the record that begins in it. If a line consists of
 * whole records, the stage is one line. Each record changes only `used`, which is a separate array
 * that stays in the first-level cache. */
typedef struct stages {
	const unsigned char *end; /* of the output */
	uint8_t *used;            /* bytes in the line */
	uint8_t *skip; /* first bytes of the line, which must not be written; and the flag SAME, if
			  all keys of the bucket are the same */
	unsigned char **to;   /* destination of the line */
	unsigned char *lines; /* STAGE_BYTES per bucket */
} stages;

/* Scratch of one worker. */
typedef struct workspace {
	stages stages;
	unsigned char *recs; /* a copy of a bucket */
	uint64_t *a, *tmp;   /* its numbers, and scratch to sort them */
	entry *ties;         /* scratch to sort equal numbers: two per record */
} workspace;

typedef struct short_sorter {
	bucket_sort_task t; /* the present one: all records, or a bucket that was too large */
	bool streaming;     /* the output is written past the cache */
	entry *sample;      /* followed by scratch of the same size */
	classifier map;
	unsigned pieces;
	uint16_t *into;  /* the bucket of each record */
	uint32_t *count; /* records: [pieces][buckets] */
	uint64_t *start; /* first place of each bucket, and the end of the last */
	workspace *work;
	ranges left; /* pieces that are not taken yet */
	_Atomic size_t next;
	_Atomic size_t misfits; /* records that are not in order */
	uint64_t *border; /* places whose order is checked at the end: next to large buckets */
	size_t borders;
} short_sorter;

/* A bucket that was too large: records of the output that are still to be sorted. */
typedef struct large {
	uint64_t start, n;
	unsigned depth; /* number of sorts into buckets that led to this bucket */
} large;

/* ------------------------------------------------------------------------------------- pieces */

/* Return the number of buckets. A bucket, its copy and its numbers fit the second-level cache. */
static uint32_t short_buckets(uint64_t n, const bucket_sort_sizes *sizes, uint32_t record_bytes)
{
	enum { BUCKET_BYTES = 1 << 17 };
	const uint64_t most = u64_min(sizes->demand.bucket, BUCKET_BYTES / record_bytes);
	return (uint32_t)u64_min(n / most + BUCKETS_LEAST, BUCKETS_MAX);
}

static unsigned short_pieces(uint64_t n, unsigned threads)
{
	const uint64_t want = u64_max(PIECES, (uint64_t)threads * PIECES_A_THREAD);
	return (unsigned)u64_max(u64_min(want, n / PIECE_LEAST + 1), n / UINT32_MAX + 1);
}

/* Return the first record of a piece. Pieces consist of whole blocks, except the last. */
static uint64_t piece_begin(const short_sorter *s, size_t piece)
{
	const uint64_t blocks = (s->t.n + CLASSIFIER_BLOCK - 1) / CLASSIFIER_BLOCK;
	const uint64_t block = blocks / s->pieces * piece + u64_min(blocks % s->pieces, piece);
	return u64_min(block * CLASSIFIER_BLOCK, s->t.n);
}

/* ----------------------------------------------------------------------------- count and move */

static void count_pieces(void *arg, unsigned worker)
{
	short_sorter *s = arg;
	uint32_t odd[BUCKETS_MAX]; /* counts of odd records: neighbours in a bucket need not wait */
	for (size_t p; ranges_next(&s->left, worker, &p);) {
		uint32_t *count = s->count + p * s->map.buckets;
		memset(count, 0, s->map.buckets * sizeof *count);
		memset(odd, 0, s->map.buckets * sizeof *odd);
		for (uint64_t i = piece_begin(s, p), end = piece_begin(s, p + 1); i < end;
		     i += CLASSIFIER_BLOCK) {
			const size_t n = u64_min(end - i, CLASSIFIER_BLOCK);
			uint16_t *into = s->into + i;
			classifier_block(&s->map, &(classifier_work){ .in = s->t.in,
								      .first = i,
								      .n = n,
								      .bucket = into });
			for (size_t k = 0; k + 1 < n; k += 2) {
				count[into[k]]++;
				odd[into[k + 1]]++;
			}
			if (n % 2)
				count[into[n - 1]]++;
		}
		for (uint32_t b = 0; b < s->map.buckets; b++)
			count[b] += odd[b];
	}
}

/* Set the destinations of the stages to where the records of a piece begin in each bucket. */
static void open_stages(const short_sorter *s, const stages *g, size_t piece)
{
	const uint32_t buckets = s->map.buckets;
	uint64_t *at = (uint64_t *)(void *)g->to;
	memcpy(at, s->start, buckets * sizeof *at);
	for (size_t p = 0; p < piece; p++)
		for (uint32_t b = 0; b < buckets; b++)
			at[b] += s->count[p * buckets + b];
	for (uint32_t b = 0; b < buckets; b++) {
		unsigned char *to = s->t.out + at[b] * s->t.in->lay.record_bytes;
		g->used[b] = (uint8_t)((uintptr_t)to % LINE);
		g->skip[b] = g->used[b] | (s->map.bucket[b].same ? SAME : 0);
		g->to[b] = to - g->used[b];
	}
}

/* Write the partly filled lines. If a memory error has changed the buckets of records, lines may
 * not fit into the output. */
static void close_stages(short_sorter *s, const stages *g, size_t stage_bytes)
{
	for (uint32_t b = 0; b < s->map.buckets; b++) {
		const unsigned skip = g->skip[b] & (SAME - 1);
		if (g->to[b] <= g->end && g->used[b] <= (size_t)(g->end - g->to[b]))
			memcpy(g->to[b] + skip, g->lines + b * stage_bytes + skip,
			       g->used[b] - skip);
		else
			s->misfits++;
	}
}

/* Write the full line of bucket b, as close_stages does. Its last record is `rec`. */
static inline __attribute__((always_inline)) void stage_out(short_sorter *s, const stages *g,
							    uint32_t b, unsigned char *line,
							    const unsigned char *rec,
							    bool streaming)
{
	unsigned char *to = g->to[b];
	const unsigned flags = g->skip[b], skip = flags & (SAME - 1);
	const classifier_bucket *is = &s->map.bucket[b];
	if (__builtin_expect(to + LINE > g->end, 0)) {
		s->misfits++;
		return;
	}
	if (skip || !streaming)
		memcpy(to + skip, line + skip, LINE - skip);
	else
		for (size_t i = 0; i < LINE; i += STREAMING_LINE)
			streaming_store_line(to + i, line + i);
	g->skip[b] = flags & SAME;
	g->to[b] = to + LINE;
	if (flags & SAME && key_window_read(&s->map.lay, &is->window, rec) != is->from)
		s->misfits++;
}

static inline __attribute__((always_inline)) void
move_piece(short_sorter *s, const stages *g, size_t piece, uint32_t bytes, size_t stage_bytes)
{
	const stages stage = *g;
	const uint64_t from = piece_begin(s, piece), to = piece_begin(s, piece + 1);
	const unsigned char *rec = record_at(s->t.in, from);
	const bool streaming = s->streaming;
	const uint32_t last = s->map.buckets - 1;
	for (const uint16_t *into = s->into + from, *end = s->into + to; into < end;
	     into++, rec += bytes) {
		const uint32_t b = *into < last ? *into : last; /* even after a memory error */
		unsigned char *line = stage.lines + b * stage_bytes;
		unsigned used = stage.used[b];
		record_copy_short(line + used, rec, bytes);
		used += bytes;
		if (used >= LINE) {
			stage_out(s, &stage, b, line, line + used - bytes, streaming);
			used -= LINE;
			if (stage_bytes > LINE && used > 0)
				memcpy(line, line + LINE, LINE);
		}
		stage.used[b] = (uint8_t)used;
	}
}

static void move_pieces(void *arg, unsigned worker)
{
	enum { PAIR = 16, QUAD = 32 };
	short_sorter *s = arg;
	stages *g = &s->work[worker].stages;
	const uint32_t bytes = s->t.in->lay.record_bytes;
	g->end = s->t.out + s->t.n * bytes;
	/* lines consist of whole records */
	const bool whole = LINE % bytes == 0 && (uintptr_t)s->t.out % bytes == 0;
	const size_t stage_bytes = whole ? LINE : STAGE_BYTES;
	size_t expected = SIZE_MAX;
	for (size_t p; ranges_next(&s->left, worker, &p); expected = p + 1) {
		if (p != expected) {
			if (expected != SIZE_MAX)
				close_stages(s, g, stage_bytes);
			open_stages(s, g, p);
		}
		if (whole && bytes == PAIR)
			move_piece(s, g, p, PAIR, LINE);
		else if (whole && bytes == QUAD)
			move_piece(s, g, p, QUAD, LINE);
		else
			move_piece(s, g, p, bytes, stage_bytes);
	}
	if (expected != SIZE_MAX)
		close_stages(s, g, stage_bytes);
	streaming_store_fence();
}

/* -------------------------------------------------------------------------------- one bucket */

/* The range of the windows of some keys. */
typedef struct window_range {
	uint64_t least, most;
	bool rise; /* each is at least the one before */
} window_range;

/* Read the windows of n keys to a, and find their range. */
static inline __attribute__((always_inline)) window_range
short_windows(const layout *l, const key_window *window, const unsigned char *rec, size_t n,
	      uint64_t *a, window_kind of)
{
	const uint32_t bytes = l->record_bytes;
	const layout lay = *l; /* a copy that cannot alias the array written here */
	bool rise = true;
	uint64_t before = 0, low = UINT64_MAX, high = 0;
	for (size_t i = 0; i < n; i++, rec += bytes) {
		const uint64_t v = key_window_read_as(of, &lay, window, rec);
		a[i] = v;
		rise &= v >= before;
		before = v;
		low = u64_min(v, low);
		high = u64_max(v, high);
	}
	return (window_range){ low, high, rise };
}

static void put_in_order(const unsigned char *recs, const uint64_t *a, uint64_t mask, size_t n,
			 uint32_t bytes, unsigned char *out)
{
	for (size_t i = 0; i < n; i++, out += bytes)
		record_copy_short(out, recs + (a[i] & mask) * bytes, bytes);
}

/* Sort n records by counting if their windows, in w->a, have few values; otherwise return false. */
static bool sort_few_keys(const workspace *w, unsigned char *recs, size_t n, uint32_t bytes)
{
	enum { KEYS = 8, LOOKS = 32 };
	uint64_t key[KEYS];
	size_t place[KEYS + 1] = { 0 };
	for (unsigned k = 0; k < KEYS; k++)
		key[k] = UINT64_MAX;
	for (size_t i = 0; i < LOOKS; i++) {
		const uint64_t v = w->a[n / LOOKS * i];
		unsigned k = 0;
		while (k + 1 < KEYS && key[k] < v)
			k++;
		if (key[k] == v)
			continue;
		if (key[KEYS - 1] < UINT64_MAX)
			return false;
		memmove(key + k + 1, key + k, (KEYS - 1 - k) * sizeof *key);
		key[k] = v;
	}
	for (size_t i = 0; i < n; i++) {
		unsigned k = 0;
#pragma GCC unroll 7
		for (unsigned j = 0; j < KEYS - 1; j++)
			k += w->a[i] > key[j];
		if (w->a[i] != key[k])
			return false;
		w->tmp[i] = k;
		place[k + 1]++;
	}
	for (unsigned k = 1; k < KEYS; k++)
		place[k] += place[k - 1];
	memcpy(w->recs, recs, n * bytes);
	for (size_t i = 0; i < n; i++)
		record_copy_short(recs + place[w->tmp[i]]++ * bytes, w->recs + i * bytes, bytes);
	return true;
}

/* Sort the n records at recs in place, by numbers. A number has the distance of a key's window from
 * the least window, above the position. The window begins after bytes that all keys share if a
 * number has bits to spare for later bytes of the key. */
static void sort_bucket(const short_sorter *s, const workspace *w, unsigned char *recs, size_t n)
{
	const layout *l = &s->t.in->lay;
	const uint32_t bytes = l->record_bytes;
	const unsigned pos_bits = 64 - (unsigned)__builtin_clzll(n);
	const uint64_t mask = (UINT64_C(1) << pos_bits) - 1;
	const records copy = { .base = w->recs, .lay = *l };
	window_range r;
	unsigned norm, same_bits = 0, zeros;
	uint32_t from = 0, left;
	do {
		from += same_bits / 8;
		left = l->key_bytes - from;
		const key_window window =
			key_window_at(l, from, (uint32_t)u64_min(left, KEY_WINDOW_BYTES));
		r = WITH_WINDOW(window.of, short_windows, l, &window, recs, n, w->a);
		norm = r.most > r.least ? (unsigned)__builtin_clzll(r.most - r.least) : 64;
		same_bits = r.most > r.least ? (unsigned)__builtin_clzll(r.most ^ r.least) : 64;
		zeros = (unsigned)__builtin_ctzll(window.keep);
	} while (left > KEY_WINDOW_BYTES && same_bits >= 8 && norm > pos_bits);
	const bool last = left <= KEY_WINDOW_BYTES;
	if (last && (r.rise || sort_few_keys(w, recs, n, bytes)))
		return;
	for (size_t i = 0; i < n; i++)
		w->a[i] = ((w->a[i] - r.least) << norm % 64 & ~mask) | i;
	memcpy(w->recs, recs, n * bytes);
	if (!r.rise)
		u64_sort(w->a, w->tmp, n);
	if (!last || norm + zeros < pos_bits)
		radix_settle(w->a, n, mask, &copy, n, w->ties);
	if (bytes == 16)
		put_in_order(w->recs, w->a, mask, n, 16, recs);
	else
		put_in_order(w->recs, w->a, mask, n, bytes, recs);
}

static void sort_buckets(void *arg, unsigned worker)
{
	short_sorter *s = arg;
	const uint32_t bytes = s->t.in->lay.record_bytes;
	for (size_t b; (b = atomic_fetch_add(&s->next, 1)) < s->map.buckets;) {
		const size_t n = s->start[b + 1] - s->start[b];
		if (n > 1 && n <= s->t.sizes->demand.cap && !s->map.bucket[b].same)
			sort_bucket(s, &s->work[worker], s->t.out + s->start[b] * bytes, n);
	}
}

/* ------------------------------------------------------------------------------- all buckets */

static void share_pieces(short_sorter *s, pool_work *work)
{
	s->next = 0;
	ranges_share(&s->left, s->pieces);
	pool_run(s->t.threads, work, s);
}

/* Sort the n records of `in` to out, except buckets that are too large. */
static void sort_in_buckets(short_sorter *s, const records *in, uint64_t n, unsigned char *out)
{
	s->t.in = in;
	s->t.n = n;
	s->t.out = out;
	s->streaming = n >= s->t.sizes->streaming_bytes / in->lay.record_bytes;
	s->pieces = short_pieces(n, s->t.threads);
	const uint32_t buckets = short_buckets(n, s->t.sizes, in->lay.record_bytes);
	const size_t samples = classifier_sample(in, n, buckets, s->sample);
	radix_sort(s->sample, s->sample + samples, samples, in);
	s->misfits += classifier_make(&s->map, in, s->sample, samples, buckets);
	share_pieces(s, count_pieces);
	const uint32_t found = s->map.buckets;
	uint64_t at = 0;
	memset(s->start, 0, (found + 1) * sizeof *s->start);
	for (size_t p = 0; p < s->pieces; p++)
		for (uint32_t b = 0; b < found; b++)
			s->start[b] += s->count[p * found + b];
	for (uint32_t b = 0; b <= found; b++) {
		const uint64_t size = s->start[b];
		s->start[b] = at;
		at += size;
	}
	share_pieces(s, move_pieces);
	share_pieces(s, sort_buckets);
}

/* ----------------------------------------------------------------- buckets that are too large */

/* Sort n records by their entries. copy: a copy of the records. */
static status sort_by_entries(const short_sorter *s, unsigned char *recs, size_t n,
			      unsigned char *copy)
{
	const uint32_t bytes = s->t.in->lay.record_bytes;
	const records r = { .base = copy, .lay = s->t.in->lay };
	entry *order = mem_array(s->t.m, 2 * n, sizeof *order, "entries", s->t.e);
	if (!order)
		return ST_RESOURCE;
	for (size_t i = 0; i < n; i++)
		order[i] = entry_make(record_at(&r, i), &r.lay, i);
	radix_sort(order, order + n, n, &r);
	for (size_t i = 0; i < n; i++)
		record_copy_short(recs + i * bytes, copy + entry_pos(&order[i]) * bytes, bytes);
	mem_free(s->t.m, order);
	return ST_OK;
}

typedef struct copying {
	const unsigned char *from;
	unsigned char *to;
	size_t bytes;
	_Atomic size_t next;
} copying;

static void copy_parts(void *arg, unsigned worker)
{
	enum { PART = 1 << 18 };
	copying *c = arg;
	(void)worker;
	for (size_t i; (i = atomic_fetch_add(&c->next, PART)) < c->bytes;)
		memcpy(c->to + i, c->from + i, size_min(c->bytes - i, PART));
}

/* Return 1 if the record at a place of `recs` belongs before its predecessor, otherwise 0. */
static size_t border_misfits(const layout *l, const unsigned char *recs, uint64_t place)
{
	const unsigned char *rec = recs + place * l->record_bytes;
	return key_compare(l, rec - l->record_bytes, rec) > 0;
}

/* Append the buckets that are too large to the list, which has n buckets; return its new length.
 * Check the order between other buckets; large ones are not sorted yet. start: the place of the
 * first bucket in the output. */
static size_t note_large(short_sorter *s, uint64_t start, unsigned depth, large *list, size_t n)
{
	bool was_large = false;
	for (uint32_t b = 0; b < s->map.buckets; b++) {
		const uint64_t at = s->start[b], size = s->start[b + 1] - at;
		const bool is_large = size > s->t.sizes->demand.cap && !s->map.bucket[b].same;
		if (size == 0)
			continue;
		if (at > 0 && (is_large || was_large))
			s->border[s->borders++] = start + at;
		else if (at > 0)
			s->misfits += border_misfits(&s->t.in->lay, s->t.out, at);
		if (is_large)
			list[n++] = (large){ start + at, size, depth };
		was_large = is_large;
	}
	return n;
}

/* Sort n large buckets of the list, each by a map of its own. Append large buckets that result to
 * the list. After too many maps for the same records, one thread sorts their entries. */
static status sort_large(short_sorter *s, unsigned char *out, large *list, size_t n)
{
	const layout *l = &s->t.in->lay;
	records in = { .lay = *l };
	status rc = ST_OK;
	while (rc == ST_OK && n > 0) {
		const large x = list[--n];
		unsigned char *recs = out + x.start * l->record_bytes;
		unsigned char *copy = mem_array(s->t.m, x.n, l->record_bytes, "records", s->t.e);
		if (!copy)
			return ST_RESOURCE;
		copying c = { .from = recs, .to = copy, .bytes = x.n * l->record_bytes };
		in.base = copy;
		pool_run(s->t.threads, copy_parts, &c);
		if (x.n > s->t.sizes->simple && x.depth <= s->t.sizes->demand.depth) {
			sort_in_buckets(s, &in, x.n, recs);
			n = note_large(s, x.start, x.depth + 1, list, n);
		} else {
			rc = sort_by_entries(s, recs, x.n, copy);
		}
		mem_free(s->t.m, copy);
	}
	return rc;
}

/* ------------------------------------------------------------------------------------ all of it */

/* Return the most places next to buckets that are too large: two for each, after each of the sorts
 * into buckets. */
static uint64_t short_borders(uint64_t n, const bucket_sort_sizes *sizes)
{
	return 2 * (sizes->demand.depth + UINT64_C(1)) * (n / sizes->demand.cap + 1);
}

/* Return the bytes that struct workspace and its arrays need. */
static uint64_t workspace_bytes(uint64_t buckets, uint64_t cap)
{
	return buckets * (STAGE_BYTES + sizeof(unsigned char *) + 2) +
	       cap * (SHORT_MOST_BYTES + 2 * sizeof(uint64_t) + 2 * sizeof(entry)) +
	       8 * (uint64_t)LINE;
}

/* Take `bytes` bytes of scratch at *at, aligned to a line, and advance *at. */
static unsigned char *workspace_take(unsigned char **at, size_t bytes)
{
	unsigned char *p = *at + -(uintptr_t)*at % LINE;
	*at = p + bytes;
	return p;
}

static void place_workspace(const short_sorter *s, workspace *w, unsigned char *at, size_t buckets)
{
	const size_t cap = s->t.sizes->demand.cap;
	w->stages.lines = workspace_take(&at, buckets * STAGE_BYTES);
	w->stages.to =
		(unsigned char **)(void *)workspace_take(&at, buckets * sizeof *w->stages.to);
	w->stages.used = workspace_take(&at, buckets);
	w->stages.skip = workspace_take(&at, buckets);
	w->a = (uint64_t *)(void *)workspace_take(&at, 2 * cap * sizeof *w->a);
	w->tmp = w->a + cap;
	w->ties = (entry *)(void *)workspace_take(&at, 2 * cap * sizeof *w->ties);
	w->recs = at;
}

status short_sort(const bucket_sort_task *t)
{
	mem *m = t->m;
	err *e = t->e;
	const size_t cap = t->sizes->demand.cap, n = t->n;
	const uint32_t buckets = short_buckets(n, t->sizes, t->in->lay.record_bytes);
	const size_t worker_bytes = workspace_bytes(buckets, cap);
	short_sorter s = { .t = *t, .map.pos_bits = 1 };
	unsigned char *scratch = mem_array(m, t->threads, worker_bytes, "scratch", e);
	large *list = mem_array(m, n / cap + 1, sizeof *list, "buckets", e);
	s.work = mem_array(m, t->threads, sizeof *s.work, "scratch", e);
	s.left = (ranges){ mem_array(m, t->threads, sizeof *s.left.of, "scratch", e), t->threads };
	s.into = mem_array(m, n + CLASSIFIER_BLOCK, sizeof *s.into, "buckets", e);
	s.count = mem_array(m, (size_t)short_pieces(n, t->threads) * buckets, sizeof *s.count,
			    "counts", e);
	s.start = mem_array(m, buckets + 1, sizeof *s.start, "places", e);
	s.sample = mem_array(m, 2 * SAMPLE_MAX, sizeof *s.sample, "sample", e);
	s.map.room = mem_array(m, 1, classifier_room_bytes(buckets), "map", e);
	s.border = mem_array(m, short_borders(n, t->sizes), sizeof *s.border, "places", e);
	status rc = ST_RESOURCE;
	if (scratch && list && s.work && s.left.of && s.into && s.count && s.start && s.sample &&
	    s.map.room && s.border) {
		for (unsigned i = 0; i < t->threads; i++)
			place_workspace(&s, &s.work[i], scratch + i * worker_bytes, buckets);
		sort_in_buckets(&s, t->in, n, t->out);
		rc = sort_large(&s, t->out, list, note_large(&s, 0, 1, list, 0));
		for (size_t i = 0; rc == ST_OK && i < s.borders; i++)
			s.misfits += border_misfits(&t->in->lay, t->out, s.border[i]);
		rc = rc == ST_OK ? gather_misfits(s.misfits, e) : rc;
	}
	mem_free(m, s.border);
	mem_free(m, s.map.room);
	mem_free(m, s.sample);
	mem_free(m, s.start);
	mem_free(m, s.count);
	mem_free(m, s.into);
	mem_free(m, (void *)s.left.of);
	mem_free(m, s.work);
	mem_free(m, list);
	mem_free(m, scratch);
	return rc;
}

/* Add up the scratch, the bucket of each record, and, for large buckets, copies and entries. */
uint64_t short_sort_most_bytes(uint64_t n, unsigned threads, const bucket_sort_sizes *sizes)
{
	const uint64_t buckets = short_buckets(n, sizes, SHORT_MOST_BYTES);
	const uint64_t worker =
		workspace_bytes(buckets, sizes->demand.cap) + sizeof(workspace) + sizeof(uint64_t);
	return n * (2 * sizeof(entry) + SHORT_MOST_BYTES) +
	       (n + CLASSIFIER_BLOCK) * sizeof(uint16_t) + worker * threads +
	       short_pieces(n, threads) * buckets * sizeof(uint32_t) +
	       (buckets + 1 + short_borders(n, sizes)) * sizeof(uint64_t) +
	       2 * SAMPLE_MAX * sizeof(entry) + classifier_room_bytes((uint32_t)buckets) +
	       (n / sizes->demand.cap + 1) * sizeof(large);
}
