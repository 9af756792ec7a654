/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A map from keys to buckets, which have the order of the keys. It is made from a sample of the
 * keys. It also makes the number that represents a record in its bucket. Pure.
 *
 * A table divides the values of 8 bytes of the key, its window, into segments; usually a segment is
 * a bucket. The borders of segments are splitters, chosen so that all segments have about the same
 * number of samples: they are narrow where keys are dense. To find a segment quickly, the range
 * from the least to the greatest sample is divided into cells of equal width. The cell of a value
 * determines where the search begins. All searches in a table take the same number of steps, so no
 * branch is mispredicted. If keys are spread evenly, each cell of the root, the first table, is a
 * segment, and a search takes no steps. If keys cluster, so that searches from cells would take
 * many steps, the root has a search tree instead.
 *
 * The common bytes are those with which all keys of the sample begin. The window of the root
 * follows them. A key with other bytes there goes to the first or the last bucket.
 *
 * Records are classified in blocks, so that the unpredictable work on a record does not delay the
 * search for the next one. A value with a large part of the sample is a segment by itself. It leads
 * to another table, for the next 8 bytes of the key. If all its samples have one key, a heavy key,
 * it leads to three buckets: for keys below this key, for the key, and for keys above it. */
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
	REACH_UNROLLED = 8, /* the greatest reach (classifier_table) whose search needs no loop */
	TO_TABLE = 0x4000,  /* a segment leads to a table: this flag plus its index */
	TO_HEAVY = 0x8000,  /* a segment leads to a heavy key: this flag plus its index */
};

/* Segments of a table, in order. Each member is an array, because a search reads only `from`, and
 * counting records only `to`: these must stay in the first-level cache. */
typedef struct classifier_segments {
	uint64_t *from; /* least value of each segment, which ends where the next one begins */
	uint16_t *to;   /* a bucket, or TO_TABLE or TO_HEAVY with an index */
	uint8_t *norm;  /* left shift of a distance from `from`, so that it fills a number */
} classifier_segments;

typedef struct classifier_table {
	key_window window;
	uint32_t key_from;         /* offset of the window in the key */
	const unsigned char *like; /* a record: keys begin like its key, up to key_from */
	uint64_t base, range; /* the least sample, and the greatest distance from it in a cell */
	uint64_t scale;       /* turns a distance from base into a cell */
	unsigned shift;
	uint32_t last_cell; /* cell 0 is below base, the last one above the range */
	uint32_t reach;     /* number of segments that a search from a cell chooses from */
	uint32_t segments;
	uint16_t *of_cell; /* the first of these segments, for each cell */
	classifier_segments segment;
	unsigned levels;      /* of the search tree; 0: cells are used instead */
	const uint64_t *tree; /* a heap from 1 on: least values of segments, less 1 */
} classifier_table;

/* classifier_cell - return the cell, from 0 on, of the value at distance x from the base. */
static inline uint64_t classifier_cell(const classifier_table *t, uint64_t x)
{
	return (x >> t->shift) * t->scale >> 32;
}

/* A key with a large part of the sample. Keys below it are in bucket `bucket`, the key itself in
 * the next bucket, and keys above it in the third. */
typedef struct classifier_heavy {
	const unsigned char *rec;
	uint32_t bucket;
	uint32_t key_from; /* offset of the rest of the key, which no table has used */
	bool short_rest;   /* the rest fits into the window */
	key_window window; /* the first bytes of the rest */
	uint64_t value;    /* of the window in this key */
} classifier_heavy;

/* The properties of a bucket by which its numbers are compared with keys. */
typedef struct classifier_bucket {
	uint64_t from, limit; /* least value in the window, and the greatest distance from it */
	const unsigned char *like; /* a record; keys of the bucket begin like its key, */
	uint32_t shared;           /* in this number of bytes */
	uint64_t head_value;       /* the value of the first of these bytes, in the window `head` */
	key_window head, window;
	uint8_t norm; /* a number has (value - from) << norm above the position */
	bool exact;   /* ordering the numbers orders their records */
	bool same;    /* all records have one key; then the bucket is also exact */
} classifier_bucket;

/* classifier_fits - return whether a number of bucket b matches record rec.
 * upper  the number, with the position of rec removed by exclusive or
 * of     the kind of b's window */
static inline __attribute__((always_inline)) bool
classifier_fits(const layout *l, const classifier_bucket *b, uint64_t pos_mask, uint64_t upper,
		const unsigned char *rec, window_kind of)
{
	const uint64_t x = key_window_read_as(of, l, &b->window, rec) - b->from;
	return (x <= b->limit) & (upper == (x << b->norm & ~pos_mask)) &&
	       (b->shared == 0 || key_window_read(l, &b->head, rec) == b->head_value) &&
	       (b->shared <= KEY_WINDOW_BYTES ||
		key_part_compare(l, rec, b->like, KEY_WINDOW_BYTES, b->shared) == 0);
}

typedef struct classifier {
	/* set by the caller of classifier_make: */
	void *room;        /* classifier_room_bytes() at least, aligned as malloc does */
	unsigned pos_bits; /* bits of a position in a number */
	/* set by classifier_make: */
	classifier_table root;
	layout lay;
	uint64_t head_value; /* the first common bytes, in the window `head` */
	key_window head;
	key_window first; /* of keys that do not share the common bytes */
	key_window rest;  /* after the root's window */
	bool short_rest;  /* the key has no bytes after `rest` */
	uint64_t pos_mask;
	uint32_t buckets;
	bool root_leads; /* segments of the root lead to tables or heavy keys */
	const classifier_table *table;
	const classifier_heavy *heavy;
	const classifier_bucket *bucket;
} classifier;

/* classifier_sample - set `sample` to the entries of some of n records, from all parts of `in`, for
 * a map to `buckets` buckets. Return their number, at most SAMPLE_MAX. They are not sorted. */
size_t classifier_sample(const records *in, uint64_t n, uint32_t buckets, entry *sample);

/* classifier_sample_size - return the number of samples of n records for a map to `buckets`. */
size_t classifier_sample_size(uint64_t n, uint32_t buckets);

/* classifier_make - make a map to at most `buckets` (BUCKETS_LEAST..BUCKETS_MAX) buckets.
 * in      records, used as long as the map, like m->room
 * sample  n >= 1 of them, sorted by key
 * Keys are read more than once, and may change in between. The map can be used even then. Return
 * the number of segments that are not in order because of that, for gather_misfits(). */
size_t classifier_make(classifier *m, const records *in, const entry *sample, size_t n,
		       uint32_t buckets);

/* classifier_room_bytes - return the memory for a map to `buckets` buckets. */
size_t classifier_room_bytes(uint32_t buckets);

/* A block of records, and the results for it. All arrays must have CLASSIFIER_BLOCK elements, even
 * if n is smaller. */
typedef struct classifier_work {
	const records *in;
	uint64_t first;     /* their positions begin here, */
	const uint64_t *at; /* or, if not NULL, are these, under m->pos_mask. May equal `number` */
	size_t n;           /* CLASSIFIER_BLOCK at most */
	uint16_t *bucket;
	uint64_t *number; /* may be NULL */
} classifier_work;

/* classifier_block - find the buckets of a block of records, and make their numbers. A number has,
 * above the position, the upper bits of the distance of the record's window from the least value of
 * its segment. In a bucket of equal keys, it is only the position. */
void classifier_block(const classifier *m, const classifier_work *k);

#endif
