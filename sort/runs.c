/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finding a place in a sorted run. Pure. */
#include "runs.h"

uint64_t runs_before(const runs *r, uint64_t lo, uint64_t hi, const item *it)
{
	while (lo < hi) {
		const uint64_t mid = lo + (hi - lo) / 2;
		if (entry_item_cmp(&r->e[mid], it, &r->recs) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}
