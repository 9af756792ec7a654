/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorting records of 8 bytes whose key is the whole record, as numbers.
 *
 * The input is cut into stretches, and the values of numbers into ranges. A part of the output has
 * the numbers of one range. Threads count the numbers of each stretch for each part, and then move
 * them there. Each part is sorted in place by quicksort. Its numbers are converted back to records
 * while they are in the cache.
 *
 * If a sample is spread evenly, the part of a number is a digit: the upper bits of its distance
 * from the least number. There are up to 256 digits, which saves passes of quicksort over memory.
 * Numbers are moved one cache line at a time, because single writes to 256 places are slow. If the
 * sample is not spread evenly, there is one part per thread, and pivots of the sample separate the
 * parts.
 *
 * The input is read twice, so a number may have changed since it was counted. A number that does
 * not fit into its part is not written, and the sort fails.
 *
 * If NaN comes last, -0 and +0 are equal keys, and so are all NaNs. They are sorted as different
 * numbers. If there are different ones, they are copied once more, in the order of the input.
 *
 * Threads may differ in speed, and parts may differ in size if many keys are equal. Therefore there
 * are many more stretches than threads. A thread that splits a part puts one half on a stack for
 * idle threads. */
#include "bucket_sort.h"
#include "base/arith.h"
#include "base/pool.h"
#include "gather.h"
#include "u64_sort.h"

#include <stdatomic.h>

enum {
	WORD = sizeof(uint64_t),
	LINE_WORDS = STREAMING_LINE / WORD,
	PIVOTS_MOST = 64,
	DIGITS_MOST = 256,
	SAMPLED = 64, /* numbers of the input for each one in the sample */
	SAMPLE_MOST = 8192,
	STRETCHES_A_THREAD = 16,
	LEAVES_A_THREAD = 32,
	LEAF_MOST = 1 << 17, /* numbers that one thread sorts: 1 MB */
	SPLITS_MOST = 64     /* of a part, before it is sorted by one thread */
};

/* A part of the output, or of a part, that is still to be sorted. */
typedef struct stack_part {
	size_t at, n;
	unsigned splits; /* so far */
} stack_part;

/* Parts that no thread has taken. Those that splits add have more than `leaf` numbers, and parts do
 * not overlap, so the array is large enough. */
typedef struct part_stack {
	atomic_flag busy;
	stack_part *part;
	size_t parts, leaf;
	_Atomic size_t left; /* numbers that are not sorted yet, on the stack or not */
} part_stack;

/* How numbers are divided among parts. */
typedef struct division {
	unsigned parts;
	bool digits;                 /* parts are digits, not ranges between pivots */
	uint64_t least;              /* number of the sample; digits are counted from here */
	unsigned shift;              /* turns a distance from `least` into a digit */
	uint64_t pivot[PIVOTS_MOST]; /* without digits: the least numbers of parts 1, 2, ... */
} division;

/* Numbers that are equal keys, and their places in the output; empty if all are the same number. */
typedef struct equal_range {
	uint64_t least, most;
	size_t at, end;
} equal_range;

enum { EQUAL_RANGES = 2 };

typedef struct word_sorter {
	const layout *l;
	window_kind as; /* how a number is read */
	const unsigned char *in;
	uint64_t *out;
	size_t n;
	unsigned threads, stretches;
	bool streaming; /* the output is written past the cache */
	division division;
	size_t (*place)[DIGITS_MOST]; /* per stretch and part: the count, then the first place */
	uint64_t *tmp;                /* U64_CACHED per thread */
	part_stack stack;
	equal_range equal[EQUAL_RANGES];
	_Atomic unsigned next;
	_Atomic size_t misfits; /* numbers that did not fit into their parts */
} word_sorter;

bool word_sort_fits(const layout *l, const unsigned char *out)
{
	return l->record_bytes == WORD && l->key_bytes == WORD &&
	       (!l->fields || l->number[0].bytes == WORD) && (uintptr_t)out % WORD == 0 &&
	       u64_sort_has_large();
}

/* Read a number; `as` is a constant in loops. NaNs stay different, and so do -0 and +0. */
static inline __attribute__((always_inline)) uint64_t
read_word(const key_lead *lead, const unsigned char *rec, window_kind as)
{
	uint64_t v;
	if (as == WINDOW_TURNED)
		return key_lead_distinct(lead, rec);
	if (as == WINDOW_LEAD)
		return key_lead_flipped(lead, rec);
	memcpy(&v, rec, sizeof v);
	return be64toh(v);
}

static inline __attribute__((always_inline)) unsigned division_part(const division *d, uint64_t v,
								    bool digits)
{
	unsigned p = 0;
	if (digits)
		return (unsigned)u64_min((v > d->least ? v - d->least : 0) >> d->shift,
					 d->parts - 1);
	for (unsigned i = 1; i < d->parts; i++)
		p += v >= d->pivot[i];
	return p;
}

static size_t stretch_begin(const word_sorter *s, unsigned i)
{
	return s->n / s->stretches * i + size_min(s->n % s->stretches, i);
}

static inline __attribute__((always_inline)) void count_stretch(const word_sorter *s, unsigned i,
								bool digits, window_kind as)
{
	const key_lead lead = s->l->number[0];
	const division d = s->division; /* copies that the writes here cannot alias */
	const unsigned char *in = s->in;
	size_t *count = s->place[i], at = stretch_begin(s, i);
	const size_t end = stretch_begin(s, i + 1);
	if (d.parts == 1)
		count[0] = end - at;
	for (; d.parts > 1 && at < end; at++)
		count[division_part(&d, read_word(&lead, in + at * WORD, as), digits)]++;
}

/* Return the end of the place for numbers of a stretch in a part. */
static size_t place_end(const word_sorter *s, unsigned stretch, unsigned part)
{
	if (stretch + 1 < s->stretches)
		return s->place[stretch + 1][part];
	return part + 1 < s->division.parts ? s->place[0][part + 1] : s->n;
}

/* Move the numbers of a stretch to few parts, one by one. Moving lines, as below, would take 1.3
 * times as long for keys with a Zipf distribution. */
static inline __attribute__((always_inline)) void move_stretch(word_sorter *s, unsigned i,
							       window_kind as)
{
	const key_lead lead = s->l->number[0];
	const division d = s->division;
	const unsigned char *in = s->in;
	uint64_t *out = s->out;
	size_t place[PIVOTS_MOST], last[PIVOTS_MOST], misfits = 0;
	memcpy(place, s->place[i], sizeof place);
	for (unsigned p = 0; p < d.parts; p++)
		last[p] = place_end(s, i, p);
	for (size_t at = stretch_begin(s, i), end = stretch_begin(s, i + 1); at < end; at++) {
		const uint64_t v = read_word(&lead, in + at * WORD, as);
		const unsigned p = division_part(&d, v, false);
		if (place[p] < last[p])
			out[place[p]++] = v;
		else
			misfits++;
	}
	s->misfits += misfits;
}

/* A cache line for the next numbers of each digit. Places are counted from the start of the line in
 * which the output begins. */
typedef struct lines {
	size_t before; /* words of this line before the output */
	size_t begin[DIGITS_MOST], end[DIGITS_MOST], place[DIGITS_MOST]; /* place: the next one */
	_Alignas(STREAMING_LINE) uint64_t word[DIGITS_MOST][LINE_WORDS];
} lines;

/* Write the first `used` words of a digit's line, except words before the digit's first place and
 * after its end. */
static inline __attribute__((always_inline)) void write_line(const word_sorter *s, const lines *x,
							     unsigned p, size_t used)
{
	const size_t n = size_min(used, x->place[p] - x->begin[p]), from = x->place[p] - n;
	uint64_t *to = s->out + (from - x->before);
	if (x->place[p] > x->end[p])
		memcpy(to, x->word[p] + used - n, (size_max(x->end[p], from) - from) * WORD);
	else if (n == LINE_WORDS && s->streaming)
		streaming_store_line(to, x->word[p]);
	else
		memcpy(to, x->word[p] + used - n, n * WORD);
}

/* Move the numbers of a stretch to their digits, line by line. */
static inline __attribute__((always_inline)) void move_stretch_by_lines(word_sorter *s, unsigned i,
									window_kind as)
{
	const key_lead lead = s->l->number[0];
	const division d = s->division;
	const unsigned char *in = s->in;
	lines x = { .before = (uintptr_t)s->out / WORD % LINE_WORDS };
	size_t misfits = 0;
	for (unsigned p = 0; p < d.parts; p++) {
		x.begin[p] = x.place[p] = s->place[i][p] + x.before;
		x.end[p] = place_end(s, i, p) + x.before;
	}
	for (size_t at = stretch_begin(s, i), end = stretch_begin(s, i + 1); at < end; at++) {
		const uint64_t v = read_word(&lead, in + at * WORD, as);
		const unsigned p = division_part(&d, v, true);
		const size_t slot = x.place[p]++ % LINE_WORDS;
		x.word[p][slot] = v;
		if (slot == LINE_WORDS - 1)
			write_line(s, &x, p, LINE_WORDS);
	}
	for (unsigned p = 0; p < d.parts; p++) {
		write_line(s, &x, p, x.place[p] % LINE_WORDS);
		misfits += size_max(x.place[p], x.end[p]) - x.end[p];
	}
	streaming_store_fence();
	s->misfits += misfits;
}

static void word_count(void *arg, unsigned worker)
{
	word_sorter *s = arg;
	(void)worker;
	for (unsigned i; (i = atomic_fetch_add(&s->next, 1)) < s->stretches;)
		if (s->division.digits)
			WITH_WINDOW(s->as, count_stretch, s, i, true);
		else
			WITH_WINDOW(s->as, count_stretch, s, i, false);
}

static void word_move(void *arg, unsigned worker)
{
	word_sorter *s = arg;
	(void)worker;
	for (unsigned i; (i = atomic_fetch_add(&s->next, 1)) < s->stretches;)
		if (s->division.digits)
			WITH_WINDOW(s->as, move_stretch_by_lines, s, i);
		else
			WITH_WINDOW(s->as, move_stretch, s, i);
}

/* Take a part, or wait until the stack has one. Return false when all numbers are sorted. */
static bool part_stack_take(part_stack *k, stack_part *p)
{
	while (k->left > 0) {
		spin_lock(&k->busy);
		const bool any = k->parts > 0;
		if (any)
			*p = k->part[--k->parts];
		spin_unlock(&k->busy);
		if (any)
			return true;
		(void)sched_yield();
	}
	return false;
}

/* Sort n numbers of the output, and turn them into records. */
static void sort_leaf(word_sorter *s, uint64_t *tmp, size_t at, size_t n)
{
	uint64_t *a = s->out + at;
	u64_sort(a, tmp, n);
	if (s->l->fields)
		key_leads_raw(&s->l->number[0], a, n);
	else
		for (size_t i = 0; i < n; i++)
			a[i] = htobe64(a[i]);
	s->stack.left -= n;
}

static void word_sort_parts(void *arg, unsigned worker)
{
	word_sorter *s = arg;
	part_stack *k = &s->stack;
	uint64_t *tmp = s->tmp + (size_t)worker * U64_CACHED;
	for (stack_part p; part_stack_take(k, &p);) {
		while (p.n > k->leaf && p.splits < SPLITS_MOST) {
			const size_t below = u64_split(s->out + p.at, p.n);
			if (below == 0)
				break;
			p.splits++;
			if (below > k->leaf) {
				spin_lock(&k->busy);
				k->part[k->parts++] = (stack_part){ p.at, below, p.splits };
				spin_unlock(&k->busy);
			} else {
				sort_leaf(s, tmp, p.at, below);
			}
			p.at += below;
			p.n -= below;
		}
		sort_leaf(s, tmp, p.at, p.n);
	}
}

/* Choose at most `parts` digits. Return whether they divide the k sorted numbers of the sample
 * evenly: no digit has more than EXCESS times its share. */
static bool find_digits(word_sorter *s, const uint64_t *sample, size_t k, unsigned parts)
{
	enum { EXCESS = 4 };
	const uint64_t range = sample[k - 1] - sample[0];
	s->division.least = sample[0];
	for (s->division.shift = 0; range >> s->division.shift >= parts; s->division.shift++)
		;
	s->division.parts = (unsigned)(range >> s->division.shift) + 1;
	const size_t most = k / s->division.parts * EXCESS;
	for (size_t i = 0; i + most < k; i++)
		if (division_part(&s->division, sample[i], true) ==
		    division_part(&s->division, sample[i + most], true))
			return false;
	return true;
}

/* Choose the parts from a sample of the whole input. digit: numbers per digit. */
static void find_parts(word_sorter *s, uint64_t *sample, uint64_t digit)
{
	const size_t k = size_min(s->n / SAMPLED, SAMPLE_MOST);
	_Static_assert(U64_CACHED >= 2 * SAMPLE_MOST, "the sample, and room to sort it");
	for (size_t i = 0; i < k; i++)
		sample[i] = read_word(&s->l->number[0],
				      s->in + (s->n / k * i + s->n % k * i / k) * WORD, s->as);
	u64_sort(sample, sample + k, k);
	const unsigned digits = (unsigned)u64_min(s->n / digit, DIGITS_MOST);
	s->division.digits = digits > s->threads && find_digits(s, sample, k, digits);
	if (s->division.digits)
		return;
	s->division.parts = (unsigned)size_min(size_min(s->threads, PIVOTS_MOST), k + 1);
	for (unsigned p = 1; p < s->division.parts; p++) {
		const uint64_t v = sample[k * p / s->division.parts];
		s->division.pivot[p] =
			v + (v == sample[0] && v < UINT64_MAX); /* the first part is not empty */
	}
}

/* Turn counts into places: part by part, and in each part stretch by stretch. Put each part that
 * has numbers on the stack. */
static void place_parts(word_sorter *s)
{
	size_t at = 0;
	for (unsigned p = 0; p < s->division.parts; p++) {
		const size_t start = at;
		for (unsigned i = 0; i < s->stretches; i++) {
			const size_t n = s->place[i][p];
			s->place[i][p] = at;
			at += n;
		}
		if (at > start)
			s->stack.part[s->stack.parts++] = (stack_part){ start, at - start, 0 };
	}
}

static void share_stretches(word_sorter *s, pool_work *work)
{
	s->next = 0;
	pool_run(s->threads, work, s);
}

/* -------------------------------------------------------------- equal keys of different numbers */

/* Return the first place in the sorted output whose number is above v, or not below it. */
static size_t word_place(const word_sorter *s, uint64_t v, bool above)
{
	size_t low = 0, high = s->n;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const uint64_t x =
			key_lead_distinct(&s->l->number[0], (const unsigned char *)&s->out[middle]);
		if (x < v || (above && x == v))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static equal_range word_equal(const word_sorter *s, uint64_t least, uint64_t most)
{
	const equal_range r = { least, most, word_place(s, least, false),
				word_place(s, most, true) };
	return r.at < r.end && s->out[r.at] != s->out[r.end - 1] ? r : (equal_range){ 1, 0, 0, 0 };
}

/* Count the numbers of each range in a stretch, or copy them to their places. */
static inline __attribute__((always_inline)) void equal_stretch(word_sorter *s, unsigned i,
								bool copy)
{
	const key_lead lead = s->l->number[0];
	size_t *place = s->place[i];
	for (size_t at = stretch_begin(s, i), end = stretch_begin(s, i + 1); at < end; at++) {
		const uint64_t v = key_lead_distinct(&lead, s->in + at * WORD);
		for (unsigned k = 0; k < EQUAL_RANGES; k++) {
			if (v < s->equal[k].least || v > s->equal[k].most)
				continue;
			if (copy && place[k] == s->equal[k].end)
				s->misfits++;
			else if (copy)
				memcpy(&s->out[place[k]++], s->in + at * WORD, WORD);
			else
				place[k]++;
		}
	}
}

static void word_count_equal(void *arg, unsigned worker)
{
	word_sorter *s = arg;
	(void)worker;
	for (unsigned i; (i = atomic_fetch_add(&s->next, 1)) < s->stretches;)
		equal_stretch(s, i, false);
}

static void word_copy_equal(void *arg, unsigned worker)
{
	word_sorter *s = arg;
	(void)worker;
	for (unsigned i; (i = atomic_fetch_add(&s->next, 1)) < s->stretches;)
		equal_stretch(s, i, true);
}

/* Put records with equal keys in the order of the input. */
static void word_settle_equal(word_sorter *s)
{
	const uint64_t turn = s->l->number[0].turn, greatest = ~turn - turn;
	const uint64_t lower_zero = (UINT64_MAX >> 1) - turn;
	s->equal[0] = word_equal(s, lower_zero, lower_zero + 1);
	s->equal[1] = word_equal(s, greatest + 1, UINT64_MAX);
	if (s->equal[0].end + s->equal[1].end == 0)
		return;
	memset(s->place, 0, s->stretches * sizeof *s->place);
	share_stretches(s, word_count_equal);
	for (unsigned k = 0; k < EQUAL_RANGES; k++) {
		size_t at = s->equal[k].at;
		for (unsigned i = 0; i < s->stretches; i++) {
			const size_t n = s->place[i][k];
			s->place[i][k] = at;
			at += n;
		}
		s->misfits += at != s->equal[k].end;
	}
	if (s->misfits == 0)
		share_stretches(s, word_copy_equal);
}

status word_sort(const bucket_sort_task *t)
{
	mem *m = t->m;
	word_sorter s = { .l = &t->in->lay,
			  .as = key_window_at(&t->in->lay, 0, WORD).of,
			  .in = t->in->base,
			  .out = (uint64_t *)(void *)t->out,
			  .n = t->n,
			  .threads = t->threads,
			  .streaming = t->n >= t->sizes->streaming_bytes / WORD,
			  .stretches = t->threads * STRETCHES_A_THREAD,
			  .stack = { .busy = ATOMIC_FLAG_INIT, .left = t->n } };
	s.stack.leaf = t->n / (t->threads * (size_t)LEAVES_A_THREAD);
	s.stack.leaf = size_min(size_max(s.stack.leaf, U64_CACHED), LEAF_MOST);
	s.stack.part = mem_array(m, t->n / s.stack.leaf + size_max(t->threads, DIGITS_MOST),
				 sizeof *s.stack.part, "parts", t->e);
	s.tmp = mem_array(m, (size_t)t->threads * U64_CACHED, sizeof *s.tmp, "numbers", t->e);
	s.place = mem_array(m, s.stretches, sizeof *s.place, "places", t->e);
	status rc = s.stack.part && s.tmp && s.place ? ST_OK : ST_RESOURCE;
	if (rc == ST_OK) {
		find_parts(&s, s.tmp, t->sizes->demand.bucket);
		share_stretches(&s, word_count);
		place_parts(&s);
		share_stretches(&s, word_move);
		rc = gather_misfits(s.misfits, t->e);
	}
	if (rc == ST_OK)
		share_stretches(&s, word_sort_parts);
	if (rc == ST_OK && s.l->number[0].merge) {
		word_settle_equal(&s);
		rc = gather_misfits(s.misfits, t->e);
	}
	mem_free(m, s.place);
	mem_free(m, s.tmp);
	mem_free(m, s.stack.part);
	return rc;
}
