/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Buffers straight from the kernel: first touch of fresh memory costs as much as a sort, so large
 * ones ask for huge pages, and freeing returns them at once (the next phase needs the room). */
#include "mem.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { LARGE_BYTES = 1 << 20 };

static void *large(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	(void)madvise(p, bytes, MADV_HUGEPAGE); /* a hint: without it things are only slower */
	return p;
}

void *mem_array(mem *m, size_t n, size_t size, const char *name, err *e)
{
	size_t bytes;
	void *p = NULL;
	if (size_mul(n, size, &bytes))
		p = bytes >= LARGE_BYTES ? large(bytes) : calloc(bytes ? bytes : 1, 1);
	if (!p) {
		err_set(e, ST_RESOURCE, "no memory for %s: %zu x %zu bytes", name, n, size);
		return NULL;
	}
	m->now_bytes += bytes;
	if (m->now_bytes > m->peak_bytes)
		m->peak_bytes = m->now_bytes;
	return p;
}

void mem_free(mem *m, void *p, size_t n, size_t size)
{
	if (!p)
		return;
	size_t bytes = n * size;
	m->now_bytes -= bytes;
	if (bytes >= LARGE_BYTES)
		munmap(p, bytes);
	else
		free(p);
}
