/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random gather with prefetch: the record that is copied now was asked for record_ahead()
 * records ago. Pure. A 100-byte record spans two or three cache lines. */
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
				 "sorted: "
				 "test the memory of this computer",
				 misfits, plural(misfits))
		       : ST_OK;
}
