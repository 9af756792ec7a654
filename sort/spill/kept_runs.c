/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One walk over runs and gaps; counting takes no loop over the pieces of a gap. */
#include "kept_runs.h"
#include "base/lower_bound.h"
#include "base/minmax.h"

/* The first run that begins at this record of the share, or behind it. */
static size_t run_from(const kept_runs *k, uint64_t at)
{
	lower_bound b = { .lo = 0, .hi = k->count };
	while (lower_bound_open(&b))
		lower_bound_step(&b, k->run[b.mid].first - k->first < at);
	return b.lo;
}

/* Where the gap before run i ends. */
static uint64_t gap_end(const kept_runs *k, size_t i)
{
	return i < k->count ? k->run[i].first - k->first : k->recs;
}

bool kept_runs_next(const kept_runs *k, uint64_t run_recs, kept_piece *p)
{
	const uint64_t at = p->first + p->recs;
	if (at >= k->recs)
		return false;
	const size_t i = run_from(k, at);
	const uint64_t gap = gap_end(k, i) - at;
	*p = gap ? (kept_piece){ at, u64_min(gap, run_recs), NULL }
		 : (kept_piece){ at, k->run[i].recs, &k->run[i] };
	return true;
}

/* And where it begins. */
static uint64_t gap_begin(const kept_runs *k, size_t i)
{
	return i == 0 ? 0 : k->run[i - 1].first + k->run[i - 1].recs - k->first;
}

uint64_t kept_runs_pieces(const kept_runs *k, uint64_t run_recs)
{
	uint64_t n = k->count;
	for (size_t i = 0; i <= k->count; i++) {
		const uint64_t gap = gap_end(k, i) - gap_begin(k, i);
		n += gap ? (gap - 1) / run_recs + 1 : 0;
	}
	return n;
}

size_t kept_runs_stride(const kept_runs *k)
{
	uint64_t most = 0;
	for (size_t i = 0; i < k->count; i++)
		most = u64_max(most, k->run[i].stride);
	return (size_t)most;
}
