/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorting records of 8 bytes whose key is the whole record, as numbers. Frequent ones are counted
 * (word_frequent.c). Others are moved to parts of the output, and sorted there (word_parts.c).
 *
 * If NaN comes last, -0 and +0 are equal keys, and so are all NaNs. They are sorted as different
 * numbers. If there are different ones, they are copied once more, in the order of the input. */
#include "word_parts.h"
#include "u64_sort.h"

enum {
	SAMPLED = 64, /* numbers of the input for each one in the sample */
	SAMPLE_MOST = 8192,
	STRETCHES_A_THREAD = 16
};

bool word_sort_fits(const layout *l, const unsigned char *out)
{
	return l->record_bytes == WORD && l->key_bytes == WORD &&
	       (!l->fields || l->number[0].bytes == WORD) && (uintptr_t)out % WORD == 0 &&
	       u64_sort_has_large();
}

/* -------------------------------------------------------------- equal keys of different numbers */

static equal_range word_equal(const word_sorter *s, uint64_t least, uint64_t most)
{
	const equal_range r = { least, most, word_first(s, s->out, 0, s->n, least),
				most < UINT64_MAX ? word_first(s, s->out, 0, s->n, most + 1)
						  : s->n };
	return r.at < r.end && s->out[r.at] != s->out[r.end - 1] ? r : (equal_range){ 1, 0, 0, 0 };
}

/* Count the numbers of each range in a stretch, or copy them to their places. */
static inline __attribute__((always_inline)) void equal_stretch(word_sorter *s, unsigned i,
								bool copy)
{
	const key_lead lead = s->l->number[0];
	size_t *place = s->place[i];
	for (size_t at = stretch_begin(s, i), end = stretch_end(s, i); at < end; at++) {
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
	word_share(s, word_count_equal, s);
	for (unsigned k = 0; k < EQUAL_RANGES; k++) {
		s->misfits += word_places(s, k, s->equal[k].at) != s->equal[k].end;
	}
	if (s->misfits == 0)
		word_share(s, word_copy_equal, s);
}

/* ------------------------------------------------------------------------------------ all of it */

/* Read k numbers from all parts of the input, and sort them. */
static void find_sample(const word_sorter *s, uint64_t *sample, size_t k)
{
	_Static_assert(U64_CACHED >= 2 * SAMPLE_MOST, "the sample, and room to sort it");
	for (size_t i = 0; i < k; i++)
		sample[i] = word_read(&s->l->number[0],
				      s->in + (s->n / k * i + s->n % k * i / k) * WORD, s->as);
	u64_sort(sample, sample + k, k);
}

status word_sort(const bucket_sort_task *t)
{
	mem *m = t->m;
	word_sorter s = { .t = t,
			  .l = &t->in->lay,
			  .as = key_window_at(&t->in->lay, 0, WORD).of,
			  .in = t->in->base,
			  .whole = t->n,
			  .out = (uint64_t *)(void *)t->out,
			  .n = t->n,
			  .streaming = t->n >= t->sizes->streaming_bytes / WORD,
			  .stretches = t->threads * STRETCHES_A_THREAD,
			  .stack.busy = ATOMIC_FLAG_INIT };
	const size_t k = size_min(t->n / SAMPLED, SAMPLE_MOST);
	s.stack.part = mem_array(m, t->n / U64_CACHED + size_max(t->threads, DIGITS_MOST),
				 sizeof *s.stack.part, "parts", t->e);
	s.tmp = mem_array(m, (size_t)t->threads * U64_CACHED, sizeof *s.tmp, "numbers", t->e);
	s.place = mem_array(m, s.stretches, sizeof *s.place, "places", t->e);
	status rc = s.stack.part && s.tmp && s.place ? ST_OK : ST_RESOURCE;
	if (rc == ST_OK) {
		find_sample(&s, s.tmp, k);
		rc = word_sort_frequent(&s, s.tmp, k);
	}
	if (rc == ST_OK && s.l->number[0].merge) {
		word_settle_equal(&s);
		rc = gather_misfits(s.misfits, t->e);
	}
	mem_free(m, s.place);
	mem_free(m, s.tmp);
	mem_free(m, s.stack.part);
	return rc;
}
