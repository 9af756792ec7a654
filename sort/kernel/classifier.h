/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From keys to buckets, order kept: a map made from a sample of the keys, and the number that
 * stands for a record within its bucket. Pure.
 *
 * The map is a tree of tables. A table looks at 8 bytes of the key (the window) and knows the range
 * that the sample has there. The distance from the range's beginning falls into one of some
 * thousand cells; neighbouring cells make a bucket, so that each holds about the same share of the
 * sample. A cell with much more than that has a table of its own, whose window begins behind the
 * bytes that all keys of the cell share: so the map is fine wherever keys are dense. Keys outside
 * of a table's range, which the sample did not see, go to a bucket at either end of it. A key that
 * fills much of a cell by itself has a bucket of its own, and what else is in its cell one below
 * and one above that. */
#ifndef HETSORT_KERNEL_CLASSIFIER_H
#define HETSORT_KERNEL_CLASSIFIER_H

#include "record.h"

enum {
	BUCKETS_MAX = 8192,
	CELL_BITS_MAX = 12,
	CELLS_MAX = (64 << CELL_BITS_MAX) + (1 << 17), /* of the root, and of all other tables */
	TABLES_MAX = 1024,
	TABLE_DEPTH = 8,
	HEAVY_MAX = 127,
	SAMPLE_MAX = 32768,
	TABLE_CELL = 0x4000, /* a cell with a table of its own: its index */
	HEAVY_CELL = 0x8000, /* a cell with a heavy key: it has this bucket and the next two */
	HEAVY_ITSELF = 255,
};

typedef struct classifier_table {
	key_window window;
	uint64_t base, top; /* the range in the window */
	uint64_t from, to;  /* the same in the window of the table above */
	unsigned norm;      /* shifts the range's top bit to the top of a number */
	unsigned shift;     /* of a distance, or of its floating-point bits in the root */
	uint32_t key_from;  /* where in the key the window begins */
	uint32_t cells;
	uint16_t *of_cell;
	uint16_t below, above; /* buckets of keys outside the range */
	bool exact; /* numbers in the range order their records: nothing else of a key is left */
} classifier_table;

typedef struct classifier {
	classifier_table root;
	layout lay;
	const unsigned char
		*common;     /* a record whose key begins with the bytes before the root's window */
	uint64_t head_value; /* the first of them, as a window */
	key_window head;
	uint64_t pos_mask;
	uint32_t buckets;
	uint32_t n_tables, n_heavy;
	classifier_table *table;
	const unsigned char *heavy[HEAVY_MAX]; /* records with these keys */
	/* Of the bucket below a heavy key 1 + its index, of its own HEAVY_ITSELF; else 0. */
	uint8_t beside[BUCKETS_MAX];
	bool exact[BUCKETS_MAX]; /* the order of the bucket's numbers is that of its records */
} classifier;

/* Room for a map; its content is lost. */
typedef struct classifier_room {
	uint16_t *cells;         /* CELLS_MAX */
	classifier_table *table; /* TABLES_MAX */
} classifier_room;

/* classifier_sample - records from all over `in`, n in all, for a map to that many buckets.
 * Returns how many (SAMPLE_MAX at most), unsorted. */
size_t classifier_sample(const records *in, uint64_t n, uint32_t buckets, entry *sample);

/* classifier_sample_size - as many as a map to that many buckets needs, of n records. */
size_t classifier_sample_size(uint64_t n, uint32_t buckets);

/* classifier_make - a map to at most `buckets` (3..BUCKETS_MAX) buckets.
 * in       the records; each has at least KEY_WINDOW_BYTES
 * sample   n >= 1 of them, sorted by key
 * pos_bits that a position takes in a number */
void classifier_make(classifier *m, const records *in, const entry *sample, size_t n,
		     unsigned pos_bits, uint32_t buckets, const classifier_room *room);

/* classifier_outside - for a key that does not share the common bytes: below 0, above 0, or 0. */
int classifier_outside(const classifier *m, const unsigned char *rec);

/* classifier_deeper - the same as classifier_bucket from a cell on that is no bucket.
 * w, cell  window and cell in the root */
uint32_t classifier_deeper(const classifier *m, const unsigned char *rec, uint64_t pos, uint64_t w,
			   uint32_t cell, uint64_t *number);

/* The root's cell at distance x from the beginning: its exponent and leading bits, so fine near the
 * beginning and coarser away from it. Conversion rounds, and never changes the order. */
static inline size_t classifier_cell(const classifier_table *root, uint64_t x)
{
	const double one = 1, d = (double)(int64_t)(x >> 1) + one;
	uint64_t bits, bits_of_one;
	memcpy(&bits, &d, sizeof bits);
	memcpy(&bits_of_one, &one, sizeof bits_of_one);
	return (size_t)((bits - bits_of_one) >> root->shift);
}

/* classifier_bucket - the bucket of the record at position pos, and its number: the upper bits of
 * its window, from the beginning of the range, above the position. Outside the range, the position
 * alone. of: the kind of the root's window. */
static inline __attribute__((always_inline)) uint32_t
classifier_bucket(const classifier *m, const unsigned char *rec, uint64_t pos, uint64_t *number,
		  window_kind of)
{
	const classifier_table *root = &m->root;
	const uint64_t w = key_window_read_as(of, &m->lay, &root->window, rec);
	int side = 0;
	if (root->key_from)
		side = classifier_outside(m, rec);
	if (side == 0 && (w < root->base || w > root->top))
		side = w < root->base ? -1 : 1;
	*number = pos;
	if (__builtin_expect(side != 0, 0))
		return side < 0 ? root->below : root->above;
	const uint64_t x = w - root->base;
	*number |= x << root->norm & ~m->pos_mask;
	const uint32_t cell = root->of_cell[classifier_cell(root, x)];
	if (__builtin_expect(cell >= TABLE_CELL, 0))
		return classifier_deeper(m, rec, pos, w, cell, number);
	return cell;
}

#endif
