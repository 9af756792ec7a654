/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finding a place in a sorted run, whether in memory or on disk. */
#include "runs.h"
#include "base/lower_bound.h"
#include "base/minmax.h"
#include "spill.h"

/* Record `place` of run k on disk, as an item with its place for a position. */
static void item_on_disk(const runs *r, size_t k, uint64_t place, item *it)
{
	const unsigned char *rec;
	const records one = { NULL, r->recs.lay, r->recs.rank };
	*it = (item){ .rank = one.rank };
	if (r->lookup->key(r->spill, &r->lookup->view, k, place - r->start[k], &rec,
			   &r->lookup->e) != ST_OK)
		return;
	const records at = { rec, one.lay, one.rank };
	const entry e = entry_make(rec, &one.lay, 0);
	item_of(it, &e, &at);
	it->lo |= place;
}

static size_t run_of(const runs *r, uint64_t place)
{
	lower_bound b = { .lo = 1, .hi = r->count };
	while (lower_bound_open(&b))
		lower_bound_step(&b, r->start[b.mid] <= place);
	return b.lo - 1;
}

void runs_item(const runs *r, uint64_t place, item *it)
{
	if (r->spill) {
		item_on_disk(r, run_of(r, place), place, it);
		return;
	}
	const entry e = runs_entry(r, place);
	item_of(it, &e, &r->recs);
}

size_t runs_samples_before(const runs *r, size_t k, const item *it)
{
	lower_bound b = { .lo = 0, .hi = runs_samples(r, k) };
	while (lower_bound_open(&b))
		lower_bound_step(&b, item_cmp(runs_sample(r, k, b.mid), it, &r->recs.lay) < 0);
	return b.lo;
}

void runs_between_samples(const runs *r, size_t k, const item *it, uint64_t *lo, uint64_t *hi)
{
	const size_t s = runs_samples_before(r, k, it);
	*lo = s ? r->start[k] + (s - 1) * r->stride + 1 : r->start[k];
	*hi = s < runs_samples(r, k) ? r->start[k] + s * r->stride : r->start[k + 1];
}

/* Samples narrow the search to one stride of the run; its last steps read one block. */
static uint64_t before_on_disk(const runs *r, uint64_t lo, uint64_t hi, const item *it)
{
	const size_t k = run_of(r, lo);
	uint64_t from, to;
	runs_between_samples(r, k, it, &from, &to);
	lower_bound b = { .lo = u64_max(lo, u64_min(from, hi)) };
	b.hi = u64_max(b.lo, u64_min(to, hi));
	while (r->lookup->e.code == ST_OK && lower_bound_open(&b)) {
		item_on_disk(r, k, b.mid, r->lookup->it);
		lower_bound_step(&b, item_cmp(r->lookup->it, it, &r->recs.lay) < 0);
	}
	return b.lo;
}

uint64_t runs_before(const runs *r, uint64_t lo, uint64_t hi, const item *it)
{
	if (r->spill && lo < hi)
		return before_on_disk(r, lo, hi, it);
	lower_bound b = { .lo = lo, .hi = hi };
	while (lower_bound_open(&b)) {
		const entry e = runs_entry(r, b.mid);
		lower_bound_step(&b, entry_item_cmp(&e, it, &r->recs) < 0);
	}
	return b.lo;
}

status runs_failure(const runs *r, err *e)
{
	const err *own = r->spill ? &r->lookup->e : NULL;
	return own && own->code != ST_OK ? err_set(e, own->code, "%s", own->text) : ST_OK;
}
