/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sort on demand: records in memory become a sorted sequence, each part of which is sorted when it
 * is needed. There are three steps: demand_open with a sample of the records; demand_add on several
 * threads, while the records arrive; demand_end. Then any number of threads take records of the
 * sequence. The place of a record is its index, from 0 on, in the sorted sequence; its position is
 * its index in the input.
 *
 * The records are only read, not moved. The sort needs 8 bytes per record, and a few percent more:
 * a number represents each record, with bits of its key above its position. */
#ifndef HETSORT_KERNEL_DEMAND_H
#define HETSORT_KERNEL_DEMAND_H

#include "key.h"
#include "base/mem.h"

typedef struct demand demand;
typedef struct demand_room demand_room;

/* Sizes that determine how records are sorted; parameters, so that tests reach every case. */
typedef struct demand_sizes {
	uint32_t bucket; /* records that a bucket should have */
	uint32_t cap;    /* most records of a bucket after demand_end; at least 64 */
	unsigned depth;  /* how often a bucket is split before it is sorted in place */
} demand_sizes;

/* demand_sizes_for - return the sizes for n records. */
demand_sizes demand_sizes_for(uint64_t n);

typedef struct demand_plan {
	records in;     /* in.base: where the records are, or will arrive */
	uint64_t n;     /* upper bound of the number of records, up to POS_MASK. A bound that is too
			   high leaves fewer key bits in a number, but takes no memory */
	unsigned lanes; /* greatest number of threads that add at the same time; >= 1 */
	unsigned threads; /* that work together in demand_end; >= 1 */
	const unsigned char
		*sample; /* copies of records from everywhere, read until demand_close */
	size_t samples;  /* at most demand_samples(); 0: demand_end makes the buckets */
	void *room; /* memory for numbers, lent until demand_close or demand_leave_room, or NULL */
	size_t room_bytes;         /* its size, or 0. Further memory for numbers is allocated */
	const demand_sizes *sizes; /* NULL: demand_sizes_for(n) */
} demand_plan;

/* demand_samples - return how many samples of n records are useful. */
size_t demand_samples(uint64_t n);

/* demand_most_bytes - return an upper bound of the memory that a sort of n records allocates, with
 * scratch for `threads` threads and without lent memory. Evenly spread keys need almost as much. */
uint64_t demand_most_bytes(uint64_t n, unsigned lanes, unsigned threads);

/* demand_room_bytes - return the size of lent memory that holds the numbers of any n records. */
size_t demand_room_bytes(uint64_t n, unsigned lanes, unsigned threads);

/* demand_open - start a sort. *d is NULL after an error (ST_RESOURCE: no memory). */
status demand_open(demand **d, mem *m, const demand_plan *p, err *e);

/* demand_close - free the sort, which may be NULL. Call demand_room_close for all rooms first. */
void demand_close(demand *d);

/* demand_move - set the address of the records to `base`, after their buffer has grown. No other
 * thread may use the sort at this moment. */
void demand_move(demand *d, const unsigned char *base);

/* demand_add - add records [first, first + n), which have arrived. Add each record once, by calls
 * in any order. Only one thread at a time may use a lane (0 to lanes - 1). Return ST_RESOURCE if
 * memory is missing; the sort can then only be closed. */
status demand_add(demand *d, unsigned lane, uint64_t first, uint64_t n, err *e);

/* demand_end - finish adding, and split buckets that are too large on plan.threads threads. Return
 * ST_RESOURCE like demand_add, or ST_INTERNAL like gather_misfits. */
status demand_end(demand *d, err *e);

/* demand_count - return the number of records added. Call it after demand_end.
 * demand_bucket_most - return the greatest number of records in a bucket. */
uint64_t demand_count(const demand *d);
uint32_t demand_bucket_most(const demand *d);

/* ------------------------------------------------------------------------ after demand_end */

/* demand_room_open - allocate a room: the scratch of one thread for the calls below.
 * demand_room_close - free it. */
status demand_room_open(demand_room **room, const demand *d, err *e);
void demand_room_close(demand_room *room);

/* demand_border - return the first place after the bucket of `place`: above place, at most
 * demand_count(). Taking records up to a border is fast, because whole buckets are taken. */
uint64_t demand_border(const demand *d, uint64_t place);

/* demand_position - return the position of the record at a place. Its bucket becomes sorted. */
uint64_t demand_position(demand *d, demand_room *room, uint64_t place);

/* demand_before - return the first place in [lo, hi) whose record does not precede the item in the
 * total order (key, rank, position), or hi. It sorts a few buckets, which stay sorted. */
uint64_t demand_before(demand *d, demand_room *room, uint64_t lo, uint64_t hi, const item *it);

/* Consecutive places in one bucket. */
typedef struct demand_piece {
	const demand *of;
	const uint64_t *number; /* positions under mask; valid until the room is used again */
	uint64_t mask;
	uint64_t place; /* of the first number */
	size_t n, bucket;
	bool streaming; /* gather with streaming stores, for large output that is not read soon */
} demand_piece;

/* demand_take - set *p to the places from `place` to `end` (above place), at most to the border of
 * the bucket. A whole bucket is sorted only in the room, each time that it is taken. */
void demand_take(demand *d, demand_room *room, uint64_t place, uint64_t end, demand_piece *p);

/* demand_gather - copy the records of p->number[first .. first + n) to `to`, one after the other.
 * Return the number of misfits, for gather_misfits(): records that do not match their numbers,
 * because of a memory error. One error is not found here: a position that has become the position
 * of another record with the same key bits. That record is copied twice, and the checksum of the
 * output is wrong. */
size_t demand_gather(const demand_piece *p, size_t first, size_t n, unsigned char *to);

/* demand_misfits - count misfits as demand_gather does, but copy nothing: for dropped records. */
size_t demand_misfits(const demand_piece *p, size_t first, size_t n);

/* demand_leave_room - move numbers out of the lent memory, which can then be overwritten. Then only
 * places from `place` on, which is 0 or a border, can be taken. No other thread may use the sort at
 * this moment. */
status demand_leave_room(demand *d, uint64_t place, err *e);

#endif
