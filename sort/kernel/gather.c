/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Copying records in random order with prefetch, and streaming stores. A record is prefetched
 * record_ahead() records before it is copied. Streaming stores, which every x86-64 processor has,
 * write full cache lines; ordinary stores write both ends of the output. Pure. */
#include "gather.h"
#include "base/size.h"

size_t gather(const records *r, const entry *order, size_t n, size_t ahead, unsigned char *out)
{
	const layout l = r->lay;
	const size_t distance = record_ahead(l.record_bytes), known = n + ahead;
	size_t misfits = 0;
	for (size_t i = 0; i < known && i < distance && n > 0; i++)
		record_fetch(record_at(r, entry_pos(&order[i])), l.record_bytes);
	for (size_t i = 0; i < n; i++, out += l.record_bytes) {
		if (i + distance < known)
			record_fetch(record_at(r, entry_pos(&order[i + distance])), l.record_bytes);
		const unsigned char *rec = record_at(r, entry_pos(&order[i]));
		misfits += !entry_fits(&order[i], rec, &l);
		record_copy(out, rec, l.record_bytes);
	}
	return misfits;
}

status gather_misfits(size_t misfits, err *e)
{
	return misfits ? err_set(e, ST_INTERNAL,
				 "the keys of %zu record%s changed in memory while they were "
				 "sorted: another program or thread wrote to them, or the memory "
				 "of this computer has errors",
				 misfits, plural(misfits))
		       : ST_OK;
}

void streaming_store_begin(streaming_store *p, unsigned char *to)
{
	p->skip = p->used = (uintptr_t)to % STREAMING_LINE;
	p->to = to - p->skip;
}

/* Write bytes [p->skip, end) of the stage's first line. */
static void streaming_store_first(streaming_store *p, size_t end)
{
	memcpy(p->to + p->skip, p->stage + p->skip, end - p->skip);
	p->skip = 0;
}

void streaming_store_flush(streaming_store *p)
{
	const size_t whole = p->used / STREAMING_LINE * STREAMING_LINE;
	size_t from = 0;
	if (p->skip && whole) {
		streaming_store_first(p, STREAMING_LINE);
		from = STREAMING_LINE;
	}
	if (from < whole)
		streaming_store_lines(p->to + from, p->stage + from, whole - from);
	p->to += whole;
	p->used -= whole;
	memmove(p->stage, p->stage + whole, p->used);
}

void streaming_store_end(streaming_store *p)
{
	streaming_store_flush(p);
	streaming_store_first(p, p->used);
	streaming_store_fence();
}
