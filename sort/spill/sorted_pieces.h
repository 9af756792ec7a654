/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorted files, read from front to back and cut into pieces that are merged independently of each
 * other: all of a piece precedes all of the next. A piece ends where a file ends that is the first
 * of all to end in memory, so nothing is read twice, and nothing out of order. Each file has a ring
 * of chunks; threads of this module fill them, those of the file first that has least ahead, and a
 * thread that has to wait for a chunk reads as well.
 *
 * Nobody has looked at the records before: each has its part in the checksum, and one that belongs
 * before the one before it is ST_REFUSED. Memory: the rings, and for each file a key. */
#ifndef HETSORT_SPILL_SORTED_PIECES_H
#define HETSORT_SPILL_SORTED_PIECES_H

#include "base/mem.h"
#include "kernel/checksum.h"
#include "kernel/record.h"
#include "sorted_files.h"

typedef struct sorted_pieces sorted_pieces;

typedef struct sorted_pieces_plan {
	layout lay;
	size_t chunk_recs, chunks; /* of a read; in the ring of each file, at least 2 */
	size_t piece_recs;         /* at most, and at least one of each file */
	const uint64_t *from, *to; /* of each file these records alone; NULL: all */
} sorted_pieces_plan;

/* Consecutive records of one file. */
typedef struct sorted_range {
	size_t file;
	uint64_t first, n;
} sorted_range;

/* The memory of one thread for a piece, and the piece. */
typedef struct sorted_piece {
	sorted_range *range; /* [ranges] that are not empty, in the order of the files */
	const entry **from;
	size_t *len;
	entry *e, *tmp; /* [piece_recs] */
	size_t ranges;
	records recs;   /* that entries point into */
	entry *order;   /* of the piece, n in all, */
	entry *free;    /* and room for as many */
	uint64_t first; /* records before it */
	size_t n;
	unsigned char *in_order; /* where its records lie in order already; NULL: they do not */
} sorted_piece;

/* sorted_pieces_open - start to read; files outlive it. *out is NULL on failure. Main thread, as
 * sorted_pieces_close. */
status sorted_pieces_open(sorted_pieces **out, mem *m, sorted_files *files,
			  const sorted_pieces_plan *p, err *e);

/* sorted_pieces_most - how many pieces there may be. */
uint64_t sorted_pieces_most(const sorted_pieces *s);

status sorted_piece_open(sorted_piece *p, const sorted_pieces *s, mem *m, err *e);
void sorted_piece_close(sorted_piece *p, mem *m);

/* sorted_pieces_take - the next piece, and its number: each call has the next one. It is merged,
 * unless e is filled; without records behind the last. Any number of threads. sorted_pieces_give -
 * its records are done with. After a failure every call fails. */
uint64_t sorted_pieces_take(sorted_pieces *s, sorted_piece *p, err *e);
void sorted_pieces_give(sorted_pieces *s, const sorted_piece *p);

/* sorted_pieces_sum - of all that was read. */
checksum sorted_pieces_sum(const sorted_pieces *s);

void sorted_pieces_close(sorted_pieces *s);

#endif
