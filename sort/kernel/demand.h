/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sort on demand: records in memory form one sorted sequence, and each part is sorted when it is
 * needed. There are three steps: open with a sample of the records; add the records in chunks while
 * they arrive, on several threads; end. Then any number of threads take places of the sequence. A
 * place counts records from 0 on in the sorted order, a position counts them in the input.
 *
 * The records are not moved, only read. The sort needs 8 bytes per record and a few percent: a
 * number for each record, with bits of the key above the position. */
#ifndef HETSORT_KERNEL_DEMAND_H
#define HETSORT_KERNEL_DEMAND_H

#include "key.h"
#include "base/mem.h"

typedef struct demand demand;
typedef struct demand_room demand_room;

/* Sizes that decide how records are sorted. They are variables so that tests reach every case. */
typedef struct demand_sizes {
	uint32_t bucket; /* records that a bucket should have */
	uint32_t cap;    /* records that a bucket has at most after demand_end, but at least 64 */
	unsigned depth;  /* splits one after the other, before a bucket is sorted in place */
} demand_sizes;

/* demand_sizes_for - return the sizes for n records. */
demand_sizes demand_sizes_for(uint64_t n);

typedef struct demand_plan {
	records in;     /* records lie at in.base, also those that are still to arrive */
	uint64_t n;     /* upper bound of the number of records, up to POS_MASK. A bound that is too
			 * high costs precision, but no memory: numbers take memory as records arrive */
	unsigned lanes; /* threads that add at the same time, at most; >= 1 */
	unsigned threads;            /* that work together in demand_end; >= 1 */
	const unsigned char *sample; /* copies of records from all parts of the input, in any order,
				      * read until demand_close */
	size_t samples; /* demand_samples() of them, or fewer; 0: demand_end sorts everything */
	void *room;     /* memory for numbers, lent until demand_close (or demand_leave_room); or */
	size_t room_bytes;         /* NULL and 0. The rest is allocated */
	const demand_sizes *sizes; /* NULL: demand_sizes_for(n) */
} demand_plan;

/* demand_samples - return the useful number of samples of n records. */
size_t demand_samples(uint64_t n);

/* demand_most_bytes - return an upper bound of the memory that a sort of n records allocates, with
 * scratch for `threads` threads and without lent memory. Evenly spread keys use it to within a few
 * percent. */
uint64_t demand_most_bytes(uint64_t n, unsigned lanes, unsigned threads);

/* demand_room_bytes - return the lent memory that holds the numbers of n records, for any keys. */
size_t demand_room_bytes(uint64_t n, unsigned lanes, unsigned threads);

/* demand_open - start a sort. *d is NULL after an error (ST_RESOURCE: no memory). */
status demand_open(demand **d, mem *m, const demand_plan *p, err *e);

/* demand_close - free the sort, which may be NULL. All rooms must be closed. */
void demand_close(demand *d);

/* demand_move - note that all records are at `base` now, because a stream's buffer grew. Nothing
 * else may use the sort at this moment. */
void demand_move(demand *d, const unsigned char *base);

/* demand_add - add records [first, first + n), which have arrived. Each record is added once, in
 * chunks in any order. A lane (0 to lanes - 1) is used by one thread at a time. Return ST_RESOURCE
 * without memory; the sort can then only be closed. */
status demand_add(demand *d, unsigned lane, uint64_t first, uint64_t n, err *e);

/* demand_end - end the adding, and split buckets that are too large on plan.threads threads.
 * Return ST_RESOURCE like demand_add. */
status demand_end(demand *d, err *e);

/* demand_count - return the number of records added; after demand_end.
 * demand_bucket_most - return the greatest number of records in a bucket.
 * demand_record_bytes - return the size of a record. */
uint64_t demand_count(const demand *d);
uint32_t demand_bucket_most(const demand *d);
uint32_t demand_record_bytes(const demand *d);

/* ------------------------------------------------------------------------ after demand_end */

/* demand_room_open - allocate the scratch of a thread for the calls below. demand_room_close - free
 * it. */
status demand_room_open(demand_room **room, const demand *d, err *e);
void demand_room_close(demand_room *room);

/* demand_border - return the end of the bucket of this place, which is a good end for a piece:
 * above place, at most demand_count(). */
uint64_t demand_border(const demand *d, uint64_t place);

/* demand_position - return the position of the record at a place. The bucket stays sorted. */
uint64_t demand_position(demand *d, demand_room *room, uint64_t place);

/* demand_sort - sort all buckets now, if `threads` is above 1. Call it if fewer threads will take
 * the records later. */
status demand_sort(demand *d, unsigned threads, err *e);

/* demand_before - return the first place in [lo, hi) whose record does not precede the item in the
 * total order (key, rank, position), or hi. It sorts a few buckets, which stay sorted. */
uint64_t demand_before(demand *d, demand_room *room, uint64_t lo, uint64_t hi, const item *it);

/* Consecutive places in one bucket. */
typedef struct demand_piece {
	const uint64_t *number; /* position under mask; valid until the room is used again */
	uint64_t mask;
	uint64_t place; /* of the first */
	size_t n, bucket;
} demand_piece;

/* demand_take - get the places from `place` up to `end` (above place), at most up to the border of
 * the bucket. A bucket that is taken as a whole is sorted in the room and not written back. */
void demand_take(demand *d, demand_room *room, uint64_t place, uint64_t end, demand_piece *p);

/* demand_gather - copy the records of p->number[first .. first + n) to `to`, one after the other.
 * streaming: write past the caches, for large output that is not read soon. Return the number of
 * records that do not fit their numbers because memory has changed, for gather_misfits(). One
 * change is not found here: a position that became the position of a record
 * with the same key bits. That record is copied twice, and the checksum of the output is wrong. */
size_t demand_gather(const demand *d, const demand_piece *p, size_t first, size_t n, bool streaming,
		     unsigned char *to);

/* demand_misfits - compare like demand_gather, but do not copy, for records that are dropped. */
size_t demand_misfits(const demand *d, const demand_piece *p, size_t first, size_t n);

/* demand_leave_room - move the numbers of the places from `place` on (the border of a bucket) out
 * of the lent memory, which can then be overwritten. Earlier places cannot be taken any more.
 * Nothing else may use the sort at this moment. */
status demand_leave_room(demand *d, uint64_t place, err *e);

#endif
