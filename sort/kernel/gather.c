/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random gather with prefetch: the record that is copied now was asked for record_ahead()
 * records ago. Pure. A 100-byte record spans two or three cache lines. */
#include "gather.h"
#include "streaming_store.h"

/* order holds positions under mask, one every `step` words; streaming: where they go instead of
 * out. */
static inline __attribute__((always_inline)) void
by_positions(const records *r, const uint64_t *order, size_t step, uint64_t mask, size_t n,
	     size_t known, unsigned char *out, streaming_store *streaming)
{
	const uint32_t bytes = r->lay.record_bytes;
	const size_t distance = record_ahead(bytes);
	for (size_t i = 0; i < known && i < distance; i++)
		record_fetch(record_at(r, order[i * step] & mask), bytes);
	for (size_t i = 0; i < n; i++) {
		if (i + distance < known)
			record_fetch(record_at(r, order[(i + distance) * step] & mask), bytes);
		const unsigned char *rec = record_at(r, order[i * step] & mask);
		if (streaming) {
			record_copy(streaming_store_room(streaming), rec, bytes);
			streaming_store_add(streaming, bytes);
		} else {
			record_copy(out, rec, bytes);
			out += bytes;
		}
	}
}

void gather(const records *r, const entry *order, size_t n, size_t ahead, unsigned char *out)
{
	if (n > 0)
		by_positions(r, &order->lo, sizeof *order / sizeof order->lo, POS_MASK, n,
			     n + ahead, out, NULL);
}

void gather_u64(const records *r, const uint64_t *order, uint64_t pos_mask, size_t n,
		bool streaming, unsigned char *out)
{
	streaming_store to;
	if (!streaming) {
		by_positions(r, order, 1, pos_mask, n, n, out, NULL);
		return;
	}
	streaming_store_begin(&to, out);
	by_positions(r, order, 1, pos_mask, n, n, NULL, &to);
	streaming_store_end(&to);
}
