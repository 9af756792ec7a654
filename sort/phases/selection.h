/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Selects the sorted records that are written: with --unique the first of each key, with the folded
 * fields of the others, with --top only the first records. The others are dropped and counted, and
 * their checksum proves that no other record is missing.
 *
 * Either one thread calls selection_put for each record. Or each of several threads takes a piece
 * of the sorted records, and drops records with equal keys inside it (selection_thin). Then the
 * pieces are joined in their order, because the last key of a piece may continue in the next
 * piece. */
#ifndef HETSORT_PHASES_SELECTION_H
#define HETSORT_PHASES_SELECTION_H

#include "comm/rank_env.h"
#include "io/writer.h"
#include "kernel/fold.h"

typedef struct selection {
	layout lay;
	bool unique;
	bool raw;      /* counts are not set yet: each record counts as one */
	uint64_t left; /* records that may still be written */
	dropped dropped;
	unsigned char *held; /* the first record with the last key, not written yet */
	bool holds;
	fold_value value[FOLDS_MAX]; /* of its folded fields */
	unsigned char *next;         /* memory for one record, which the caller may fill */
	err e;                       /* the first sum that does not fit */
} selection;

/* selection_open - select at most `most` records. Close it after a failure too. */
status selection_open(selection *s, rank_env *env, uint64_t most, bool raw);
void selection_close(selection *s, mem *m);

/* selection_put - take the next record in sorted order. selection_end - finish after the last
 * record: ST_INVALID if a sum does not fit its field. */
void selection_put(selection *s, const unsigned char *rec, writer *to);
status selection_end(selection *s, writer *to, err *e);

/* A piece of the sorted records: entries order[0..n). */
typedef struct piece {
	const records *recs;
	const entry *order;
	size_t n;
	fold_value *value;    /* [n * folds] of the folded fields of each; see selection_thin */
	unsigned char *front; /* a record to write before the piece; memory of the caller */
	bool fronts;          /* front is used */
	fold_value front_value[FOLDS_MAX];
	size_t rest;    /* entries after n that are not written */
	size_t misfits; /* entries without the keys of their records (kernel/gather.h) */
	dropped dropped;
} piece;

/* selection_thin - keep only the first record of each key in the piece. order receives their
 * entries, and may be p->order. p->value receives the values of their folded fields; it has room
 * for the values of all records. Any thread. */
void selection_thin(const selection *s, piece *p, entry *order);

/* selection_join - return how many records this piece is to write. Call it for one piece after the
 * other, in their order. selection_drop_rest - afterwards, on any thread: drop its other
 * records. ST_INVALID if one of their sums does not fit. */
uint64_t selection_join(selection *s, piece *p);
void selection_drop_rest(const selection *s, piece *p, err *e);

/* selection_last - after all pieces were joined, copy the held record to rec. Return false if no
 * record is held, if it must not be written, or after a failure, stored in s->e. */
bool selection_last(selection *s, unsigned char *rec);

/* selection_store - write the values of the folded fields into n records. ST_INVALID, with the key,
 * if a sum does not fit. */
status selection_store(const selection *s, unsigned char *recs, size_t n, const fold_value *value,
		       dropped *d, err *e);

#endif
