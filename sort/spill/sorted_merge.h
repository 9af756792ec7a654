/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The merge of sorted files, or of a range of each, which are read once, from front to back, and
 * ahead. It is the reader (sorted.h) of runs on disk and of sorted input files. */
#ifndef HETSORT_SPILL_SORTED_MERGE_H
#define HETSORT_SPILL_SORTED_MERGE_H

#include "sorted.h"

enum {
	SORTED_MERGE_CHUNK_BYTES = 4 << 20, /* of a read, at most */
	SORTED_MERGE_FILE_BYTES = 256,      /* control data of a file, but for a key */
};

/* How a file is read. */
typedef struct sorted_chunk {
	size_t recs; /* of a read, at most */
	size_t unit; /* a read begins at a multiple of it, which lies at a page; recs is one, too */
	size_t bounce_bytes; /* of a buffer that each thread needs to read; 0: none */
} sorted_chunk;

/* Where the files of a sequence are. */
typedef struct sorted_source {
	size_t chunk_bytes; /* of a read, at most */
	/* Record i of file k, which is valid until the next call. */
	status (*look)(sorted *s, size_t k, uint64_t i, const unsigned char **rec, err *e);
	/* Reads of about so many bytes, or the least possible. */
	sorted_chunk (*chunk)(const sorted *s, size_t bytes);
	/* Records [first, first + n) of file k, to `to`, with room for all of the chunk; *sum: if
	 * nobody has seen them before. Any thread. */
	status (*read_recs)(sorted *s, size_t k, uint64_t first, size_t n, const sorted_chunk *c,
			    unsigned char *to, void *bounce, checksum *sum, err *e);
	/* The sentence for a record that belongs before the one before it. */
	status (*disorder)(const sorted *s, size_t k, uint64_t rec, err *e);
	/* All was read: are the files what they were? NULL: nobody else can write to them. */
	status (*check)(sorted *s, err *e);
} sorted_source;

/* Members of sorted_ops, for a sequence with s->src, which outlives the reader. */
status sorted_merge_open(sorted *s, mem *m, const uint64_t *lo, const uint64_t *hi,
			 const sorted_use *u, sorted_reader **out, err *e);
status sorted_merge_piece(sorted_reader *r, sorted_piece *p, err *e);
void sorted_merge_give(sorted_reader *r, const sorted_piece *p);
status sorted_merge_end(sorted_reader *r, checksum *sum, err *e);
void sorted_merge_close(sorted_reader *r);

#endif
