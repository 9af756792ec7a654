/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Looking at records while they are in the cache. Pure. */
#include "inspect.h"

size_t unordered(const layout *l, const unsigned char *recs, size_t n)
{
	const unsigned char *key = recs + l->key_off;
	size_t bad = 0;
	for (size_t i = 1; i < n; i++) {
		const unsigned char *k = key + i * l->record_bytes;
		if (l->key_bytes == DEFAULT_KEY_BYTES)
			bad += memcmp(k - l->record_bytes, k, DEFAULT_KEY_BYTES) > 0;
		else
			bad += memcmp(k - l->record_bytes, k, l->key_bytes) > 0;
	}
	return bad;
}

size_t inspect(inspected *seen, const layout *l, const unsigned char *recs, size_t n)
{
	const unsigned char *first = recs + l->key_off;
	size_t bad = unordered(l, recs, n);
	if (seen->records == 0)
		memcpy(seen->first_key, first, l->key_bytes);
	else
		bad += memcmp(seen->last_key, first, l->key_bytes) > 0;
	memcpy(seen->last_key, first + (n - 1) * l->record_bytes, l->key_bytes);
	seen->sum = checksum_join(seen->sum, checksum_records(recs, n, l->record_bytes));
	seen->records += n;
	return bad;
}
