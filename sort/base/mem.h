/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory of one rank: checked sizes, aligned arrays, and a count of the bytes held. One `mem`
 * belongs to one rank; any of its threads may allocate and free with it. */
#ifndef HETSORT_BASE_MEM_H
#define HETSORT_BASE_MEM_H

#include "arith.h"
#include "status.h"

#include <stdatomic.h>

typedef struct mem {
	atomic_size_t now_bytes;
	atomic_size_t peak_bytes;
} mem;

/* mem_array - allocate n elements of size bytes, zeroed, or return NULL with e filled (ST_RESOURCE,
 * "no memory for NAME: SIZE"). n may be 0. Arrays begin at a cache line. Arrays of 1 MiB or more
 * begin at a multiple of 4096 bytes, and use huge pages if the kernel has them. */
void *mem_array(mem *m, size_t n, size_t size, const char *name, err *e);

/* mem_hold - count bytes that are mapped without mem_array. mem_drop - stop counting them. */
void mem_hold(mem *m, size_t bytes);
void mem_drop(mem *m, size_t bytes);

/* mem_free - free an array of mem_array, or do nothing for NULL. */
void mem_free(mem *m, void *p);

#endif
