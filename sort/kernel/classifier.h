/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From keys to buckets, order kept: a map made from a sample of the keys, and the number that
 * stands for a record within its bucket. Pure.
 *
 * The sample tells how many bytes all keys share, and the range of the 8 bytes behind them (the
 * window). The distance from the range's beginning, seen as a floating-point number, falls into one
 * of some thousand cells, fine near the beginning and coarser away from it; neighbouring cells make
 * a bucket, so that each holds about the same share of the sample. Keys outside the range, which
 * the sample did not see, go to a bucket at either end. A key that fills much of the sample by
 * itself has a bucket of its own, and what else is in its cell one below and one above that. */
#ifndef HETSORT_KERNEL_CLASSIFIER_H
#define HETSORT_KERNEL_CLASSIFIER_H

#include "record.h"

enum {
	BUCKETS_MAX = 8192,
	CELL_BITS_MAX = 12,
	CELLS_MAX = 64 << CELL_BITS_MAX,
	HEAVY_MAX = 127,
	HEAVY_CELL = 0x8000, /* a cell with a heavy key: it has this bucket and the next two */
	HEAVY_ITSELF = 255,
};

typedef struct classifier {
	const unsigned char *common; /* a key that begins with the shared bytes */
	uint64_t head_value;         /* the first of them, as a window */
	key_window head, body;
	layout lay;
	uint32_t shared_bytes;
	uint64_t base, top; /* the range in the window */
	uint64_t pos_mask;
	unsigned norm; /* shifts the range's top bit to the top of a number */
	unsigned cell_shift;
	uint32_t buckets;
	bool exact;    /* numbers in the range order their records: nothing else of a key is left */
	bool constant; /* the sample is one key */
	uint16_t *of_cell;
	const unsigned char *heavy[HEAVY_MAX];
	uint32_t n_heavy;
	/* Of the bucket below a heavy key 1 + its index, of its own HEAVY_ITSELF; else 0. */
	uint8_t beside[BUCKETS_MAX];
} classifier;

/* classifier_make - a map to at most `buckets` (3..BUCKETS_MAX) buckets.
 * sample   n >= 1 records; window and position are read from them
 * pos_bits that a position takes in a number
 * of_cell  room for CELLS_MAX; count  the same, scratch. Records have at least KEY_WINDOW_BYTES. */
void classifier_make(classifier *m, const layout *l, const unsigned char *const *sample, size_t n,
		     unsigned pos_bits, uint32_t buckets, uint16_t *of_cell, uint32_t *count);

/* classifier_outside - for a key that does not share the common bytes: below 0, above 0, or 0. */
int classifier_outside(const classifier *m, const unsigned char *rec);

/* classifier_beside - which of the three buckets of a heavy key's cell. */
uint32_t classifier_beside(const classifier *m, const unsigned char *rec, uint32_t bucket);

/* The cell at distance x from the beginning: its exponent and leading bits. Conversion rounds, and
 * never changes the order. */
static inline size_t classifier_cell(const classifier *m, uint64_t x)
{
	const double one = 1, d = (double)(int64_t)(x >> 1) + one;
	uint64_t bits, bits_of_one;
	memcpy(&bits, &d, sizeof bits);
	memcpy(&bits_of_one, &one, sizeof bits_of_one);
	return (size_t)((bits - bits_of_one) >> m->cell_shift);
}

/* classifier_bucket - the bucket of the record at position pos, and its number: the upper bits of
 * its window above the position. Outside the range, the position alone. */
static inline uint32_t classifier_bucket(const classifier *m, const unsigned char *rec,
					 uint64_t pos, uint64_t *number)
{
	const uint64_t w = key_window_read(&m->body, rec);
	int side = 0;
	if (m->shared_bytes)
		side = classifier_outside(m, rec);
	if (side == 0 && (w < m->base || w > m->top))
		side = w < m->base ? -1 : 1;
	*number = pos;
	if (__builtin_expect(side != 0, 0))
		return side < 0 ? 0 : m->buckets - 1;
	const uint64_t x = w - m->base;
	*number |= x << m->norm & ~m->pos_mask;
	const uint32_t b = m->of_cell[classifier_cell(m, x)];
	if (__builtin_expect(b & HEAVY_CELL, 0))
		return classifier_beside(m, rec, b & ~(uint32_t)HEAVY_CELL);
	return b;
}

/* classifier_exact - whether the order of its numbers is all there is to the order of bucket b. */
static inline bool classifier_exact(const classifier *m, uint32_t b)
{
	return b > 0 && b < m->buckets - 1 && (m->exact || m->beside[b] == HEAVY_ITSELF);
}

#endif
