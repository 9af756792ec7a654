/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The input is cut into stretches. Threads count the records of each stretch that belong to each
 * part of the output, one part a thread, and then move them there as numbers. Then each part is
 * sorted by quicksort where it lies, and its numbers become records again while they are in the
 * cache.
 *
 * Threads may differ in speed, and parts in size if many keys are equal. So there are many more
 * stretches than threads, and each thread that has split a part leaves one half to a thread that
 * has nothing to do. */
#include "bucket_sort.h"
#include "base/minmax.h"
#include "base/pool.h"
#include "u64_sort.h"

#include <sched.h>
#include <stdatomic.h>

enum {
	WORD = sizeof(uint64_t),
	PARTS_MOST = 64,
	SAMPLE_OF_PART = 512,
	STRETCHES_A_THREAD = 16,
	LEAVES_A_THREAD = 32,
	LEAF_MOST = 1 << 17, /* numbers that one thread sorts: 1 MB */
	SPLITS_MOST = 64     /* of a part */
};

/* Numbers of the output that are still to be sorted. */
typedef struct stack_part {
	size_t at, n;
	unsigned splits; /* so far */
} stack_part;

/* Parts of more than `leaf` numbers, which do not overlap; so there is room for all. */
typedef struct part_stack {
	atomic_flag busy;
	stack_part *part;
	size_t parts, leaf;
	_Atomic size_t left; /* numbers that are not sorted yet, in the stack or not */
} part_stack;

typedef struct word_sorter {
	const layout *l;
	const unsigned char *in;
	uint64_t *out;
	size_t n;
	unsigned parts, stretches;
	uint64_t pivot[PARTS_MOST];  /* the least value of each part, except the first */
	size_t (*place)[PARTS_MOST]; /* per stretch: the counts of its parts, then their places */
	uint64_t *tmp;               /* U64_CACHED per thread */
	part_stack stack;
	_Atomic unsigned next;
} word_sorter;

bool word_sort_fits(const layout *l, const unsigned char *out)
{
	return l->record_bytes == WORD && l->key_bytes == WORD &&
	       (!l->fields || l->number[0].bytes == WORD) && (uintptr_t)out % WORD == 0 &&
	       u64_sort_has_large();
}

static inline uint64_t read_word(const key_lead *lead, bool plain, const unsigned char *rec)
{
	uint64_t v;
	if (!plain)
		return key_lead_read(lead, rec);
	memcpy(&v, rec, sizeof v);
	return be64toh(v);
}

static inline unsigned part_of(const uint64_t *pivot, unsigned parts, uint64_t v)
{
	unsigned p = 0;
	for (unsigned i = 1; i < parts; i++)
		p += v >= pivot[i];
	return p;
}

static size_t stretch_begin(const word_sorter *s, unsigned i)
{
	return s->n / s->stretches * i + size_min(s->n % s->stretches, i);
}

static inline __attribute__((always_inline)) void count_stretch(const word_sorter *s, unsigned i,
								bool plain)
{
	const key_lead lead = s->l->number[0];
	const unsigned parts = s->parts;
	size_t *count = s->place[i];
	for (size_t at = stretch_begin(s, i), end = stretch_begin(s, i + 1); at < end; at++)
		count[part_of(s->pivot, parts, read_word(&lead, plain, s->in + at * WORD))]++;
}

static inline __attribute__((always_inline)) void move_stretch(const word_sorter *s, unsigned i,
							       bool plain)
{
	const key_lead lead = s->l->number[0];
	const unsigned parts = s->parts;
	uint64_t *out = s->out, pivot[PARTS_MOST];
	size_t place[PARTS_MOST];
	memcpy(pivot, s->pivot, sizeof pivot);
	memcpy(place, s->place[i], sizeof place);
	for (size_t at = stretch_begin(s, i), end = stretch_begin(s, i + 1); at < end; at++) {
		const uint64_t v = read_word(&lead, plain, s->in + at * WORD);
		out[place[part_of(pivot, parts, v)]++] = v;
	}
}

static void count(void *arg, unsigned worker)
{
	word_sorter *s = arg;
	(void)worker;
	for (unsigned i; (i = atomic_fetch_add(&s->next, 1)) < s->stretches;)
		if (s->l->fields)
			count_stretch(s, i, false);
		else
			count_stretch(s, i, true);
}

static void move(void *arg, unsigned worker)
{
	word_sorter *s = arg;
	(void)worker;
	for (unsigned i; (i = atomic_fetch_add(&s->next, 1)) < s->stretches;)
		if (s->l->fields)
			move_stretch(s, i, false);
		else
			move_stretch(s, i, true);
}

static void lock(part_stack *k)
{
	while (atomic_flag_test_and_set_explicit(&k->busy, memory_order_acquire))
		(void)sched_yield();
}

static void unlock(part_stack *k)
{
	atomic_flag_clear_explicit(&k->busy, memory_order_release);
}

static void put_part(part_stack *k, stack_part p)
{
	lock(k);
	k->part[k->parts++] = p;
	unlock(k);
}

/* Take a part, or wait until there is one; false: all numbers are sorted. */
static bool take_part(part_stack *k, stack_part *p)
{
	while (k->left > 0) {
		lock(k);
		const bool any = k->parts > 0;
		if (any)
			*p = k->part[--k->parts];
		unlock(k);
		if (any)
			return true;
		(void)sched_yield();
	}
	return false;
}

/* Turn sorted numbers into records. */
static void write_words(word_sorter *s, size_t at, size_t n)
{
	const key_lead lead = s->l->number[0];
	uint64_t *a = s->out + at;
	if (s->l->fields)
		for (size_t i = 0; i < n; i++)
			a[i] = key_lead_raw(&lead, a[i]);
	else
		for (size_t i = 0; i < n; i++)
			a[i] = htobe64(a[i]);
	s->stack.left -= n;
}

static void sort_leaf(word_sorter *s, uint64_t *tmp, size_t at, size_t n)
{
	u64_sort(s->out + at, tmp, n);
	write_words(s, at, n);
}

static void sort(void *arg, unsigned worker)
{
	word_sorter *s = arg;
	part_stack *k = &s->stack;
	uint64_t *tmp = s->tmp + (size_t)worker * U64_CACHED;
	for (stack_part p; take_part(k, &p);) {
		while (p.n > k->leaf && p.splits < SPLITS_MOST) {
			const size_t below = u64_split(s->out + p.at, p.n);
			if (below == 0)
				break;
			p.splits++;
			if (below > k->leaf)
				put_part(k, (stack_part){ p.at, below, p.splits });
			else
				sort_leaf(s, tmp, p.at, below);
			p.at += below;
			p.n -= below;
		}
		sort_leaf(s, tmp, p.at, p.n);
	}
}

_Static_assert(U64_CACHED >= 2 * SAMPLE_OF_PART, "there is room for the sample and for sorting it");

/* Choose the pivots from records of all parts of the input. */
static void find_pivots(word_sorter *s, uint64_t *sample)
{
	const size_t k = (size_t)s->parts * SAMPLE_OF_PART;
	for (size_t i = 0; i < k; i++)
		sample[i] = read_word(&s->l->number[0], !s->l->fields,
				      s->in + (s->n / k * i + s->n % k * i / k) * WORD);
	u64_sort(sample, sample + k, k);
	for (unsigned p = 1; p < s->parts; p++) {
		const uint64_t v = sample[(size_t)p * SAMPLE_OF_PART];
		s->pivot[p] = v + (v == sample[0] && v < UINT64_MAX); /* the first part has some */
	}
}

/* Turn counts into places: part by part, and in each part stretch by stretch. Each part that has
 * numbers is still to be sorted. */
static void find_places(word_sorter *s)
{
	size_t at = 0;
	for (unsigned p = 0; p < s->parts; p++) {
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

static void run(word_sorter *s, pool_work *work)
{
	s->next = 0;
	pool_run(s->parts, work, s);
}

status word_sort(mem *m, const records *in, size_t n, unsigned char *out, unsigned threads, err *e)
{
	word_sorter s = { .l = &in->lay,
			  .in = in->base,
			  .n = n,
			  .stack = { .busy = ATOMIC_FLAG_INIT, .left = n } };
	s.out = (uint64_t *)(void *)out;
	s.parts = (unsigned)u64_min(threads, PARTS_MOST);
	s.stretches = s.parts > 1 ? s.parts * STRETCHES_A_THREAD : 1;
	s.stack.leaf = n / (s.parts * (size_t)LEAVES_A_THREAD);
	s.stack.leaf = size_min(size_max(s.stack.leaf, U64_CACHED), LEAF_MOST);
	s.stack.part = mem_array(m, n / s.stack.leaf + s.parts, sizeof *s.stack.part, "parts", e);
	s.tmp = mem_array(m, (size_t)s.parts * U64_CACHED, sizeof *s.tmp, "numbers", e);
	s.place = mem_array(m, s.stretches, sizeof *s.place, "places", e);
	const status rc = s.stack.part && s.tmp && s.place ? ST_OK : ST_RESOURCE;
	if (rc == ST_OK) {
		find_pivots(&s, s.tmp);
		if (s.parts > 1)
			run(&s, count);
		else
			s.place[0][0] = n;
		find_places(&s);
		run(&s, move);
		run(&s, sort);
	}
	mem_free(m, s.place);
	mem_free(m, s.tmp);
	mem_free(m, s.stack.part);
	return rc;
}
