/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inspects records while they are in the cache. Pure. */
#include "inspect.h"

/* Keys that a prefix holds compare as two numbers, without a call or a branch. */
static size_t unordered_prefixes(const layout *l, const unsigned char *rec, size_t n)
{
	size_t bad = 0;
	key_prefix before = key_prefix_of(l, rec);
	for (size_t i = 1; i < n; i++) {
		const key_prefix k = key_prefix_of(l, rec += l->record_bytes);
		bad += (before.hi > k.hi) | ((before.hi == k.hi) & (before.lo > k.lo));
		before = k;
	}
	return bad;
}

size_t inspect_unordered(const layout *l, const unsigned char *recs, size_t n)
{
	size_t bad = 0;
	if (n == 0 || !key_tail_bytes(l))
		return n ? unordered_prefixes(l, recs, n) : 0;
	for (size_t i = 1; i < n; i++, recs += l->record_bytes)
		bad += key_compare(l, recs, recs + l->record_bytes) > 0;
	return bad;
}

/* Count the records that are not above their predecessor. */
static size_t not_above(const layout *l, const unsigned char *rec, size_t n)
{
	size_t bad = 0;
	for (size_t i = 1; i < n; i++, rec += l->record_bytes)
		bad += key_compare(l, rec, rec + l->record_bytes) >= 0;
	return bad;
}

/* Update the smallest and greatest key; no record can violate INSPECT_ANY. */
static size_t find_ends(inspected *seen, const layout *l, const unsigned char *rec, size_t n)
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
	return 0;
}

static size_t follow(inspected *seen, const layout *l, const unsigned char *recs, size_t n)
{
	const bool strict = seen->order == INSPECT_STRICT;
	size_t bad = strict ? not_above(l, recs, n) : inspect_unordered(l, recs, n);
	if (seen->records == 0)
		key_copy(l, seen->first_key, recs);
	else
		bad += key_copy_compare(l, seen->last_key, recs) > (strict ? -1 : 0);
	key_copy(l, seen->last_key, recs + (n - 1) * l->record_bytes);
	return bad;
}

size_t inspect(inspected *seen, const layout *l, const unsigned char *recs, size_t n)
{
	const size_t bad =
		seen->order == INSPECT_ANY ? find_ends(seen, l, recs, n) : follow(seen, l, recs, n);
	seen->sum = checksum_join(seen->sum, checksum_records(recs, n, l->record_bytes));
	seen->records += n;
	return bad;
}
