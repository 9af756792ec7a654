/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which of many files comes first? Files are numbers; the caller says which of two comes first, and
 * tells of each file that has changed. Each call takes the logarithm of the number of files;
 * memory: 8 bytes for each. No locks: the caller has one. */
#ifndef HETSORT_SPILL_FILE_HEAP_H
#define HETSORT_SPILL_FILE_HEAP_H

#include "base/mem.h"

#include <stdbool.h>
#include <stdint.h>

/* Does file a come before file b? With equal ones, the one with the lower number has to. */
typedef bool (*file_before)(const void *of, uint32_t a, uint32_t b);

typedef struct file_heap {
	file_before before;
	const void *of;  /* for it */
	uint32_t *file;  /* [n] the parent of i is (i - 1) / 2 */
	uint32_t *place; /* of each file in there, from 1 on; 0: it is not */
	uint32_t n;
} file_heap;

/* file_heap_open - an empty one; files below `files` can come into it. */
status file_heap_open(file_heap *h, mem *m, size_t files, file_before before, const void *of,
		      err *e);
void file_heap_close(file_heap *h, mem *m);

/* file_heap_put - the file is to be in there, or not; where it is already, it has changed. */
void file_heap_put(file_heap *h, uint32_t file, bool in);

/* file_heap_first - false: it is empty. */
bool file_heap_first(const file_heap *h, uint32_t *file);

#endif
