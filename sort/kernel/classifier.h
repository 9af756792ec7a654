/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From keys to buckets, order kept: a map made from a sample of the keys, and the number that
 * stands for a record within its bucket. Pure.
 *
 * A table looks at 8 bytes of the key (the window). Its splitters are about the same number of
 * samples apart, so that it is as fine as keys are dense. Between two of them lies a segment, which
 * is a bucket. Cells of one width from the least to the greatest value of the sample tell where a
 * search begins; all searches take the same number of steps, so nothing depends on a branch. Where
 * keys are spread evenly, borders of cells are splitters, and there is no step at all. Where they
 * cluster, so that a cell would leave many steps, the root's segments are searched for from the
 * beginning, in a tree. Records are looked at in blocks, so that what happens to them afterwards,
 * which a processor cannot foresee, does not keep the next ones from being looked for. A value with
 * much of the sample is a segment of its own: with a table of its own for the 8 bytes that follow
 * in the key; or, where all its samples have one key, three buckets: below that key, the key
 * itself, and above. */
#ifndef HETSORT_KERNEL_CLASSIFIER_H
#define HETSORT_KERNEL_CLASSIFIER_H

#include "record.h"

enum {
	BUCKETS_LEAST = 8,
	BUCKETS_MAX = 8192,
	NODES_MAX = BUCKETS_MAX / 16,
	TABLE_DEPTH = 8,
	SAMPLE_MAX = 32768,
	CLASSIFIER_BLOCK = 128,
	TO_TABLE = 0x4000, /* a segment with a table of its own: its index */
	TO_HEAVY = 0x8000, /* a segment of one key: its index */
};

/* Values from `from` up to where the next segment begins. */
typedef struct classifier_segment {
	uint64_t from;
	uint16_t to;  /* a bucket, or one of the above */
	uint8_t norm; /* shifts the topmost bit of a distance from `from` to the top of a number */
} classifier_segment;

typedef struct classifier_table {
	key_window window;
	uint32_t key_from; /* where in the key the window begins; the bytes before are those */
	const unsigned char *like; /* of this record */
	uint64_t base, range; /* of the sample in the window: the least value, and how much above it
				 cells go */
	unsigned shift;       /* of a distance from base, to its cell */
	uint32_t last_cell;   /* the first one is below base, the last one above top */
	uint32_t reach;       /* so many segments from where a cell begins may hold its values */
	uint16_t *of_cell;    /* the first of them */
	uint32_t segments;
	classifier_segment *segment;
	unsigned levels;      /* of a search tree in place of cells; 0: none */
	const uint64_t *tree; /* as a heap from 1 on: one less than where segments begin */
} classifier_table;

/* A key with much of the sample: `bucket` is below it, the next its own, then above. */
typedef struct classifier_heavy {
	const unsigned char *rec;
	uint32_t bucket;
	uint32_t key_from; /* where the rest of the key begins, */
	bool short_rest;   /* which fits into a window: */
	key_window window; /* this one, */
	uint64_t value;    /* in which the key has this */
} classifier_heavy;

/* What a bucket's numbers and keys are like, so that the two can be compared. */
typedef struct classifier_bucket {
	uint64_t from, limit;      /* values in the window: the least, and how much above it */
	const unsigned char *like; /* keys begin as that of this record does, */
	uint32_t shared;           /* in this number of bytes */
	uint64_t head_value;       /* the value of its first bytes, in the window `head` */
	key_window head, window;
	uint8_t norm; /* numbers have (value - from) << norm above the position */
	bool exact;   /* the numbers have the order of the records */
	bool same;    /* all records have one key, so that it is exact */
} classifier_bucket;

/* classifier_fits - return whether `number`, of bucket b, belongs to record rec at this position.
 */
static inline __attribute__((always_inline)) bool
classifier_fits(const layout *l, const classifier_bucket *b, uint64_t pos_mask, uint64_t number,
		const unsigned char *rec, uint64_t pos, window_kind of)
{
	const uint64_t x = key_window_read_as(of, l, &b->window, rec) - b->from;
	return (x <= b->limit) & (number == (pos | (x << b->norm & ~pos_mask))) &&
	       (b->shared == 0 || key_window_read(l, &b->head, rec) == b->head_value) &&
	       (b->shared <= KEY_WINDOW_BYTES ||
		key_part_compare(l, rec, b->like, KEY_WINDOW_BYTES, b->shared) == 0);
}

typedef struct classifier {
	classifier_table root;
	layout lay;
	uint64_t head_value; /* the first bytes before the root's window, as a window */
	key_window head;
	key_window first; /* of keys with others */
	uint64_t pos_mask;
	uint32_t buckets;
	const classifier_table *table;
	const classifier_heavy *heavy;
	const classifier_bucket *bucket;
} classifier;

/* classifier_sample - records from all over `in`, n in all, for a map to that many buckets.
 * Returns how many (SAMPLE_MAX at most), unsorted. */
size_t classifier_sample(const records *in, uint64_t n, uint32_t buckets, entry *sample);

/* classifier_sample_place - of n places, one in the i-th of `want` equal parts, at random: a fixed
 * distance could meet a pattern. *random: any number at first. */
uint64_t classifier_sample_place(uint64_t n, size_t want, size_t i, uint64_t *random);

/* classifier_sample_size - as many as a map to that many buckets needs, of n records. */
size_t classifier_sample_size(uint64_t n, uint32_t buckets);

/* classifier_make - a map to at most `buckets` (BUCKETS_LEAST..BUCKETS_MAX) buckets.
 * in       records, used as long as the map
 * sample   n >= 1 of them, sorted by key
 * pos_bits that a position takes in a number
 * room     classifier_room_bytes(buckets) at least, aligned as malloc does, used as long as the map
 */
void classifier_make(classifier *m, const records *in, const entry *sample, size_t n,
		     unsigned pos_bits, uint32_t buckets, void *room);

/* classifier_room_bytes - memory for a map to that many buckets. */
size_t classifier_room_bytes(uint32_t buckets);

/* classifier_block - the buckets of n records of `in`, CLASSIFIER_BLOCK at most, and the numbers
 * that stand for them: the upper bits of a record's window, from the beginning of its segment,
 * above the position. Of equal keys, only the position.
 *   at              their positions, under m->pos_mask; NULL: those from `first` on
 *   bucket, number  room for CLASSIFIER_BLOCK, whatever n is; number may be NULL */
void classifier_block(const classifier *m, const records *in, uint64_t first, const uint64_t *at,
		      size_t n, uint16_t *bucket, uint64_t *number);

#endif
