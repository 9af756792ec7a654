/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Full lines by streaming stores, which x86-64 always has; the ends by ordinary ones. Pure. */
#include "streaming_store.h"

#include <stdint.h>

void streaming_store_begin(streaming_store *p, unsigned char *to)
{
	p->skip = p->used = (uintptr_t)to % STREAMING_LINE;
	p->to = to - p->skip;
}

/* The part of the first line that is ours, once it is full (or at the end). */
static void write_first(streaming_store *p, size_t end)
{
	memcpy(p->to + p->skip, p->stage + p->skip, end - p->skip);
	p->skip = 0;
}

void streaming_store_flush(streaming_store *p)
{
	const size_t whole = p->used / STREAMING_LINE * STREAMING_LINE;
	size_t from = 0;
	if (p->skip && whole) {
		write_first(p, STREAMING_LINE);
		from = STREAMING_LINE;
	}
	for (; from < whole; from += STREAMING_LINE)
		streaming_store_line(p->to + from, p->stage + from);
	p->to += whole;
	p->used -= whole;
	memmove(p->stage, p->stage + whole, p->used);
}

void streaming_store_end(streaming_store *p)
{
	streaming_store_flush(p);
	write_first(p, p->used);
	streaming_store_fence();
}
