/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Looking at records while they are in the cache. Pure. */
#include "inspect.h"

/* Keys of the usual size compare as two numbers, without a call. */
static size_t unordered10(const unsigned char *key, size_t n, size_t stride)
{
	size_t bad = 0;
	entry before = entry_make10(key, 0);
	for (size_t i = 1; i < n; i++) {
		const entry e = entry_make10(key += stride, 0);
		bad += (before.hi > e.hi) | ((before.hi == e.hi) & (before.lo > e.lo));
		before = e;
	}
	return bad;
}

size_t inspect_unordered(const layout *l, const unsigned char *recs, size_t n)
{
	const unsigned char *key = recs + l->key_off;
	size_t bad = 0;
	if (n == 0 || l->key_bytes == DEFAULT_KEY_BYTES)
		return n ? unordered10(key, n, l->record_bytes) : 0;
	for (size_t i = 1; i < n; i++, key += l->record_bytes)
		bad += memcmp(key, key + l->record_bytes, l->key_bytes) > 0;
	return bad;
}

size_t inspect(inspected *seen, const layout *l, const unsigned char *recs, size_t n)
{
	const unsigned char *first = recs + l->key_off;
	size_t bad = inspect_unordered(l, recs, n);
	if (seen->records == 0)
		memcpy(seen->first_key, first, l->key_bytes);
	else
		bad += memcmp(seen->last_key, first, l->key_bytes) > 0;
	memcpy(seen->last_key, first + (n - 1) * l->record_bytes, l->key_bytes);
	seen->sum = checksum_join(seen->sum, checksum_records(recs, n, l->record_bytes));
	seen->records += n;
	return bad;
}
