/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorting numbers to parts of the output.
 *
 * The input is cut into stretches, and the values of numbers into ranges. A part of the output has
 * the numbers of one range. Threads count the numbers of each stretch for each part, and then move
 * them there. Each part is sorted in place by quicksort. Its numbers are converted back to records
 * while they are in the cache.
 *
 * If a sample is spread evenly, the part of a number is a digit: the upper bits of its distance
 * from the least number. There are up to 256 digits, which saves passes of quicksort over memory.
 * Numbers are moved some cache lines at a time, because single writes to 256 places are slow. If
 * the sample is not spread evenly, there is one part per thread, and pivots of the sample separate
 * the parts. Some numbers at a time are partitioned by the pivots in the cache.
 *
 * The input is read twice, so a number may have changed since it was counted. A number that does
 * not fit into its part is not written, and the sort fails.
 *
 * Threads may differ in speed, and parts may differ in size if many keys are equal. Therefore there
 * are many more stretches than threads. A thread that splits a part puts one half on a stack for
 * idle threads. */
#include "word_parts.h"
#include "u64_sort.h"

enum {
	LINE_WORDS = 4 * STREAMING_LINE / WORD,
	LEAVES_A_THREAD = 32,
	LEAF_MOST = 1 << 17, /* numbers that one thread sorts: 1 MB */
	SPLITS_MOST = 64     /* of a part, before it is sorted by one thread */
};

void word_share(word_sorter *s, pool_work *work, void *arg)
{
	s->next = 0;
	pool_run(s->t->threads, work, arg);
}

/* ------------------------------------------------------------------------------ count and move */

static inline unsigned division_digit(const division *d, uint64_t v)
{
	return (unsigned)u64_min((v > d->least ? v - d->least : 0) >> d->shift, d->parts - 1);
}

static inline __attribute__((always_inline)) void count_digits(const word_sorter *s, unsigned i,
							       window_kind as)
{
	const key_lead lead = s->l->number[0];
	const division d = s->division; /* copies that the writes here cannot alias */
	const unsigned char *in = s->in;
	size_t *count = s->place[i];
	for (size_t at = stretch_begin(s, i), end = stretch_end(s, i); at < end; at++)
		count[division_digit(&d, word_read(&lead, in + at * WORD, as))]++;
}

/* Return the end of the place for numbers of a stretch in a part. */
static size_t place_end(const word_sorter *s, unsigned stretch, unsigned part)
{
	if (stretch + 1 < s->stretches)
		return s->place[stretch + 1][part];
	return part + 1 < s->division.parts ? s->place[0][part + 1] : s->n;
}

/* A line, of some cache lines, for the next numbers of each digit. Places are counted from the
 * start of the line in which the output begins. */
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
		streaming_store_lines(to, x->word[p], sizeof x->word[p]);
	else
		memcpy(to, x->word[p] + used - n, n * WORD);
}

/* Move the numbers of a stretch to their digits, line by line. */
static inline __attribute__((always_inline)) void move_stretch(word_sorter *s, unsigned i,
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
	for (size_t at = stretch_begin(s, i), end = stretch_end(s, i); at < end; at++) {
		const uint64_t v = word_read(&lead, in + at * WORD, as);
		const unsigned p = division_digit(&d, v);
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

/* Some numbers of a stretch, to count or to move. */
typedef struct some_words {
	const word_sorter *s;
	const u64_set *set;
	size_t place[PIVOTS_MOST]; /* the next one of each part, or the count */
	size_t end[PIVOTS_MOST];
	bool count;
	size_t misfits;
} some_words;

/* Partition n numbers of the parts [from, to), and count them or copy them to their places. */
static void words_to_parts(some_words *w, uint64_t *a, size_t n, unsigned from, unsigned to)
{
	if (n == 0)
		return;
	if (to - from > 1) {
		const unsigned middle = from + (to - from) / 2;
		const size_t below = w->set->partition(a, n, w->s->division.pivot[middle]);
		words_to_parts(w, a, below, from, middle);
		words_to_parts(w, a + below, n - below, middle, to);
		return;
	}
	const size_t fit = w->count ? n : size_min(n, w->end[from] - w->place[from]);
	if (!w->count)
		memcpy(w->s->out + w->place[from], a, fit * WORD);
	w->place[from] += fit;
	w->misfits += n - fit;
}

static inline __attribute__((always_inline)) void read_stretch(const word_sorter *s, unsigned i,
							       some_words *w, window_kind as)
{
	enum { SOME = 4096 };
	const key_lead lead = s->l->number[0];
	uint64_t some[SOME];
	for (size_t at = stretch_begin(s, i), end = stretch_end(s, i), n; at < end; at += n) {
		n = size_min(SOME, end - at);
		for (size_t k = 0; k < n; k++)
			some[k] = word_read(&lead, s->in + (at + k) * WORD, as);
		words_to_parts(w, some, n, 0, s->division.parts);
	}
}

/* Count the numbers of a stretch for each part between pivots, or move them there. */
static void divide_stretch(word_sorter *s, unsigned i, bool count)
{
	some_words w = { .s = s, .set = u64_set_at(0), .count = count };
	for (unsigned p = 0; p < s->division.parts && !count; p++) {
		w.place[p] = s->place[i][p];
		w.end[p] = place_end(s, i, p);
	}
	WITH_WINDOW(s->as, read_stretch, s, i, &w);
	if (count)
		memcpy(s->place[i], w.place, sizeof w.place);
	s->misfits += w.misfits;
}

static void word_count(void *arg, unsigned worker)
{
	word_sorter *s = arg;
	(void)worker;
	for (unsigned i; (i = atomic_fetch_add(&s->next, 1)) < s->stretches;)
		if (s->division.digits)
			WITH_WINDOW(s->as, count_digits, s, i);
		else
			divide_stretch(s, i, true);
}

static void word_move(void *arg, unsigned worker)
{
	word_sorter *s = arg;
	(void)worker;
	for (unsigned i; (i = atomic_fetch_add(&s->next, 1)) < s->stretches;)
		if (s->division.digits)
			WITH_WINDOW(s->as, move_stretch, s, i);
		else
			divide_stretch(s, i, false);
}

/* ------------------------------------------------------------------------------- sort the parts */

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
	key_words_raw(s->l, a, n);
	s->stack.left -= n;
}

static void word_sort_leaves(void *arg, unsigned worker)
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

/* ----------------------------------------------------------------------------- choose the parts */

/* Choose at most `most` digits. Return whether they divide the k sorted numbers of the sample
 * evenly: no digit has more than EXCESS times its share. */
static bool find_digits(word_sorter *s, const uint64_t *sample, size_t k, size_t most)
{
	enum { EXCESS = 4 };
	division *d = &s->division;
	const uint64_t range = sample[k - 1] - sample[0];
	d->least = sample[0];
	for (d->shift = 0; range >> d->shift >= most; d->shift++)
		;
	d->parts = (unsigned)(range >> d->shift) + 1;
	const size_t much = k / d->parts * EXCESS;
	for (size_t i = 0; i + much < k; i++)
		if (division_digit(d, sample[i]) == division_digit(d, sample[i + much]))
			return false;
	return true;
}

static void find_parts(word_sorter *s, const uint64_t *sample, size_t k)
{
	division *d = &s->division;
	const unsigned threads = s->t->threads;
	const size_t digits = u64_min(s->n / s->t->sizes->demand.bucket, DIGITS_MOST);
	d->digits = digits > threads && k > 0 && find_digits(s, sample, k, digits);
	if (d->digits)
		return;
	d->parts = (unsigned)u64_min(u64_max(threads, 2), PIVOTS_MOST);
	for (unsigned p = 1; p < d->parts; p++) {
		const uint64_t v = k > 0 ? sample[k * p / d->parts] : 0;
		d->pivot[p] =
			v + (v == sample[0] && v < UINT64_MAX); /* the first part is not empty */
	}
}

size_t word_places(word_sorter *s, unsigned part, size_t at)
{
	for (unsigned i = 0; i < s->stretches; i++) {
		const size_t n = s->place[i][part];
		s->place[i][part] = at;
		at += n;
	}
	return at;
}

/* Turn counts into places, part by part. Put each part that has numbers on the stack. */
static void place_parts(word_sorter *s)
{
	for (size_t at = 0, end, p = 0; p < s->division.parts; p++, at = end) {
		end = word_places(s, (unsigned)p, at);
		if (end > at)
			s->stack.part[s->stack.parts++] = (stack_part){ at, end - at, 0 };
	}
}

status word_sort_parts(word_sorter *s, const uint64_t *sample, size_t k)
{
	const bucket_sort_task *t = s->t;
	const size_t leaf = s->n / (t->threads * (size_t)LEAVES_A_THREAD);
	s->stack.leaf = size_min(size_max(leaf, U64_CACHED), LEAF_MOST);
	s->stack.left = s->n;
	find_parts(s, sample, k);
	memset(s->place, 0, s->stretches * sizeof *s->place);
	word_share(s, word_count, s);
	place_parts(s);
	word_share(s, word_move, s);
	const status rc = gather_misfits(s->misfits, t->e);
	if (rc == ST_OK)
		word_share(s, word_sort_leaves, s);
	return rc;
}
