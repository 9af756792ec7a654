/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorting records that are one run or two. All threads look for the end of a run, piece by piece.
 * Then each thread takes pieces of the output, and finds where a piece begins in both runs.
 *
 * Keys are read again for that, and may have changed. So the order of the output is checked while
 * it is written. Two neighbouring pieces must also agree on the place where they meet in the runs.
 */
#include "bucket_sort.h"
#include "base/arith.h"
#include "base/pool.h"
#include "gather.h"

#include <stdatomic.h>

enum { PIECE = 16384 };

/* A run: n records from `begin` on, which descend if `falls`, otherwise ascend. */
typedef struct sorted_run {
	size_t begin, n;
	bool falls;
} sorted_run;

typedef struct presorted {
	const records *in;
	unsigned char *out;
	size_t n;
	unsigned threads;
	key_window window; /* the first bytes of the key */
	bool longer;       /* the key has more bytes */
	bool copies; /* the first run seems to be all records: copy it while its end is sought */
	sorted_run run[2]; /* the first run; the second, or the run whose end is being searched */
	_Atomic size_t next, end;
	_Atomic size_t misfits;   /* records of the output that belong before their predecessors */
	_Atomic uint64_t borders; /* sum over the pieces; 0 if they agree on their borders */
} presorted;

static uint64_t presorted_window(const presorted *s, const unsigned char *rec)
{
	return key_window_read(&s->in->lay, &s->window, rec);
}

/* Return whether record b sorts before a; v and w are their windows. */
static inline bool presorted_before(const presorted *s, const unsigned char *b, uint64_t w,
				    const unsigned char *a, uint64_t v)
{
	return w < v || (w == v && s->longer && key_compare(&s->in->lay, b, a) < 0);
}

/* -------------------------------------------------------------------------------------- runs */

static inline __attribute__((always_inline)) size_t presorted_break_as(const presorted *s,
								       const unsigned char *recs,
								       size_t from, size_t to,
								       bool falls, window_kind of)
{
	const layout *l = &s->in->lay;
	const key_window window = s->window;
	const uint32_t bytes = l->record_bytes;
	const bool longer = s->longer;
	const unsigned char *rec = recs + from * bytes;
	uint64_t v = key_window_read_as(of, l, &window, rec - bytes);
	for (; from < to; from++, rec += bytes) {
		const uint64_t w = key_window_read_as(of, l, &window, rec);
		const bool before =
			w < v || (longer && w == v && key_compare(l, rec, rec - bytes) < 0);
		if (before != falls)
			return from;
		v = w;
	}
	return to;
}

/* Return the first of the records [from, to) of recs that does not continue the run before it, or
 * `to`. */
static size_t presorted_break(const presorted *s, const unsigned char *recs, size_t from, size_t to,
			      bool falls)
{
	return WITH_WINDOW(s->window.of, presorted_break_as, s, recs, from, to, falls);
}

/* Return where run[1] breaks in [from, to), or `to`. If s->copies, look at copies in the output.
 * Only the first one is compared with its predecessor in the input, which may not be copied yet. */
static size_t presorted_look_at(const presorted *s, size_t from, size_t to)
{
	const size_t bytes = s->in->lay.record_bytes, begin = size_max(from, 1);
	const bool falls = s->run[1].falls;
	if (!s->copies)
		return presorted_break(s, s->in->base, size_max(from, s->run[1].begin + 1), to,
				       falls);
	memcpy(s->out + from * bytes, record_at(s->in, from), (to - from) * bytes);
	const unsigned char *recs = from > 0 ? s->in->base : s->out;
	if (presorted_break(s, recs, begin, begin + 1, falls) == begin)
		return begin;
	return presorted_break(s, s->out, begin + 1, to, falls);
}

/* Look for the end of run[1] in pieces, and lower s->end to it. */
static void presorted_look(void *arg, unsigned worker)
{
	presorted *s = arg;
	(void)worker;
	for (size_t i; (i = atomic_fetch_add(&s->next, PIECE)) < s->end;) {
		const size_t to = size_min(i + PIECE, s->n);
		const size_t at = presorted_look_at(s, i, to);
		size_t end = s->end;
		while (at < to && at < end && !atomic_compare_exchange_weak(&s->end, &end, at))
			;
	}
}

/* Find the run that begins at record `begin`. */
static sorted_run presorted_find_run(presorted *s, size_t begin)
{
	enum { LOOKS = 16 };
	s->run[1] = (sorted_run){ .begin = begin, .n = s->n - begin };
	if (s->run[1].n < 2)
		return s->run[1];
	s->run[1].falls = presorted_break(s, s->in->base, begin + 1, begin + 2, false) == begin + 1;
	s->copies = begin == 0 && !s->run[1].falls && s->n > PIECE;
	for (size_t i = 1; i < LOOKS && s->copies; i++)
		s->copies = presorted_window(s, record_at(s->in, s->n / LOOKS * (i - 1))) <=
			    presorted_window(s, record_at(s->in, s->n / LOOKS * i));
	/* one thread searches the first piece, because most runs end there */
	const size_t first = size_min(begin + PIECE, s->n);
	s->end = presorted_look_at(s, begin, first);
	if (s->end == first) {
		s->next = first;
		s->end = s->n;
		pool_run(s->threads, presorted_look, s);
	}
	s->run[1].n = s->end - begin;
	return s->run[1];
}

/* -------------------------------------------------------------------------------------- merge */

/* Return record i of a run in the order of keys. */
static const unsigned char *presorted_at(const presorted *s, const sorted_run *r, size_t i)
{
	return record_at(s->in, r->falls ? r->begin + r->n - 1 - i : r->begin + i);
}

/* Count the records of the first run among the first `place` records of the output. */
static size_t presorted_of_first(const presorted *s, size_t place)
{
	const sorted_run *a = &s->run[0], *b = &s->run[1];
	size_t low = place > b->n ? place - b->n : 0, high = size_min(place, a->n);
	while (low < high) {
		const size_t i = low + (high - low) / 2;
		const unsigned char *x = presorted_at(s, a, i),
				    *y = presorted_at(s, b, place - 1 - i);
		if (presorted_before(s, y, presorted_window(s, y), x, presorted_window(s, x)))
			high = i;
		else
			low = i + 1;
	}
	return low;
}

/* The records of a run that are still to be written to a piece. */
typedef struct presorted_rest {
	const unsigned char *rec;
	ptrdiff_t step;
	size_t n;
	uint64_t window;
} presorted_rest;

static presorted_rest presorted_rest_of(const presorted *s, const sorted_run *r, size_t from,
					size_t to)
{
	const ptrdiff_t bytes = (ptrdiff_t)s->in->lay.record_bytes;
	presorted_rest x = { .rec = s->in->base,
			     .step = r->falls ? -bytes : bytes,
			     .n = to - from };
	if (x.n > 0) {
		x.rec = presorted_at(s, r, from);
		x.window = presorted_window(s, x.rec);
	}
	return x;
}

static inline __attribute__((always_inline)) const unsigned char *presorted_take(const presorted *s,
										 presorted_rest *x)
{
	const unsigned char *rec = x->rec;
	if (--x->n > 0) {
		x->rec += x->step;
		x->window = presorted_window(s, x->rec);
	}
	return rec;
}

/* Return a term for the border of two pieces at `place`, with i records of the first run before it.
 */
static uint64_t presorted_border(size_t place, size_t i)
{
	uint64_t x = place;
	return splitmix(&x) * i;
}

/* Write places [from, to) of the output. */
static inline __attribute__((always_inline)) void presorted_put(presorted *s, size_t from,
								size_t to, uint32_t bytes)
{
	const size_t i = presorted_of_first(s, from);
	size_t end = presorted_of_first(s, to), misfits = 0;
	s->borders += presorted_border(to, end) - presorted_border(from, i);
	end = size_min(size_max(end, i), i + (to - from)); /* even if keys have changed */
	presorted_rest a = presorted_rest_of(s, &s->run[0], i, end),
		       b = presorted_rest_of(s, &s->run[1], from - i, to - end);
	unsigned char *out = s->out + from * bytes;
	const bool streaming = bytes <= STREAMING_MOST_BYTES;
	const unsigned char *before = NULL;
	uint64_t v = 0;
	streaming_store store;
	streaming_store_begin(&store, out);
	for (size_t k = from; k < to; k++) {
		presorted_rest *x = &a;
		if (a.n == 0 || (b.n > 0 && presorted_before(s, b.rec, b.window, a.rec, a.window)))
			x = &b;
		const unsigned char *rec = presorted_take(s, x);
		unsigned char *copy = streaming ? streaming_store_room(&store) : out;
		memcpy(copy, rec, bytes);
		const uint64_t w = presorted_window(s, copy);
		misfits += before ? presorted_before(s, rec, w, before, v) : 0;
		before = rec;
		v = w;
		if (streaming)
			streaming_store_add(&store, bytes);
		else
			out += bytes;
	}
	if (streaming)
		streaming_store_end(&store);
	s->misfits += misfits;
}

static void presorted_put_all(void *arg, unsigned worker)
{
	enum { USUAL = 100 };
	presorted *s = arg;
	const uint32_t bytes = s->in->lay.record_bytes;
	(void)worker;
	for (size_t i; (i = atomic_fetch_add(&s->next, PIECE)) < s->n;) {
		const size_t to = size_min(i + PIECE, s->n);
		if (bytes == 8)
			presorted_put(s, i, to, 8);
		else if (bytes == 16)
			presorted_put(s, i, to, 16);
		else if (bytes == USUAL)
			presorted_put(s, i, to, USUAL);
		else
			presorted_put(s, i, to, bytes);
	}
}

bool presorted_sort(const records *in, size_t n, unsigned char *out, unsigned threads,
		    size_t *misfits)
{
	const uint32_t key_bytes = in->lay.key_bytes;
	presorted s = { .in = in,
			.out = out,
			.n = n,
			.threads = threads,
			.window = key_window_at(&in->lay, 0,
						(uint32_t)u64_min(key_bytes, KEY_WINDOW_BYTES)),
			.longer = key_bytes > KEY_WINDOW_BYTES };
	s.run[0] = presorted_find_run(&s, 0);
	s.run[1] = presorted_find_run(&s, s.run[0].n);
	if (s.run[0].n + s.run[1].n < n)
		return false;
	const bool copied = s.run[1].n == 0 && s.copies;
	s.next = 0;
	if (!copied)
		pool_run(threads, presorted_put_all, &s);
	for (size_t i = PIECE; i < n; i += PIECE)
		s.misfits += presorted_break(&s, out, i, i + 1, false) == i;
	s.borders -= copied ? 0 : presorted_border(n, s.run[0].n);
	*misfits = s.misfits + (s.borders != 0);
	return true;
}
