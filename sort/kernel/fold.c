/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fold.h"

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

/* Do fold_records. The first bytes of keys are compared as numbers: w is their window. */
static inline __attribute__((always_inline)) size_t fold_records_as(const layout *l,
								    const key_window *w,
								    unsigned char *recs, size_t n,
								    dropped *d, window_kind of)
{
	const size_t bytes = l->record_bytes;
	const bool whole = l->key_bytes <= KEY_WINDOW_BYTES;
	uint64_t last = key_window_read_as(of, l, w, recs);
	checksum before = { 0 }; /* of the record at `to`, if it has changed */
	unsigned char *to = recs;
	bool changed = false;
	for (const unsigned char *rec = recs + bytes, *end = recs + n * bytes; rec < end;
	     rec += bytes) {
		const uint64_t first = key_window_read_as(of, l, w, rec);
		if (first == last && (whole || key_compare(l, to, rec) == 0)) {
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
		last = first;
		to += bytes;
		if (to != rec)
			record_copy(to, rec, l->record_bytes);
	}
	if (changed)
		dropped_change(d, before, checksum_records(l, to, 1));
	return (size_t)(to - recs) / bytes + 1;
}

size_t fold_records(const layout *l, unsigned char *recs, size_t n, dropped *d)
{
	const uint32_t some = l->key_bytes < KEY_WINDOW_BYTES ? l->key_bytes : KEY_WINDOW_BYTES;
	const key_window w = key_window_at(l, 0, some);
	return WITH_WINDOW(w.of, fold_records_as, l, &w, recs, n, d);
}
