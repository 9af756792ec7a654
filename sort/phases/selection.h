/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Selects the sorted records that are written: with --unique the first of each key, with --top only
 * the first records. The others are dropped and counted, and their checksum proves that no other
 * record is missing.
 *
 * Either one thread calls selection_put for each record. Or each of several threads takes a piece
 * of the sorted records, and drops records with equal keys inside it (selection_thin). Then the
 * pieces are joined in their order, because the last key of a piece may continue in the next
 * piece. */
#ifndef HETSORT_PHASES_SELECTION_H
#define HETSORT_PHASES_SELECTION_H

#include "comm/rank_env.h"
#include "io/writer.h"
#include "kernel/key.h"

/* Dropped records. Their checksum is the checksum of the received records without the written
 * ones. */
typedef struct dropped {
	uint64_t records;
	checksum sum;
} dropped;

static inline void dropped_join(dropped *d, const dropped *more)
{
	d->records += more->records;
	d->sum = checksum_join(d->sum, more->sum);
}

typedef struct selection {
	layout lay;
	bool unique;
	key_field count; /* of 0 bytes: not requested */
	uint64_t left;   /* records that may still be written */
	dropped dropped;
	unsigned char *held; /* the first record with the last key, not written yet */
	uint64_t held_count; /* records with that key; 0: nothing is held */
	unsigned char *next; /* memory for one record, which the caller may fill */
} selection;

/* selection_open - select at most `most` records. Close it after a failure too. */
status selection_open(selection *s, rank_env *env, uint64_t most);
void selection_close(selection *s, mem *m);

/* selection_put - take the next record in sorted order. selection_end - finish after the last
 * record. */
void selection_put(selection *s, const unsigned char *rec, writer *to);
void selection_end(selection *s, writer *to);

/* A piece of the sorted records: entries order[0..n). */
typedef struct piece {
	const records *recs;
	const entry *order;
	size_t n;
	const uint64_t *count; /* records with the key of each; NULL without --unique */
	unsigned char *front;  /* a record to write before the piece; memory of the caller */
	uint64_t front_count;  /* records with the key of front; 0: front is unused */
	size_t rest;           /* entries after n that are not written */
	size_t misfits;        /* entries without the keys of their records (kernel/gather.h) */
	dropped dropped;
} piece;

/* selection_thin - keep only the first record of each key in the piece. order receives their
 * entries, and may be p->order. count receives the number of records with each key. Any thread. */
void selection_thin(const selection *s, piece *p, entry *order, uint64_t *count);

/* selection_join - return how many records this piece is to write. Call it for one piece after the
 * other, in their order. selection_drop_rest - afterwards, on any thread: drop its other
 * records. */
uint64_t selection_join(selection *s, piece *p);
void selection_drop_rest(const selection *s, piece *p);

/* selection_last - after all pieces were joined, copy the held record to rec. Return false if no
 * record is held, or if it must not be written. */
bool selection_last(selection *s, unsigned char *rec);

/* selection_count - write the number of records with each key into n records, if requested. */
void selection_count(const selection *s, unsigned char *recs, size_t n, const uint64_t *count,
		     dropped *d);

#endif
