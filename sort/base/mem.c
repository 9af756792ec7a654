/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Large arrays come directly from the kernel. The first touch of fresh memory takes as long as a
 * sort, so these arrays ask for huge pages. Freeing an array returns its memory to the kernel at
 * once, because the next phase needs it. */
#include "mem.h"
#include "progress.h"
#include "size.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { LARGE_BYTES = 1 << 20, PAGE_BYTES = 4096, HUGE_PAGE_BYTES = 2 << 20, LINE_BYTES = 64 };

/* Stored before each array, so that callers of mem_free need not know the size. */
typedef struct array_header {
	size_t bytes; /* of the array */
	void *start;  /* as it was allocated */
} array_header;

/* Return the bytes to allocate before an array, for its header and alignment. For a large array,
 * this is a page. */
static size_t mem_room_before(size_t bytes)
{
	return bytes >= LARGE_BYTES ? PAGE_BYTES : sizeof(array_header) + LINE_BYTES;
}

/* Map memory that begins at a multiple of the size of a huge page, so that all but its end can be
 * in huge pages. Otherwise neighbouring arrays would share the huge page at their border. The
 * kernel could not use a huge page there, because the neighbour has already touched its part. */
static void *mem_map(size_t bytes)
{
	const size_t slack = bytes >= HUGE_PAGE_BYTES ? HUGE_PAGE_BYTES - PAGE_BYTES : 0;
	size_t all;
	if (__builtin_add_overflow(bytes, slack + PAGE_BYTES - 1, &all))
		return NULL;
	all -= all % PAGE_BYTES;
	unsigned char *p =
		mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	const size_t before = slack ? (size_t)(-(uintptr_t)p % HUGE_PAGE_BYTES) : 0;
	if (before > 0)
		munmap(p, before);
	if (before < slack)
		munmap(p + all - slack + before, slack - before);
	p += before;
	(void)madvise(p, all - slack, MADV_HUGEPAGE); /* a hint: without it, work is only slower */
	return p;
}

void mem_hold(mem *m, size_t bytes)
{
	const size_t now = atomic_fetch_add(&m->now_bytes, bytes) + bytes;
	size_t peak = m->peak_bytes;
	while (peak < now && !atomic_compare_exchange_weak(&m->peak_bytes, &peak, now))
		;
	progress_hold(now);
}

void mem_drop(mem *m, size_t bytes)
{
	progress_hold(atomic_fetch_sub(&m->now_bytes, bytes) - bytes);
}

void *mem_array(mem *m, size_t n, size_t size, const char *name, err *e)
{
	char text[SIZE_TEXT_BYTES];
	size_t bytes, room;
	unsigned char *start = NULL;
	if (!size_mul(n, size, &bytes))
		bytes = SIZE_MAX; /* more than any machine has */
	if (!__builtin_add_overflow(bytes, mem_room_before(bytes), &room))
		start = bytes >= LARGE_BYTES ? mem_map(room) : calloc(room, 1);
	if (!start) {
		err_set(e, ST_RESOURCE, "no memory for %s: %s", name, size_text(bytes, text));
		return NULL;
	}
	mem_hold(m, bytes);
	unsigned char *p = start + mem_room_before(bytes);
	p -= (uintptr_t)p % LINE_BYTES;
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
		munmap(h.start, h.bytes + mem_room_before(h.bytes));
	else
		free(h.start);
}
