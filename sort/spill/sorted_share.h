/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The share of the input that a rank has after reading, as a sorted sequence. The sequence is in
 * memory (memory_share.h), in runs on disk (run_formation.h), or with --merge in the input files
 * (sorted_files.h). */
#ifndef HETSORT_SPILL_SORTED_SHARE_H
#define HETSORT_SPILL_SORTED_SHARE_H

#include "io/reader.h"
#include "kernel/fold.h"
#include "sorted_files.h"

/* Records from which the buckets of a sort are chosen. */
typedef struct bucket_sample {
	unsigned char *recs;
	size_t n;
} bucket_sample;

/* A share in memory. */
typedef struct memory_share {
	sorted_memory seq;
	unsigned char *raw;  /* allocated; records have the same offset in a page as in the file, so
			      * that direct I/O can read them */
	unsigned char *recs; /* in raw; NULL for a mapped file, whose records are in seq.recs */
	mapped map;
	reader *mapped; /* open while the file is mapped; else NULL */
	bucket_sample sample;
	size_t room;    /* the most records that memory holds */
	uint64_t added; /* records whose keys are in buckets */
} memory_share;

typedef struct sorted_share {
	sorted *s;           /* one of the next three, so this struct must not be moved */
	memory_share memory; /* all zeros, unless the records are in memory */
	sorted_disk disk;    /* all zeros, unless there are runs on disk */
	sorted *files;       /* NULL, unless --merge reads sorted files */
	/* With --merge, [2 * runs]: this rank merges the records [cut[k], cut[runs + k]) of run k
	 * of s. NULL: all records of each run. */
	uint64_t *cut;
	size_t n;        /* records, so far; without those that were folded into others */
	checksum sum;    /* of the records that were read */
	dropped dropped; /* by folding them in runs (kernel/fold.h) */
	double sort_s;   /* time spent on sorting while reading, average of the threads */
	double verify_s; /* time spent on checksums, sum of the threads */
} sorted_share;

/* sorted_share_is_folded - return whether records with equal keys were folded when they were read
 * (kernel/fold.h): then their counts are set. */
static inline bool sorted_share_is_folded(const sorted_share *d)
{
	return d->disk.spill != NULL;
}

/* sorted_share_read - return the number of records that were read. */
static inline uint64_t sorted_share_read(const sorted_share *d)
{
	return d->n + d->dropped.records;
}

void sorted_share_free(mem *m, sorted_share *d);

#endif
