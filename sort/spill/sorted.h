/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A sorted sequence: what a rank has after reading, as everybody sees it who samples, cuts, sends
 * or writes it. It consists of runs, each of consecutive records of the input and in order. A
 * record's place is its number in all runs, one run after the other; equal keys of a rank are in
 * the order of their places.
 *
 * Two ways lead to the records. item() and before() look up single ones, for one thread. A reader
 * hands out a range of each run, merged, in pieces: all of a piece precedes all of the next. Any
 * number of threads take pieces; each call gets the next one. The records of a piece are gathered
 * by their entries, because every record is to be moved once, and by the thread that writes or
 * sends it. Whoever implements a sequence decides where its records are, and when they are sorted:
 * in memory (sorted.c), in runs on disk or in sorted input files (sorted_files.c). */
#ifndef HETSORT_SPILL_SORTED_H
#define HETSORT_SPILL_SORTED_H

#include "base/mem.h"
#include "kernel/checksum.h"
#include "kernel/demand.h"
#include "kernel/loser_tree.h"

#include <pthread.h>

typedef struct sorted sorted;
typedef struct sorted_reader sorted_reader;
typedef struct sorted_piece sorted_piece;

/* What a reader may use. */
typedef struct sorted_use {
	size_t piece_recs;    /* records of a piece: about that many in memory, at most on disk */
	bool own_scratch;     /* each thread that takes pieces has memory to sort by itself */
	bool drops;           /* some records of a piece are left out: it has room for entries */
	uint64_t ahead_bytes; /* memory for records that are read from disk */
	unsigned readers; /* threads that read ahead; 0: those that take pieces read for themselves
			   */
} sorted_use;

typedef struct sorted_ops {
	/* The record at a place, into it (item_bytes() wide). */
	void (*item)(sorted *s, uint64_t place, item *it);
	/* The first place in [lo, hi), which lie in one run, whose record does not precede item
	 * it; hi if all do. */
	uint64_t (*before)(sorted *s, uint64_t lo, uint64_t hi, const item *it);
	/* At most `most` items, evenly spread, that are in memory already; returns how many.
	 * NULL: item() takes no longer. */
	size_t (*sample)(const sorted *s, size_t most, unsigned char *items);
	/* The checksum of the records at places [lo, hi), and how many entries do not fit them.
	 * Any thread. NULL: the records are not in memory. */
	checksum (*sum)(const sorted *s, uint64_t lo, uint64_t hi, size_t *misfits);
	/* Read the places [lo[k], hi[k]) of each run k; lo, hi and u are not kept. Main thread of
	 * the rank, as close_reader. *out is NULL on failure. */
	status (*open_reader)(sorted *s, mem *m, const uint64_t *lo, const uint64_t *hi,
			      const sorted_use *u, sorted_reader **out, err *e);
	/* The next piece, without records after the last. Its number is set also on failure. After
	 * a failure every call fails. give: the records of the piece are done with. */
	status (*piece)(sorted_reader *r, sorted_piece *p, err *e);
	void (*give)(sorted_reader *r, const sorted_piece *p);
	/* After the last piece: are the files what they were? *sum: of the records, if nobody has
	 * seen them before. */
	status (*end)(sorted_reader *r, checksum *sum, err *e);
	void (*close_reader)(sorted_reader *r);
} sorted_ops;

struct sorted {
	const sorted_ops *ops;
	layout lay;
	uint32_t rank;
	size_t count;          /* runs, >= 1 */
	const uint64_t *start; /* [count + 1]; run k has the places from start[k] to start[k + 1] */
	const struct sorted_source *src; /* how the files are read (sorted_merge.h); NULL: item()
					  * and before() read none */
	item *looked;                    /* with src: room for one */
	err failed; /* the first failure to read; what is looked up after it means nothing */
};

struct sorted_reader {
	const sorted_ops *ops;
	size_t most;     /* records of a piece, at most */
	uint64_t pieces; /* at most */
	size_t ranges;   /* parts that a piece is merged from, for which it has room */
	bool bare;       /* pieces have no room for entries */
};

/* Consecutive records of one run. */
typedef struct sorted_range {
	size_t run;
	uint64_t first, n; /* counted in the run */
} sorted_range;

/* The memory of one thread for a piece, and the piece. */
struct sorted_piece {
	records recs;       /* that entries point into */
	const entry *order; /* n entries, which may lie in room */
	size_t n;
	uint64_t number;         /* of the piece, from 0 on */
	uint64_t first;          /* records in the pieces before it */
	unsigned char *in_order; /* where its records lie in order already; NULL: they do not */
	entry *room, *free;      /* room for n entries each; only `room` may hold order. NULL in a
				  * piece of a bare reader */
	demand *by_demand;       /* NULL, or what its numbers are of: `order` then means nothing */
	demand_piece places;
	/* for the implementation */
	demand_room *scratch;
	entry *own[2];
	sorted_range *range;
	size_t ranges;
	const entry **from;
	size_t *len;
};

static inline uint64_t sorted_total(const sorted *s)
{
	return s->start[s->count];
}

/* sorted_failure - the first failure to look up a record, or ST_OK. */
static inline status sorted_failure(const sorted *s, err *e)
{
	const err *f = &s->failed;
	return f->code == ST_OK ? ST_OK : err_set(e, f->code, "%s", f->text);
}

/* sorted_piece_open - memory for any piece of r. To be closed on failure too. */
status sorted_piece_open(sorted_piece *p, const sorted_reader *r, mem *m, err *e);
void sorted_piece_close(sorted_piece *p, mem *m);

/* sorted_piece_entries - make entries of the piece, in room, where it has numbers; for whoever
 * drops records of it. Returns how many numbers do not fit their records. */
size_t sorted_piece_entries(sorted_piece *p);

/* sorted_piece_gather - copy n records of the piece, from number `from` on, to `to`.
 * sorted_piece_heads - make heads of them for stream `place`. Both return how many entries do not
 * have the keys of their records (kernel/gather.h). */
size_t sorted_piece_gather(const sorted_piece *p, size_t from, size_t n, unsigned char *to);
size_t sorted_piece_heads(const sorted_piece *p, size_t from, uint32_t n, uint32_t place, head *h);

/* Records in memory as one run: sorted on demand; or entries in the order in which they are to
 * leave, which can only be read in pieces. */
typedef struct sorted_memory {
	sorted s;
	records recs;
	demand *order;        /* NULL: e has the order */
	demand_room *look;    /* scratch for single places, and for streams */
	pthread_mutex_t lock; /* for look */
	entry *e;             /* the caller's */
} sorted_memory;

/* sorted_memory_make - make the sequence of a->recs in the order of a->order, for which demand_end
 * was called, or of a->e. start[0] is 0, start[1] how many records there are; it outlives a. */
status sorted_memory_make(sorted_memory *a, const uint64_t *start, err *e);

/* sorted_memory_close - free a->order as well, also one of which no sequence was made. */
void sorted_memory_close(sorted_memory *a);

#endif
