/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A heap of file numbers. A function of the caller compares two files, and the caller reports each
 * file that has changed. Each call takes time logarithmic in the number of files. Memory: 8 bytes
 * per file. The caller holds a lock. */
#ifndef HETSORT_SPILL_FILE_HEAP_H
#define HETSORT_SPILL_FILE_HEAP_H

#include "base/mem.h"

#include <stdbool.h>
#include <stdint.h>

/* Return whether file a comes before file b; of equal files, the lower number must come first. */
typedef bool (*file_before)(const void *of, uint32_t a, uint32_t b);

typedef struct file_heap {
	file_before before;
	const void *of;  /* the first argument of before */
	uint32_t *file;  /* [n] the parent of i is (i - 1) / 2 */
	uint32_t *place; /* of each file in `file`, from 1 on; 0: not in the heap */
	uint32_t n;
} file_heap;

/* file_heap_open - make an empty heap for files 0 to files - 1. */
status file_heap_open(file_heap *h, mem *m, size_t files, file_before before, const void *of,
		      err *e);
void file_heap_close(file_heap *h, mem *m);

/* file_heap_put - insert the file or move it to its new place; with in == false, remove it. */
void file_heap_put(file_heap *h, uint32_t file, bool in);

/* file_heap_first - set *file to the first file; false if the heap is empty. */
bool file_heap_first(const file_heap *h, uint32_t *file);

#endif
