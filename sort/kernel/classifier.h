/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A map from keys to buckets, in order. It is made from a sample of the keys. It also makes the
 * number that represents a record in its bucket. Pure.
 *
 * A table uses 8 bytes of the key (the window). Between neighbouring splitters are about equally
 * many samples, so segments are narrow where keys are dense. A segment lies between two splitters,
 * and is a bucket. The range from the least to the greatest sample is divided into cells of one
 * width. The cell of a value gives the segment where its search begins. All searches take the same
 * number of steps, so no branch is mispredicted. If keys are spread evenly, each cell of the root
 * is a segment, and a search takes no steps. If keys cluster, so that cells would leave many steps,
 * the root uses a search tree instead.
 *
 * Records are classified in blocks, so that the unpredictable work on a record does not delay the
 * search for the next one. A value with a large part of the sample is a segment by itself. It has
 * its own table for the next 8 bytes of the key. If all its samples have one key, it has three
 * buckets instead: below that key, the key, and above it. */
#ifndef HETSORT_KERNEL_CLASSIFIER_H
#define HETSORT_KERNEL_CLASSIFIER_H

#include "key.h"

enum {
	BUCKETS_LEAST = 8,
	BUCKETS_MAX = 8192,
	NODES_MAX = BUCKETS_MAX / 8,
	TABLE_DEPTH = 8,
	SAMPLE_MAX = 32768,
	CLASSIFIER_BLOCK = 128,
	REACH_UNROLLED = 8, /* the greatest reach whose search needs no loop */
	TO_TABLE = 0x4000,  /* a segment with its own table: the index of the table */
	TO_HEAVY = 0x8000,  /* a segment of one key: the index of the heavy key */
};

/* Segments of a table, in order, in an array for each member. A search reads only `from`, and the
 * count of the records of a bucket only `to`; these must stay in the first cache. */
typedef struct classifier_segments {
	uint64_t *from; /* the least value of each; it ends where the next begins */
	uint16_t *to;   /* a bucket, or TO_TABLE or TO_HEAVY with an index */
	uint8_t *norm; /* shifts the topmost bit of a distance from `from` to the top of a number */
} classifier_segments;

typedef struct classifier_table {
	key_window window;
	uint32_t key_from;         /* begin of the window in the key, */
	const unsigned char *like; /* which begins like the key of this record */
	uint64_t base, range; /* the least value of the sample in the window, and the extent of the
				 cells above it */
	uint64_t scale;       /* turns a distance from base into a cell */
	unsigned shift;
	uint32_t last_cell; /* the first cell is below base, the last one above the range */
	uint32_t reach;     /* number of segments that may hold the values of a cell */
	uint32_t segments;
	uint16_t *of_cell; /* the first of these segments */
	classifier_segments segment;
	unsigned levels;      /* of a search tree instead of cells; 0: cells */
	const uint64_t *tree; /* a heap from 1 on: the begin of a segment, less 1 */
} classifier_table;

/* classifier_cell - return the cell, from 0 on, of the value at distance x from the base. */
static inline uint64_t classifier_cell(const classifier_table *t, uint64_t x)
{
	return (x >> t->shift) * t->scale >> 32;
}

/* A key with a large part of the sample. `bucket` is below it, the next one is its own, the third
 * one is above it. */
typedef struct classifier_heavy {
	const unsigned char *rec;
	uint32_t bucket;
	uint32_t key_from; /* begin of the rest of the key */
	bool short_rest;   /* the rest fits into a window, */
	key_window window; /* this one, */
	uint64_t value;    /* and has this value */
} classifier_heavy;

/* The properties of a bucket by which its numbers are compared with keys. */
typedef struct classifier_bucket {
	uint64_t from, limit; /* least value in the window, and the greatest distance from it */
	const unsigned char *like; /* keys begin like the key of this record, */
	uint32_t shared;           /* in this number of bytes */
	uint64_t head_value;       /* the value of its first bytes, in the window `head` */
	key_window head, window;
	uint8_t norm; /* numbers have (value - from) << norm above the position */
	bool exact;   /* the numbers have the order of the records */
	bool same;    /* all records have one key; then the bucket is also exact */
} classifier_bucket;

/* classifier_fits - return whether `number` of bucket b belongs to record rec at this position. */
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
	key_window first; /* of keys that do not share them */
	key_window rest;  /* after the root's window */
	bool short_rest;  /* no key bytes are after that */
	uint64_t pos_mask;
	uint32_t buckets;
	const classifier_table *table;
	const classifier_heavy *heavy;
	const classifier_bucket *bucket;
} classifier;

/* classifier_sample - sample the n records of `in`, from all parts, for a map to `buckets` buckets.
 * Return the number of samples (SAMPLE_MAX at most), which are not sorted. */
size_t classifier_sample(const records *in, uint64_t n, uint32_t buckets, entry *sample);

/* classifier_sample_place - return a random place in the i-th of `want` equal parts of n places,
 * because a fixed distance could meet a pattern. *random: any number at first. */
uint64_t classifier_sample_place(uint64_t n, size_t want, size_t i, uint64_t *random);

/* classifier_sample_size - return the number of samples of n records for a map to `buckets`. */
size_t classifier_sample_size(uint64_t n, uint32_t buckets);

/* classifier_make - make a map to at most `buckets` (BUCKETS_LEAST..BUCKETS_MAX) buckets.
 * in       records, used as long as the map
 * sample   n >= 1 of them, sorted by key
 * pos_bits that a position takes in a number
 * room     classifier_room_bytes(buckets) at least, aligned as malloc does, used as long as the map
 */
void classifier_make(classifier *m, const records *in, const entry *sample, size_t n,
		     unsigned pos_bits, uint32_t buckets, void *room);

/* classifier_room_bytes - return the memory for a map to `buckets` buckets. */
size_t classifier_room_bytes(uint32_t buckets);

/* classifier_block - find the buckets of n records of `in`, CLASSIFIER_BLOCK at most, and make
 * their numbers: above the position, the upper bits of the distance of a record's window from the
 * begin of its segment. In a bucket of equal keys, only the position.
 *   at              their positions, under m->pos_mask; NULL: from `first` on. May be `number`
 *   bucket, number  room for CLASSIFIER_BLOCK, like at, whatever n is; number may be NULL */
void classifier_block(const classifier *m, const records *in, uint64_t first, const uint64_t *at,
		      size_t n, uint16_t *bucket, uint64_t *number);

#endif
