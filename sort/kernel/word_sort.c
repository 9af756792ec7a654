/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each thread counts the records of a stretch of the input that belong to each part of the output,
 * one part a thread, and then moves them there as numbers; each part is sorted where it lies, and
 * its numbers become records again. */
#include "bucket_sort.h"
#include "base/minmax.h"
#include "base/pool.h"
#include "u64_sort.h"

#include <stdatomic.h>

enum { WORD = sizeof(uint64_t), PARTS_MOST = 64, SAMPLE_OF_PART = 512 };

typedef struct word_sorter {
	const layout *l;
	const unsigned char *in;
	uint64_t *out;
	size_t n;
	unsigned parts;
	uint64_t pivot[PARTS_MOST];   /* the least value of each part, except the first */
	size_t start[PARTS_MOST + 1]; /* of each part */
	size_t (*place)[PARTS_MOST];  /* per stretch: the counts of its parts, then their places */
	uint64_t *tmp;                /* U64_CACHED per thread */
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
	return s->n / s->parts * i + size_min(s->n % s->parts, i);
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

static inline __attribute__((always_inline)) void write_words(const word_sorter *s, unsigned part,
							      bool plain)
{
	const key_lead lead = s->l->number[0];
	for (size_t i = s->start[part]; i < s->start[part + 1]; i++)
		s->out[i] = plain ? htobe64(s->out[i]) : key_lead_raw(&lead, s->out[i]);
}

static void count(void *arg, unsigned worker)
{
	word_sorter *s = arg;
	(void)worker;
	for (unsigned i; (i = atomic_fetch_add(&s->next, 1)) < s->parts;)
		if (s->l->fields)
			count_stretch(s, i, false);
		else
			count_stretch(s, i, true);
}

static void move(void *arg, unsigned worker)
{
	word_sorter *s = arg;
	(void)worker;
	for (unsigned i; (i = atomic_fetch_add(&s->next, 1)) < s->parts;)
		if (s->l->fields)
			move_stretch(s, i, false);
		else
			move_stretch(s, i, true);
}

static void sort(void *arg, unsigned worker)
{
	word_sorter *s = arg;
	for (unsigned i; (i = atomic_fetch_add(&s->next, 1)) < s->parts;) {
		u64_sort_large(s->out + s->start[i], s->tmp + (size_t)worker * U64_CACHED,
			       s->start[i + 1] - s->start[i]);
		if (s->l->fields)
			write_words(s, i, false);
		else
			write_words(s, i, true);
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
	for (unsigned p = 1; p < s->parts; p++)
		s->pivot[p] = sample[(size_t)p * SAMPLE_OF_PART];
}

/* Turn counts into places: part by part, and in each part stretch by stretch. */
static void find_places(word_sorter *s)
{
	size_t at = 0;
	for (unsigned p = 0; p < s->parts; p++) {
		s->start[p] = at;
		for (unsigned i = 0; i < s->parts; i++) {
			const size_t n = s->place[i][p];
			s->place[i][p] = at;
			at += n;
		}
	}
	s->start[s->parts] = at;
}

static void run(word_sorter *s, pool_work *work)
{
	s->next = 0;
	pool_run(s->parts, work, s);
}

status word_sort(mem *m, const records *in, size_t n, unsigned char *out, unsigned threads, err *e)
{
	word_sorter s = { .l = &in->lay, .in = in->base, .n = n };
	s.out = (uint64_t *)(void *)out;
	s.parts = (unsigned)u64_min(threads, PARTS_MOST);
	s.tmp = mem_array(m, (size_t)s.parts * U64_CACHED, sizeof *s.tmp, "numbers", e);
	s.place = mem_array(m, s.parts, sizeof *s.place, "places", e);
	const status rc = s.tmp && s.place ? ST_OK : ST_RESOURCE;
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
	return rc;
}
