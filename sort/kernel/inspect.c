/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inspection of records while they are in the cache. Pure. */
#include "inspect.h"
#include "key.h"

/* Keys that fit into a prefix are compared as two numbers, without a call or a branch. */
size_t inspect_unordered(const layout *l, const unsigned char *recs, size_t n)
{
	size_t bad = 0;
	if (n == 0)
		return 0;
	if (key_tail_bytes(l)) {
		for (size_t i = 1; i < n; i++, recs += l->record_bytes)
			bad += key_compare(l, recs, recs + l->record_bytes) > 0;
		return bad;
	}
	key_prefix before = key_prefix_of(l, recs);
	for (size_t i = 1; i < n; i++) {
		const key_prefix k = key_prefix_of(l, recs += l->record_bytes);
		bad += (before.hi > k.hi) | ((before.hi == k.hi) & (before.lo > k.lo));
		before = k;
	}
	return bad;
}

/* Update the smallest and the greatest key by n records. */
static void inspect_ends(inspected *seen, const layout *l, const unsigned char *rec, size_t n)
{
	if (seen->records == 0) {
		key_copy(l, seen->first_key, rec);
		key_copy(l, seen->last_key, rec);
	}
	for (size_t i = 0; i < n; i++, rec += l->record_bytes) {
		if (key_copy_compare(l, seen->first_key, rec) > 0)
			key_copy(l, seen->first_key, rec);
		else if (key_copy_compare(l, seen->last_key, rec) < 0)
			key_copy(l, seen->last_key, rec);
	}
}

size_t inspect(inspected *seen, const layout *l, const unsigned char *recs, size_t n)
{
	const bool strict = seen->order == INSPECT_STRICT;
	size_t bad = 0;
	if (seen->order == INSPECT_ANY) {
		if (seen->first_key)
			inspect_ends(seen, l, recs, n);
	} else {
		if (!strict)
			bad = inspect_unordered(l, recs, n);
		const unsigned char *rec = recs;
		for (size_t i = 1; strict && i < n; i++, rec += l->record_bytes)
			bad += key_compare(l, rec, rec + l->record_bytes) >= 0;
		if (seen->records == 0)
			key_copy(l, seen->first_key, recs);
		else
			bad += key_copy_compare(l, seen->last_key, recs) > (strict ? -1 : 0);
		key_copy(l, seen->last_key, recs + (n - 1) * l->record_bytes);
	}
	seen->sum = checksum_join(seen->sum, checksum_records(l, recs, n));
	seen->records += n;
	return bad;
}

bool inspected_join(inspected *seen, const layout *l, const inspected *next)
{
	const int most = seen->order == INSPECT_STRICT ? -1 : 0;
	bool good = true;
	if (next->records == 0)
		return true;
	if (seen->records == 0)
		memcpy(seen->first_key, next->first_key, l->key_bytes);
	else
		good = key_copies_compare(l, seen->last_key, next->first_key) <= most;
	memcpy(seen->last_key, next->last_key, l->key_bytes);
	seen->sum = checksum_join(seen->sum, next->sum);
	seen->written = checksum_join(seen->written, next->written);
	seen->records += next->records;
	return good;
}
