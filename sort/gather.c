/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random gather with prefetch: the record that is copied now was asked for DISTANCE records ago.
 * Pure. A 100-byte record spans two or three cache lines. */
#include "gather.h"

enum { DISTANCE = 16, LINE = 64 };

/* The lines of one record: a longer one's first two and its last; the hardware follows from there.
 */
static inline void fetch(const records *r, const entry *e)
{
	const unsigned char *p = record_at(r, entry_pos(e));
	const uint32_t last = r->lay.record_bytes - 1;
	__builtin_prefetch(p);
	if (last > LINE)
		__builtin_prefetch(p + LINE);
	if (last > 0)
		__builtin_prefetch(p + last);
}

void gather(const records *r, const entry *order, size_t n, size_t ahead, unsigned char *out)
{
	const uint32_t bytes = r->lay.record_bytes;
	const size_t known = n + ahead;
	for (size_t i = 0; i < n && i < DISTANCE; i++)
		fetch(r, &order[i]);
	for (size_t i = 0; i < n; i++, out += bytes) {
		if (i + DISTANCE < known)
			fetch(r, &order[i + DISTANCE]);
		record_copy(out, record_at(r, entry_pos(&order[i])), bytes);
	}
}
