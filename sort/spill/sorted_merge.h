/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The merge of sorted files, or of a range of each. Files are read once, from front to back, ahead
 * of the merge. It is the reader (sorted.h) of runs on disk and of sorted input files. */
#ifndef HETSORT_SPILL_SORTED_MERGE_H
#define HETSORT_SPILL_SORTED_MERGE_H

#include "sorted.h"

enum {
	SORTED_MERGE_CHUNK_BYTES = 4 << 20, /* largest read */
	SORTED_MERGE_FILE_BYTES = 256,      /* control data per file, without a key */
};

/* The sizes of reads. */
typedef struct sorted_chunk {
	size_t recs;         /* in a read, at most; a multiple of unit */
	size_t unit;         /* reads begin at multiples of it, which are aligned to pages */
	size_t bounce_bytes; /* of a buffer that each reading thread needs; 0: none */
} sorted_chunk;

/* How the files of a sequence are read. */
typedef struct sorted_source {
	size_t chunk_bytes; /* largest read */
	/* Set *rec to record i of file k, valid until the next call. */
	status (*look)(sorted *s, size_t k, uint64_t i, const unsigned char **rec, err *e);
	/* Return the sizes for reads of about `bytes`, or the least possible. */
	sorted_chunk (*chunk)(const sorted *s, size_t bytes);
	/* Read records [first, first + n) of file k to `to`, which has room for a whole chunk. Set
	 * *sum unless their checksum is known already. Any thread. */
	status (*read_recs)(sorted *s, size_t k, uint64_t first, size_t n, const sorted_chunk *c,
			    unsigned char *to, void *bounce, checksum *sum, err *e);
	/* Report that a record belongs before its predecessor. */
	status (*disorder)(const sorted *s, size_t k, uint64_t rec, err *e);
	/* Check at the end that the files have not changed. NULL: no other program can write them.
	 */
	status (*check)(sorted *s, err *e);
} sorted_source;

/* Members of sorted_ops for a sequence with s->src, which outlives the reader. */
status sorted_merge_open(sorted *s, mem *m, const uint64_t *lo, const uint64_t *hi,
			 const sorted_use *u, sorted_reader **out, err *e);
status sorted_merge_piece(sorted_reader *r, sorted_piece *p, err *e);
void sorted_merge_give(sorted_reader *r, const sorted_piece *p);
status sorted_merge_end(sorted_reader *r, checksum *sum, err *e);
void sorted_merge_close(sorted_reader *r);

#endif
