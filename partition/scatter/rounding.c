/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rounding.c - the rounding scheme of [S0]: nearest to a whole number first, then against the
 * running error e, so that no sum of shares drifts. The last share is n_k - e: the n_k + e of the
 * paper would miss the total. May not touch: costs. Costs O(p log p). */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "scatter.h"

struct real_share {
	long double whole, fraction; /* fraction in [0, 1) */
	size_t proc;
};

static int by_fraction(const void *va, const void *vb)
{
	const struct real_share *a = va, *b = vb;

	return part_compare(a->fraction, a->proc, b->fraction, b->proc);
}

/* e > 0: too much was given, so the next is the smallest fraction, cut off; e < 0: the largest,
 * made whole; e = 0: whichever is nearer. The last share is what is left.
 * Returns how many items were given too many, by the rounding of doubles. */
static uint64_t round_in_order(const struct real_share *parts, size_t p, uint64_t items,
			       uint64_t *share)
{
	size_t lo = 0, hi = p - 1;
	long double e = 0, given = 0;

	while (lo < hi) {
		bool up = e < 0 || (e == 0 && 1 - parts[hi].fraction < parts[lo].fraction);
		const struct real_share *x = up ? &parts[hi--] : &parts[lo++];
		long double add = up && x->fraction > 0 ? 1 : 0;
		share[x->proc] = (uint64_t)(x->whole + add);
		e += add - x->fraction;
		given += x->whole + add;
	}
	share[parts[lo].proc] = given < items ? items - (uint64_t)given : 0;
	return given > items ? (uint64_t)(given - items) : 0;
}

/* Rounding of doubles gave too much: the largest give it back. */
static void take_back(uint64_t *share, size_t p, uint64_t over)
{
	while (over > 0) {
		size_t most = 0;
		for (size_t i = 1; i < p; i++)
			if (share[i] > share[most])
				most = i;
		uint64_t take = min_u64(share[most], over);
		share[most] -= take;
		over -= take;
	}
}

hetpart_status part_sc_round(uint64_t *share, uint64_t items, const double *real, size_t p,
			     hetpart_err *err)
{
	struct real_share *parts = part_calloc(p, sizeof *parts);
	long double sum = 0, norm;

	if (!parts)
		return part_fail(err, HETPART_ENOMEM, "no memory for %zu processors", p);
	for (size_t i = 0; i < p; i++)
		sum += real[i];
	norm = sum > 0 ? items / sum : 0;
	if (fabsl(sum - items) <= 1e-12L * p)
		norm = 1; /* exact but for rounding: keep whole shares whole */
	for (size_t i = 0; i < p; i++) {
		parts[i].proc = i;
		parts[i].whole = floorl(real[i] * norm);
		parts[i].fraction = real[i] * norm - parts[i].whole;
	}
	qsort(parts, p, sizeof *parts, by_fraction);
	take_back(share, p, round_in_order(parts, p, items, share));
	free(parts);
	return HETPART_OK;
}

hetpart_status hetpart_scatter_round(uint64_t *shares, uint64_t items, const double *real,
				     size_t nprocs, hetpart_err *err)
{
	long double sum = 0;

	if (!shares || !real)
		return part_fail(err, HETPART_EINVAL, "'%s' is NULL", shares ? "real" : "shares");
	if (part_check_items(items, nprocs, err) != HETPART_OK)
		return nprocs ? HETPART_ERANGE : HETPART_EINVAL;
	for (size_t i = 0; i < nprocs; i++) {
		if (part_check_not_negative(real[i], "a real share", err) != HETPART_OK)
			return HETPART_EINVAL;
		sum += real[i];
	}
	if (!(fabsl(sum - items) <= 1 + 1e-9L * items))
		return part_fail(err, HETPART_EINVAL,
				 "the real shares sum to '%Lg': must be %" PRIu64 " items", sum,
				 items);
	return part_sc_round(shares, items, real, nprocs, err);
}
