/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Buffers straight from the kernel: first touch of fresh memory costs as much as a sort, so large
 * ones ask for huge pages, and freeing returns them at once (the next phase needs the room). */
#include "mem.h"
#include "minmax.h"
#include "progress.h"
#include "size.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { LARGE_BYTES = 1 << 20, PAGE_BYTES = 4096 };

/* Stands before each array, so that freeing it does not take its size. */
typedef struct array_header {
	size_t bytes; /* of the array */
	void *start;  /* as it was allocated */
} array_header;

_Static_assert(sizeof(array_header) % _Alignof(max_align_t) == 0, "arrays stay aligned");

/* The header of a large array has a page to itself. */
static size_t room_before(size_t bytes)
{
	return bytes >= LARGE_BYTES ? PAGE_BYTES : sizeof(array_header);
}

static void *large(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	(void)madvise(p, bytes, MADV_HUGEPAGE); /* a hint: without it things are only slower */
	return p;
}

void mem_hold(mem *m, size_t bytes)
{
	m->now_bytes += bytes;
	m->peak_bytes = size_max(m->peak_bytes, m->now_bytes);
	progress_hold(m->now_bytes);
}

void mem_drop(mem *m, size_t bytes)
{
	m->now_bytes -= bytes;
	progress_hold(m->now_bytes);
}

void *mem_array(mem *m, size_t n, size_t size, const char *name, err *e)
{
	char text[SIZE_TEXT_BYTES];
	size_t bytes, room;
	unsigned char *start = NULL;
	if (!size_mul(n, size, &bytes))
		bytes = SIZE_MAX; /* no machine has it */
	if (!__builtin_add_overflow(bytes, room_before(bytes), &room))
		start = bytes >= LARGE_BYTES ? large(room) : calloc(room, 1);
	if (!start) {
		err_set(e, ST_RESOURCE, "no memory for %s: %s", name, size_text(bytes, text));
		return NULL;
	}
	mem_hold(m, bytes);
	unsigned char *p = start + room_before(bytes);
	((array_header *)(void *)p)[-1] = (array_header){ bytes, start };
	return p;
}

void mem_free(mem *m, void *p)
{
	if (!p)
		return;
	const array_header h = ((array_header *)p)[-1];
	mem_drop(m, h.bytes);
	if (h.bytes >= LARGE_BYTES)
		munmap(h.start, h.bytes + room_before(h.bytes));
	else
		free(h.start);
}
