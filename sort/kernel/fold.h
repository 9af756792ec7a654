/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Folding: of records with equal keys only the first is kept, and fields of the others are added to
 * its fields, counted, or compared with them (--unique with --count, --sum, --min, --max).
 *
 * Records are folded wherever they are in order in memory: in a run before it is written, in a
 * block before it is sent, and at the end in the selection (phases/selection.h). To fold early only
 * saves time: two records stay apart if their sum does not fit the field. So only the
 * selection, which adds up in 128 bits, decides whether a sum is too large, and the result does not
 * depend on ranks, runs and lanes. Sums of floats would depend on them; their least and greatest
 * values do not. Pure. */
#ifndef HETSORT_KERNEL_FOLD_H
#define HETSORT_KERNEL_FOLD_H

#include "inspect.h"
#include "key.h"

/* An integer; of a float, a number with the same order. A sum of 2^64 of them fits. */
typedef __int128 fold_value;

/* Dropped records. Their checksum is the checksum of the records that came without the checksum of
 * the records that are left, so it includes the changes of folded fields. Its total has only
 * records whose fields were not added to others. */
typedef struct dropped {
	uint64_t records;
	checksum sum;
} dropped;

static inline void dropped_join(dropped *d, const dropped *more)
{
	d->records += more->records;
	d->sum = checksum_join(d->sum, more->sum);
}

/* dropped_change - note that records with the first checksum have become records with the second
 * one. Totals do not count: sums have only moved to other records. */
static inline void dropped_change(dropped *d, checksum before, checksum after)
{
	checksum change = checksum_without(before, after);
	change.total = 0;
	d->sum = checksum_join(d->sum, change);
}

/* fold_bits - read an integer of 1 to 8 bytes. */
static inline uint64_t fold_bits(const unsigned char *p, uint32_t bytes, bool little)
{
	uint64_t v = 0;
	uint32_t v32;
	if (bytes == sizeof v) {
		memcpy(&v, p, sizeof v);
		return little ? le64toh(v) : be64toh(v);
	}
	if (bytes == sizeof v32) {
		memcpy(&v32, p, sizeof v32);
		return little ? le32toh(v32) : be32toh(v32);
	}
	for (uint32_t i = 0; i < bytes; i++)
		v |= (uint64_t)p[little ? i : bytes - 1 - i] << 8 * i;
	return v;
}

static inline fold_value fold_load(const key_field *f, const unsigned char *rec)
{
	const unsigned up = 64 - 8 * f->bytes; /* 0 to 56 */
	const uint64_t v = fold_bits(rec + f->off, f->bytes, f->little);
	if (f->type == KEY_TYPE_UNSIGNED)
		return v;
	const int64_t whole = (int64_t)(v << up) >> up; /* with its sign */
	if (f->type == KEY_TYPE_FLOAT && whole < 0)
		return -(fold_value)((v << up << 1) >> 1 >> up) - 1;
	return whole;
}

static inline fold_value fold_join(const key_field *f, fold_value a, fold_value b)
{
	return f->fold == FOLD_MIN   ? (b < a ? b : a)
	       : f->fold == FOLD_MAX ? (b > a ? b : a)
				     : a + b;
}

/* fold_factor - return the factor of folded field i in totals: other factors for other fields show
 * that a value has moved from one to the other. */
static inline uint64_t fold_factor(uint32_t i)
{
	return 2 * (uint64_t)i + 1;
}

/* fold_fits - return whether the field can hold a value; of a count, it holds the largest possible
 * number instead. fold_store - write a value that fits. */
static inline bool fold_fits(const key_field *f, fold_value v)
{
	const bool has_sign = f->type != KEY_TYPE_UNSIGNED;
	const fold_value end = (fold_value)1 << (8 * f->bytes - has_sign);
	return f->fold == FOLD_COUNT || (v < end && v >= (has_sign ? -end : 0));
}

static inline void fold_store(const key_field *f, unsigned char *rec, fold_value v)
{
	const unsigned bits = 8 * f->bytes;
	uint64_t raw = (uint64_t)v;
	if (f->fold == FOLD_COUNT && v >> bits)
		raw = ~UINT64_C(0);
	if (f->type == KEY_TYPE_FLOAT && v < 0) /* the sign, and the bits that fold_load negated */
		raw = (uint64_t)(-v - 1) | UINT64_C(1) << (bits - 1);
	field_store(f, rec, raw);
}

/* fold_begin - set the counts of n records that were read to 1. */
void fold_begin(const layout *l, unsigned char *recs, size_t n, dropped *d);

/* fold_records - fold n > 0 records in order, in place. Their counts are set already. Return the
 * number of records that are left, at least 1. */
size_t fold_records(const layout *l, unsigned char *recs, size_t n, dropped *d);

#endif
