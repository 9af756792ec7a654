/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counting frequent records of 8 bytes. Records that consist only of a key are identical where keys
 * are equal. So the frequent ones are not moved: threads count them, and write copies of one. The
 * other records are copied to the front of their stretches in the output, and sorted from there to
 * an array of their own, because they and the copies take each other's places. The input is read
 * once. */
#include "word_parts.h"

enum {
	SLOTS = 4096,
	KEYS_MOST = SLOTS / 2,
	TIMES_LEAST = 3, /* numbers of the sample that make a key frequent */
	SHARE_LEAST = 4  /* frequent keys are counted if they are this part of the sample */
};

/* A frequent key. */
typedef struct frequent_key {
	uint64_t number, record;
	unsigned slot;
} frequent_key;

/* The copies of a frequent key in the output. Other numbers come before them. */
typedef struct copies {
	size_t at, end; /* of the copies */
	size_t before;  /* copies of smaller keys */
} copies;

/* Frequent keys, in a hash table without chains: a slot has one key. */
typedef struct frequent {
	word_sorter *s;
	size_t n;
	frequent_key key[KEYS_MOST];  /* ascending */
	copies copies[KEYS_MOST + 1]; /* of the keys; the last ones are empty, after all numbers */
	uint64_t record[SLOTS];       /* of the key in a slot */
	uint64_t *count;              /* SLOTS per thread */
	size_t *rest;                 /* other numbers of each stretch */
	uint64_t *sorted;             /* all other numbers */
} frequent;

/* -------------------------------------------------------------------------------------- keys */

static inline unsigned frequent_slot(uint64_t record)
{
	_Static_assert(SLOTS == 1 << 12, "the upper 12 bits");
	return (unsigned)((record ^ record >> 32) * UINT64_C(0x9e3779b97f4a7c15) >> 52);
}

/* Find the frequent keys of k sorted numbers of a sample, but those whose slot is taken, and remove
 * their numbers. Return how many are left; k, if the frequent ones are too few. */
static size_t find_frequent(frequent *f, uint64_t *sample, size_t k)
{
	uint64_t taken[SLOTS / 64] = { 0 };
	size_t times = 0, left = 0, h = 0;
	for (size_t i = 0, end; i < k && f->n < KEYS_MOST; i = end) {
		frequent_key x = { .number = sample[i], .record = sample[i] };
		for (end = i + 1; end < k && sample[end] == sample[i]; end++)
			;
		key_words_raw(f->s->l, &x.record, 1);
		x.slot = frequent_slot(x.record);
		uint64_t *const t = &taken[x.slot / 64], bit = UINT64_C(1) << x.slot % 64;
		if (end - i < TIMES_LEAST || *t & bit)
			continue;
		*t |= bit;
		times += end - i;
		f->key[f->n++] = x;
	}
	if (f->n == 0 || times < k / SHARE_LEAST)
		return k;
	for (size_t i = 0; i < k; i++) {
		while (h < f->n && f->key[h].number < sample[i])
			h++;
		if (h == f->n || f->key[h].number != sample[i])
			sample[left++] = sample[i];
	}
	/* a record of another slot stands for none, because it is never looked for here */
	for (size_t i = 0; i < SLOTS; i++)
		f->record[i] = f->key[0].record;
	for (size_t i = 0; i < f->n; i++)
		f->record[f->key[i].slot] = f->key[i].record;
	return left;
}

/* ----------------------------------------------------------------------------- count and write */

/* Add the frequent ones of n records to the counts of their slots, and copy the others to `rest`,
 * which has room for n. Return how many were copied. */
static size_t frequent_count(const frequent *f, const unsigned char *in, size_t n, uint64_t *count,
			     uint64_t *rest)
{
	size_t left = 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t v;
		memcpy(&v, in + i * sizeof v, sizeof v);
		const unsigned slot = frequent_slot(v), found = f->record[slot] == v;
		count[slot] += found;
		rest[left] = v; /* without a branch, which would be mispredicted */
		left += 1 - found;
	}
	return left;
}

static void count_stretches(void *arg, unsigned worker)
{
	frequent *f = arg;
	word_sorter *s = f->s;
	uint64_t *count = f->count + (size_t)worker * SLOTS;
	for (unsigned i; (i = atomic_fetch_add(&s->next, 1)) < s->stretches;) {
		const size_t at = stretch_begin(s, i);
		f->rest[i] = frequent_count(f, s->in + at * WORD, stretch_end(s, i) - at, count,
					    s->out + at);
	}
}

/* Find the places of all copies in the output, if there are n other numbers. */
static void place_copies(frequent *f, size_t n)
{
	copies x = { 0 };
	for (size_t h = 0; h <= f->n; h++) {
		const bool last = h == f->n;
		const size_t from = x.at - x.before; /* others before this key */
		x.before += x.end - x.at;
		x.at = x.end = x.before +
			       (last ? n : word_first(f->s, f->sorted, from, n, f->key[h].number));
		for (unsigned t = 0; t < f->s->t->threads && !last; t++)
			x.end += f->count[t * (size_t)SLOTS + f->key[h].slot];
		f->copies[h] = x;
	}
	f->s->misfits += x.end != f->s->n;
}

/* Write n copies of a record to `to`. streaming: past the cache. */
static void frequent_write(uint64_t *to, uint64_t record, size_t n, bool streaming)
{
	enum { WORDS = STREAMING_LINE / sizeof(uint64_t) };
	_Alignas(STREAMING_LINE) uint64_t line[WORDS];
	size_t i = 0;
	for (; i < n && (!streaming || (uintptr_t)(to + i) % STREAMING_LINE); i++)
		to[i] = record;
	for (unsigned k = 0; k < WORDS; k++)
		line[k] = record;
	for (; i + WORDS <= n; i += WORDS)
		streaming_store_line(to + i, line);
	for (; i < n; i++)
		to[i] = record;
}

/* Write the copies and the other numbers, piece by piece. */
static void write_pieces(void *arg, unsigned worker)
{
	enum { PIECE = 1 << 15 };
	const frequent *f = arg;
	word_sorter *s = f->s;
	(void)worker;
	for (size_t at; (at = (size_t)PIECE * atomic_fetch_add(&s->next, 1)) < s->n;) {
		const size_t end = size_min(s->n, at + PIECE);
		size_t h = 0;
		while (f->copies[h].end <= at)
			h++;
		for (; at < end; h++) {
			const copies *x = &f->copies[h];
			const size_t others = size_min(x->at, end), same = size_min(x->end, end);
			if (at < others)
				memcpy(&s->out[at], &f->sorted[at - x->before],
				       (others - at) * WORD);
			at = size_max(at, others);
			if (at < same)
				frequent_write(&s->out[at], f->key[h].record, same - at,
					       s->streaming);
			at = size_max(at, same);
		}
	}
	streaming_store_fence();
}

/* Sort with the keys of f. sample: k of the other numbers, sorted. */
static status sort_with(frequent *f, const uint64_t *sample, size_t k)
{
	word_sorter *s = f->s;
	mem *m = s->t->m;
	err *e = s->t->e;
	size_t n = 0;
	f->count = mem_array(m, s->t->threads * (size_t)SLOTS, sizeof *f->count, "counts", e);
	f->rest = mem_array(m, s->stretches, sizeof *f->rest, "counts", e);
	status rc = f->count && f->rest ? ST_OK : ST_RESOURCE;
	if (rc == ST_OK) {
		word_share(s, count_stretches, f);
		for (unsigned i = 0; i < s->stretches; i++)
			n += f->rest[i];
		f->sorted = mem_array(m, n, sizeof *f->sorted, "numbers", e);
		rc = f->sorted ? ST_OK : ST_RESOURCE;
	}
	if (rc == ST_OK && n > 0) {
		word_sorter others = *s;
		others.in = (const unsigned char *)s->out;
		others.rest = f->rest;
		others.out = f->sorted;
		others.n = n;
		rc = word_sort_parts(&others, sample, k);
	}
	if (rc == ST_OK) {
		place_copies(f, n);
		rc = gather_misfits(s->misfits, e);
	}
	if (rc == ST_OK)
		word_share(s, write_pieces, f);
	mem_free(m, f->sorted);
	mem_free(m, f->rest);
	mem_free(m, f->count);
	return rc;
}

status word_sort_frequent(word_sorter *s, uint64_t *sample, size_t k)
{
	frequent *f = mem_array(s->t->m, 1, sizeof *f, "keys", s->t->e);
	if (!f)
		return ST_RESOURCE;
	f->s = s;
	const size_t others = find_frequent(f, sample, k);
	const status rc =
		others == k ? word_sort_parts(s, sample, k) : sort_with(f, sample, others);
	mem_free(s->t->m, f);
	return rc;
}
