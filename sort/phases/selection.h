/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which of the sorted records are written: with --unique the first of each key, with --top only
 * the first ones. The others are dropped here and counted with their checksum, which proves that
 * nothing else is missing.
 *
 * One thread puts record after record; or several thin out pieces of the order, each by itself, and
 * join them in turn: what a piece ends with is handed on to the next, where the same key may
 * continue.
 */
#ifndef HETSORT_PHASES_SELECTION_H
#define HETSORT_PHASES_SELECTION_H

#include "comm/rank_env.h"
#include "io/writer.h"

/* Records that are not written: with what came less what leaves as their checksum. */
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
	key_field count; /* of 0 bytes: none is wanted */
	uint64_t left;   /* records that may still be written */
	dropped dropped;
	unsigned char *held; /* the first record of the last key, not written yet */
	uint64_t held_count; /* records with that key; 0: nothing is held */
} selection;

/* selection_open - for at most `most` records. To be closed on failure too. */
status selection_open(selection *s, rank_env *env, uint64_t most);
void selection_close(selection *s, mem *m);

/* selection_put - the next record of the order. selection_end - that was the last. */
void selection_put(selection *s, const unsigned char *rec, writer *to);
void selection_end(selection *s, writer *to);

/* A piece of the order: of these records, the entries order[0..n). */
typedef struct piece {
	const records *recs;
	const entry *order;
	size_t n;
	const uint64_t *count; /* records with the key of each; NULL without --unique */
	unsigned char *front;  /* a record before them, room of the caller's, */
	uint64_t front_count;  /* if this is not 0 */
	size_t rest;           /* entries after n that are not to be written */
	size_t misfits;        /* entries without the keys of their records (kernel/gather.h) */
	dropped dropped;
} piece;

/* selection_thin - the piece becomes that of the first record of each key, in order, which may be
 * where its entries are; count has how often the key is there. Any thread. */
void selection_thin(const selection *s, piece *p, entry *order, uint64_t *count);

/* selection_join - in the order of pieces, one at a time: how many records this one is to write.
 * selection_drop_rest - then, by any thread. */
uint64_t selection_join(selection *s, piece *p);
void selection_drop_rest(const selection *s, piece *p);

/* selection_last - after all pieces: the record that is held, to rec; false: there is none, or it
 * is not to be written. */
bool selection_last(selection *s, unsigned char *rec);

/* selection_count - write into n records how often their keys are there, where that is wanted. */
void selection_count(const selection *s, unsigned char *recs, size_t n, const uint64_t *count,
		     dropped *d);

#endif
