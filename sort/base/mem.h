/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory of one rank: checked sizes, page-aligned buffers, and a count of the bytes held. One `mem`
 * belongs to one rank; any of its threads may allocate and free through it. */
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

/* mem_array - allocate n elements of size bytes, zeroed, or return NULL with e filled ("NAME: ...
 * bytes"). n 0 gives a valid pointer. Arrays start at a cache line. Large ones start at a multiple
 * of 4096 bytes, and are of huge pages if the kernel has them. */
void *mem_array(mem *m, size_t n, size_t size, const char *name, err *e);

/* mem_hold, mem_drop - count bytes that are mapped without mem_array; stop counting them. */
void mem_hold(mem *m, size_t bytes);
void mem_drop(mem *m, size_t bytes);

/* mem_free - free an array of mem_array; NULL is fine. */
void mem_free(mem *m, void *p);

#endif
