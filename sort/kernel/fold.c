/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fold.h"

void fold_store(const key_field *f, unsigned char *rec, fold_value v)
{
	const unsigned bits = 8 * f->bytes;
	uint64_t raw = (uint64_t)v;
	if (f->fold == FOLD_COUNT && v >> bits)
		raw = ~UINT64_C(0);
	if (f->type == KEY_TYPE_FLOAT && v < 0) /* the sign, and the bits that fold_load negated */
		raw = (uint64_t)(-v - 1) | UINT64_C(1) << (bits - 1);
	for (uint32_t i = 0; i < f->bytes; i++)
		rec[f->off + (f->little ? i : f->bytes - 1 - i)] = (unsigned char)(raw >> 8 * i);
}

/* Add to d the checksum of records that have changed, without their totals: sums have only moved.
 */
static void dropped_change(dropped *d, checksum before, checksum after)
{
	checksum change = checksum_without(before, after);
	change.total = 0;
	d->sum = checksum_join(d->sum, change);
}

void fold_begin(const layout *l, unsigned char *recs, size_t n, dropped *d)
{
	for (const key_field *f = l->fold; f < l->fold + l->folds; f++) {
		if (f->fold != FOLD_COUNT)
			continue;
		const checksum before = checksum_records(l, recs, n);
		for (size_t i = 0; i < n; i++)
			fold_store(f, recs + i * l->record_bytes, 1);
		dropped_change(d, before, checksum_records(l, recs, n));
	}
}

/* Fold record rec into record `to`. Return false, without a change, if a sum does not fit. */
static bool fold_pair(const layout *l, unsigned char *to, const unsigned char *rec)
{
	fold_value v[FOLDS_MAX];
	for (uint32_t i = 0; i < l->folds; i++) {
		const key_field *f = &l->fold[i];
		v[i] = fold_join(f, fold_load(f, to), fold_load(f, rec));
		if (!fold_fits(f, v[i]))
			return false;
	}
	for (uint32_t i = 0; i < l->folds; i++)
		fold_store(&l->fold[i], to, v[i]);
	return true;
}

size_t fold_records(const layout *l, unsigned char *recs, size_t n, dropped *d)
{
	const size_t bytes = l->record_bytes;
	checksum before = { 0 }; /* of the record at `to`, if it has changed */
	unsigned char *to = recs;
	bool changed = false;
	for (const unsigned char *rec = recs + bytes, *end = recs + n * bytes; rec < end;
	     rec += bytes) {
		if (key_compare(l, to, rec) == 0) {
			if (l->folds && !changed)
				before = checksum_records(l, to, 1);
			if (fold_pair(l, to, rec)) {
				changed = l->folds > 0;
				dropped_change(d, checksum_records(l, rec, 1), (checksum){ 0 });
				d->records++;
				continue;
			}
		}
		if (changed)
			dropped_change(d, before, checksum_records(l, to, 1));
		changed = false;
		to += bytes;
		if (to != rec)
			record_copy(to, rec, l->record_bytes);
	}
	if (changed)
		dropped_change(d, before, checksum_records(l, to, 1));
	return (size_t)(to - recs) / bytes + 1;
}
