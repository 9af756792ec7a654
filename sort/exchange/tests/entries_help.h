/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A sorted sequence of entries in memory, in any number of runs, for tests that look up places. */
#ifndef HETSORT_EXCHANGE_TESTS_ENTRIES_HELP_H
#define HETSORT_EXCHANGE_TESTS_ENTRIES_HELP_H

#include "base/arith.h"
#include "spill/sorted.h"

typedef struct entry_runs {
	sorted s;
	records recs;
	const entry *e;
} entry_runs;

static inline void entries_item(sorted *s, uint64_t place, item *it)
{
	const entry_runs *a = (const void *)s;
	item_of(it, &a->e[place], &a->recs);
}

static inline uint64_t entries_before(sorted *s, uint64_t lo, uint64_t hi, const item *it)
{
	const entry_runs *a = (const void *)s;
	lower_bound b = { .lo = lo, .hi = hi };
	while (lower_bound_open(&b))
		lower_bound_step(&b, entry_item_cmp(&a->e[b.mid], it, &a->recs) < 0);
	return b.lo;
}

/* Make a sequence whose run k is e[start[k] .. start[k + 1]). */
static inline entry_runs entries_of(records recs, const entry *e, size_t count,
				    const uint64_t *start)
{
	static const sorted_ops ops = { .item = entries_item, .before = entries_before };
	return (entry_runs){ .s = { .ops = &ops,
				    .lay = recs.lay,
				    .rank = recs.rank,
				    .count = count,
				    .start = start },
			     .recs = recs,
			     .e = e };
}

#endif
