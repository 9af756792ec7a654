/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sort in memory: records of all ranks from the callers' arrays into their output arrays. It
 * has the phases of sort/job.c that need no files: sort, sample, split, exchange and merge. */
#ifndef HETSORT_LIB_MEMORY_SORT_H
#define HETSORT_LIB_MEMORY_SORT_H

#include "comm/comm.h"
#include "base/mem.h"
#include "kernel/key.h"

typedef struct memory_job {
	comm *c;
	mem *m;
	err *e; /* receives the failure of this rank */
	layout lay;
	const unsigned char *in; /* n_in records, only read */
	uint64_t n_in;
	unsigned char *out;    /* for share[rank] records; may be overwritten earlier */
	const uint64_t *share; /* [size] records that each rank receives */
	uint64_t records;      /* over all ranks: the sum of the shares */
	unsigned threads;      /* of this rank, >= 1 */
	unsigned exchange_threads;
} memory_job;

/* memory_sort - collective: sort the records of all ranks. All ranks return ST_OK, or all fail. On
 * the ranks that caused the failure, e has the reason. */
status memory_sort(const memory_job *j);

/* memory_sort_most_bytes - return the most bytes that memory_sort allocates on a rank, without what
 * the comm allocates. */
uint64_t memory_sort_most_bytes(const layout *l, uint64_t n_in, int ranks, unsigned threads);

#endif
