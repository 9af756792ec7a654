/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of a sort of records of 8 bytes as numbers, for word_sort.c. */
#ifndef HETSORT_KERNEL_WORD_PARTS_H
#define HETSORT_KERNEL_WORD_PARTS_H

#include "bucket_sort.h"
#include "base/arith.h"
#include "base/pool.h"
#include "gather.h"

#include <stdatomic.h>

enum { WORD = sizeof(uint64_t), PIVOTS_MOST = 64, DIGITS_MOST = 256 };

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
	const bucket_sort_task *t;
	const layout *l;
	window_kind as; /* how a number is read */
	const unsigned char *in;
	size_t whole;       /* numbers of the input */
	const size_t *rest; /* how many of each stretch are sorted, its first ones; NULL: all */
	uint64_t *out;
	size_t n; /* numbers to be sorted */
	unsigned stretches;
	bool streaming; /* the output is written past the cache */
	division division;
	size_t (*place)[DIGITS_MOST]; /* per stretch and part: the count, then the first place */
	uint64_t *tmp;                /* U64_CACHED per thread */
	part_stack stack;
	equal_range equal[EQUAL_RANGES];
	_Atomic unsigned next;
	_Atomic size_t misfits; /* numbers that did not fit into their parts */
} word_sorter;

/* Read a number; `as` is a constant in loops. NaNs stay different, and so do -0 and +0. */
static inline __attribute__((always_inline)) uint64_t
word_read(const key_lead *lead, const unsigned char *rec, window_kind as)
{
	uint64_t v;
	if (as == WINDOW_TURNED)
		return key_lead_distinct(lead, rec);
	if (as == WINDOW_LEAD)
		return key_lead_flipped(lead, rec);
	memcpy(&v, rec, sizeof v);
	return be64toh(v);
}

static inline uint64_t word_at(const word_sorter *s, const uint64_t *record)
{
	return word_read(&s->l->number[0], (const unsigned char *)record, s->as);
}

static inline size_t stretch_begin(const word_sorter *s, unsigned i)
{
	return s->whole / s->stretches * i + size_min(s->whole % s->stretches, i);
}

static inline size_t stretch_end(const word_sorter *s, unsigned i)
{
	return s->rest ? stretch_begin(s, i) + s->rest[i] : stretch_begin(s, i + 1);
}

/* word_first - return the first of the sorted records [low, high) whose number is not below v, or
 * `high`. */
static inline size_t word_first(const word_sorter *s, const uint64_t *sorted, size_t low,
				size_t high, uint64_t v)
{
	lower_bound b = { .lo = low, .hi = high };
	while (lower_bound_open(&b))
		lower_bound_step(&b, word_at(s, &sorted[b.mid]) < v);
	return b.lo;
}

/* word_places - turn the counts of a part in all stretches into places from `at` on. Return the
 * place after them. */
size_t word_places(word_sorter *s, unsigned part, size_t at);

/* word_share - run `work` on all threads; s->next counts from 0. */
void word_share(word_sorter *s, pool_work *work, void *arg);

/* word_sort_parts - sort the numbers of all stretches to the output. sample: k of them, sorted. */
status word_sort_parts(word_sorter *s, const uint64_t *sample, size_t k);

/* word_sort_frequent - do the same, but count the records of frequent keys, if there are enough. */
status word_sort_frequent(word_sorter *s, uint64_t *sample, size_t k);

#endif
