/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory of one rank: checked sizes, page-aligned buffers, and a count of what is held.
 * One `mem` belongs to one rank; any of its threads may allocate and free through it. */
#ifndef HETSORT_BASE_MEM_H
#define HETSORT_BASE_MEM_H

#include "status.h"

#include <stdatomic.h>
#include <stdint.h>

typedef struct mem {
	atomic_size_t now_bytes;
	atomic_size_t peak_bytes;
} mem;

static inline bool size_mul(size_t a, size_t b, size_t *r)
{
	return !__builtin_mul_overflow(a, b, r);
}

/* mem_array - n elements of size bytes, zeroed, or NULL with e filled ("NAME: ... bytes"). n 0
 * gives a valid pointer. Arrays start at a cache line, and large ones at a multiple of 4096 bytes;
 * those are of huge pages where the kernel has them. */
void *mem_array(mem *m, size_t n, size_t size, const char *name, err *e);

/* mem_hold, mem_drop - bytes that were mapped without mem_array count, too; or no more. */
void mem_hold(mem *m, size_t bytes);
void mem_drop(mem *m, size_t bytes);

/* mem_free - give back what mem_array gave; NULL is fine. */
void mem_free(mem *m, void *p);

#endif
