/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sorted sequence
 *
 * The records of a rank after reading are a sorted sequence. Sampling, cutting, sending and writing
 * all use this interface, and none of them knows where the records are. They are in memory
 * (sorted.c), in runs on disk, or in sorted input files (sorted_files.c).
 *
 * Runs and places. A sequence consists of runs. Each run is sorted, and has consecutive records of
 * the input. A place is the number of a record if the runs are counted one after the other. Equal
 * keys of a rank are in the order of their places, so every sort is stable.
 *
 * Two ways to the records. item() and before() look up single records. A reader merges a range of
 * each run, and returns the result in pieces: all records of a piece precede all records of the
 * next one. The thread that writes or sends the records of a piece gathers them. So every record is
 * moved once.
 *
 * Who reads and writes. The rank's main thread looks up records, and opens and closes readers. Any
 * number of threads take pieces from a reader. Each call returns the next piece in the memory of
 * its caller, a sorted_piece that one thread owns. Records are never changed. Buckets of records in
 * memory are sorted when one of their places is needed, by any of these threads (kernel/demand.h).
 *
 * In which order. Pieces are numbered in the order of the calls. Threads find the place of a piece
 * in the output by its `number` and `first`. A thread gives a piece back before it takes the next
 * one, because later pieces may need the memory of its records (sorted_merge.c).
 *
 * Which invariants hold. The ranges of all pieces are disjoint, and together they are the range of
 * the reader. A reader has at most `pieces` pieces, of at most `most` records each, so callers
 * allocate all memory before they begin.
 *
 * Consequences of a failure. A lookup that fails sets `failed`, and all later lookups return
 * undefined items. Callers make all lookups of a step, and then check sorted_failure(). A reader
 * that has failed fails in every later call, on all threads. */
#ifndef HETSORT_SPILL_SORTED_H
#define HETSORT_SPILL_SORTED_H

#include "base/mem.h"
#include "kernel/inspect.h"
#include "kernel/demand.h"
#include "kernel/merge.h"

#include <pthread.h>

typedef struct sorted sorted;
typedef struct sorted_reader sorted_reader;
typedef struct sorted_piece sorted_piece;

/* The resources of a reader. */
typedef struct sorted_use {
	mem *m;               /* outlives the reader */
	size_t piece_recs;    /* of a piece: about this number in memory, at most on disk */
	bool drops;           /* the caller may drop records of a piece, so it needs entries */
	uint64_t ahead_bytes; /* memory for records that are read from disk */
	unsigned readers;     /* threads that read ahead; 0: threads that take pieces read */
} sorted_use;

typedef struct sorted_ops {
	/* Set *it, which has item_bytes(), to the item of the record at a place. */
	void (*item)(sorted *s, uint64_t place, item *it);
	/* Return the first place in [lo, hi), a range of one run, whose record does not precede
	 * *it; hi if all records precede it. */
	uint64_t (*before)(sorted *s, uint64_t lo, uint64_t hi, const item *it);
	/* Copy at most `most` items, evenly spread, that are in memory already; return their
	 * number. NULL: item() is as fast. */
	size_t (*sample)(const sorted *s, size_t most, unsigned char *items);
	/* Return the checksum of the records at places [lo, hi), and count the entries that do not
	 * match their records. Any thread. NULL: the records are not in memory. */
	checksum (*sum)(const sorted *s, uint64_t lo, uint64_t hi, size_t *misfits);
	/* Set *p to records of one run, from place lo on: at least one, at most those before hi.
	 * They are valid until the next call with p, which ready() has prepared, and which
	 * sorted_piece_close() frees. Any thread. To take up to the end of a bucket is fast. NULL:
	 * the records are not in memory. */
	status (*ready)(sorted *s, sorted_piece *p, err *e);
	void (*take)(sorted *s, uint64_t lo, uint64_t hi, sorted_piece *p);
	/* Open a reader of the places [lo[k], hi[k]) of each run k; lo, hi and u are not kept. Main
	 * thread of the rank. *out is NULL on failure. */
	status (*open_reader)(sorted *s, const uint64_t *lo, const uint64_t *hi,
			      const sorted_use *u, sorted_reader **out, err *e);
} sorted_ops;

typedef struct sorted_reader_ops {
	/* Take the next piece; after the last piece, it has no records. The number is set even on
	 * failure. After a failure every call fails. give: return the memory of the piece. */
	status (*piece)(sorted_reader *r, sorted_piece *p, err *e);
	void (*give)(sorted_reader *r, const sorted_piece *p); /* NULL: nothing to do */
	/* Check after the last piece that the files have not changed. Set *sum to the checksum of
	 * the records. NULL: this was done when the records were read into memory. */
	status (*end)(sorted_reader *r, checksum *sum, err *e);
	void (*close_reader)(sorted_reader *r); /* main thread of the rank */
} sorted_reader_ops;

struct sorted {
	const sorted_ops *ops;
	layout lay;
	uint32_t rank;
	size_t count;          /* runs, >= 1 */
	const uint64_t *start; /* [count + 1]; run k has the places from start[k] to start[k + 1] */
	const struct sorted_source *src; /* how files are read; NULL: no files */
	item *looked;                    /* with src: room for one item */
	err failed;                      /* the first failure to read; later items are undefined */
};

struct sorted_reader {
	const sorted_reader_ops *ops;
	size_t most;     /* the most records of a piece */
	uint64_t pieces; /* the most pieces */
	size_t ranges;   /* the most ranges of a piece */
	bool bare;       /* pieces have no room for entries */
};

/* Consecutive records of one run. */
typedef struct sorted_range {
	size_t run;
	uint64_t first, n; /* counted in the run */
} sorted_range;

/* How a piece says in which order its records are. */
typedef enum sorted_form {
	SORTED_NUMBERS,  /* by numbers (kernel/demand.h) */
	SORTED_ENTRIES,  /* by entries */
	SORTED_IN_ORDER, /* by entries, and the records are in order in memory */
	SORTED_GIVEN     /* by positions that the caller gave */
} sorted_form;

/* The memory of one thread for a piece, and the piece. The functions below know its form. */
struct sorted_piece {
	records recs;
	size_t n;
	uint64_t number;    /* of the piece, from 0 on */
	uint64_t first;     /* records in the pieces before it */
	entry *room, *free; /* memory for n entries each; a merge may exchange them. Entries of the
			     * piece are in room. NULL if the reader is bare */
	/* for the implementation */
	sorted_form form;
	demand_piece places;     /* SORTED_NUMBERS */
	const uint64_t *given;   /* SORTED_GIVEN: little-endian, */
	uint64_t count;          /* and the number of records */
	unsigned char *in_order; /* SORTED_IN_ORDER: the first record */
	demand_room *scratch;
	sorted_range *range;
	size_t ranges;
	const entry **from;
	size_t *len;
};

static inline uint64_t sorted_total(const sorted *s)
{
	return s->start[s->count];
}

/* sorted_failure - return the first failure to look up a record, or ST_OK. */
static inline status sorted_failure(const sorted *s, err *e)
{
	return err_join(e, &s->failed);
}

/* sorted_piece_open - allocate the memory for any piece of r. Close it after a failure too. */
status sorted_piece_open(sorted_piece *p, const sorted_reader *r, mem *m, err *e);
void sorted_piece_close(sorted_piece *p, mem *m);

/* sorted_piece_entries - store the entries of the piece in its room, so that records can be
 * dropped. Return how many records do not match their numbers. */
size_t sorted_piece_entries(sorted_piece *p);

/* sorted_piece_gather - copy n records of the piece, from number `from` on, to `to`. Return how
 * many do not match their numbers or entries (kernel/gather.h). */
size_t sorted_piece_gather(const sorted_piece *p, size_t from, size_t n, unsigned char *to);

/* sorted_piece_in_order - return record `from` of the piece if its records are in order in memory,
 * so that they need not be gathered; else NULL. */
static inline unsigned char *sorted_piece_in_order(const sorted_piece *p, size_t from)
{
	return p->form == SORTED_IN_ORDER ? p->in_order + from * p->recs.lay.record_bytes : NULL;
}

/* sorted_piece_heads - make heads of these records for stream `place`. Return the same number. */
size_t sorted_piece_heads(const sorted_piece *p, size_t from, uint32_t n, uint32_t place, head *h);

/* ----------------------------------------------------------------------------------- in memory */

/* Records in memory as one run, which is sorted on demand. */
typedef struct sorted_memory {
	sorted s;
	records recs;
	demand *order;
	demand_room *look;    /* scratch for single places, and for streams */
	pthread_mutex_t lock; /* for look */
	uint64_t start[2];    /* of s */
} sorted_memory;

/* sorted_memory_make - make the sequence of the n records of a->recs, in the order of a->order,
 * after demand_end. After this call a must not be moved. */
status sorted_memory_make(sorted_memory *a, uint64_t n, err *e);

/* sorted_memory_close - free the sequence and a->order, even if no sequence was made of it. */
void sorted_memory_close(sorted_memory *a);

/* --------------------------------------------------------------------------- in a given order */

/* Records in memory in an order that is given, as one run. Records cannot be looked up, and not be
 * dropped. */
typedef struct sorted_given {
	sorted s;
	records recs;
	uint64_t count;           /* records */
	const uint64_t *position; /* [start[1]] little-endian, below count; a program that changes
				   * them in their file is found by sorted_piece_gather */
	uint64_t start[2];        /* of s */
	/* called after the last piece, as sorted_reader_ops.end */
	status (*end)(void *end_of, checksum *sum, err *e);
	void *end_of;
} sorted_given;

void sorted_given_make(sorted_given *a);

/* ------------------------------------------------------------------------------------ in files */

/* The merge of sorted files, or of a range of each (sorted_merge.c). Files are read once, from
 * front to back, ahead of the merge. */
enum {
	SORTED_MERGE_CHUNK_BYTES = 4 << 20, /* largest read */
	SORTED_MERGE_FILE_BYTES = 256,      /* control data per file, without a key */
};

/* The sizes of reads. */
typedef struct sorted_chunk {
	size_t recs;         /* the most records of a read, a multiple of unit */
	size_t unit;         /* in records: reads begin at multiples of it, aligned to pages */
	size_t bounce_bytes; /* of a buffer that each reading thread needs; 0: none */
} sorted_chunk;

/* One read of records [first, first + n) of file k. */
typedef struct sorted_load {
	size_t k, n;
	uint64_t first;
	const sorted_chunk *c;
	unsigned char *to; /* has room for a whole chunk */
	void *bounce;      /* the buffer of this thread, if c requires one */
	checksum sum;      /* set by the read, unless the checksum is known already */
} sorted_load;

/* How the files of a sequence are read. */
typedef struct sorted_source {
	size_t chunk_bytes; /* largest read */
	/* Set *rec to record i of file k, valid until the next call. */
	status (*look)(sorted *s, size_t k, uint64_t i, const unsigned char **rec, err *e);
	/* Return the sizes for reads of about `bytes`, or the least possible. */
	sorted_chunk (*chunk)(const sorted *s, size_t bytes);
	/* Read the records of l. Any thread. */
	status (*load)(sorted *s, sorted_load *l, err *e);
	/* Report that a record belongs before its predecessor. */
	status (*disorder)(const sorted *s, size_t k, uint64_t rec, err *e);
	/* Check at the end that the files have not changed. NULL: no program can change them. */
	status (*check)(sorted *s, err *e);
} sorted_source;

/* sorted_merge_open - open a reader of a sequence with s->src, which outlives the reader. */
status sorted_merge_open(sorted *s, const uint64_t *lo, const uint64_t *hi, const sorted_use *u,
			 sorted_reader **out, err *e);

#endif
