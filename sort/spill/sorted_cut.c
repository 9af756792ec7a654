/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cut of each file lies in a bracket. The middle of the widest bracket is the pivot: its place
 * among all records, found by bisection in every bracket, tells on which side of it the cut is.
 * Files that are not sorted lead to a wrong cut, not to an endless search; merging sees that they
 * are not. Memory: two numbers and a record for each file. */
#include "sorted_cut.h"
#include "base/lower_bound.h"
#include "io/io_fd.h"
#include "kernel/key.h"

enum { SCAN_BYTES = 1 << 20 };

typedef struct cutting {
	sorted_files *files;
	layout lay;
	size_t count;
	uint64_t *lo, *hi;                   /* [count] the brackets */
	unsigned char *rec, *pivot, *before; /* records */
	err *e;
} cutting;

static status read_rec(const cutting *c, size_t k, uint64_t i, unsigned char *to)
{
	const uint32_t bytes = c->lay.record_bytes;
	return sorted_files_read(c->files, k, to, bytes, i * bytes, c->e);
}

/* How many of file k's records [lo, hi) come before a record of file `of`, or, with `equal`, also
 * those with its key. */
static status place_in(const cutting *c, size_t k, uint64_t lo, uint64_t hi,
		       const unsigned char *rec, bool equal, uint64_t *place)
{
	lower_bound b = { .lo = lo, .hi = hi };
	status rc = ST_OK;
	while (rc == ST_OK && lower_bound_open(&b)) {
		rc = read_rec(c, k, b.mid, c->rec);
		const int order = rc == ST_OK ? key_compare(&c->lay, c->rec, rec) : 0;
		lower_bound_step(&b, equal ? order <= 0 : order < 0);
	}
	*place = b.lo;
	return rc;
}

/* The file with the widest bracket; false: all are closed. */
static bool widest(const cutting *c, size_t *file)
{
	*file = 0;
	for (size_t k = 1; k < c->count; k++)
		if (c->hi[k] - c->lo[k] > c->hi[*file] - c->lo[*file])
			*file = k;
	return c->hi[*file] > c->lo[*file];
}

/* Halve the bracket of file `of`; the others follow. */
static status narrow(const cutting *c, size_t of, uint64_t before, uint64_t *place)
{
	const uint64_t mid = c->lo[of] + (c->hi[of] - c->lo[of]) / 2;
	uint64_t sum = 0;
	status rc = read_rec(c, of, mid, c->pivot);
	for (size_t k = 0; rc == ST_OK && k < c->count; k++) {
		place[k] = mid;
		if (k != of)
			rc = place_in(c, k, c->lo[k], c->hi[k], c->pivot, k < of, &place[k]);
		sum += place[k];
	}
	if (rc != ST_OK)
		return rc;
	const bool is_before = sum < before; /* the pivot itself */
	for (size_t k = 0; k < c->count; k++)
		*(is_before ? &c->lo[k] : &c->hi[k]) = place[k] + (is_before && k == of);
	return ST_OK;
}

/* The greatest record before the cut; false: there is none. */
static status last_before(const cutting *c, const uint64_t *cut, bool *any)
{
	status rc = ST_OK;
	*any = false;
	for (size_t k = 0; rc == ST_OK && k < c->count; k++) {
		if (cut[k] == 0)
			continue;
		rc = read_rec(c, k, cut[k] - 1, c->rec);
		if (rc == ST_OK && (!*any || key_compare(&c->lay, c->rec, c->before) > 0)) {
			memcpy(c->before, c->rec, c->lay.record_bytes);
			*any = true;
		}
	}
	return rc;
}

static status take_whole_keys(const cutting *c, uint64_t *cut)
{
	bool any;
	status rc = last_before(c, cut, &any);
	for (size_t k = 0; rc == ST_OK && any && k < c->count; k++)
		rc = place_in(c, k, cut[k], sorted_files_recs(c->files, k), c->before, true,
			      &cut[k]);
	return rc;
}

/* Two ranks see these records, and neither of them both. */
static status check_order(const cutting *c, const uint64_t *cut)
{
	status rc = ST_OK;
	for (size_t k = 0; rc == ST_OK && k < c->count; k++) {
		if (cut[k] == 0 || cut[k] == sorted_files_recs(c->files, k))
			continue;
		rc = read_rec(c, k, cut[k] - 1, c->before);
		if (rc == ST_OK)
			rc = read_rec(c, k, cut[k], c->rec);
		if (rc == ST_OK && key_compare(&c->lay, c->before, c->rec) > 0)
			rc = sorted_files_disorder(c->files, k, cut[k], c->e);
	}
	return rc;
}

static status cutting_open(cutting *c, sorted_files *s, mem *m, err *e)
{
	const layout *l = sorted_files_layout(s);
	*c = (cutting){ .files = s, .lay = *l, .count = sorted_files_count(s), .e = e };
	c->lo = mem_array(m, c->count, sizeof *c->lo, "cuts", e);
	c->hi = mem_array(m, c->count, sizeof *c->hi, "cuts", e);
	c->rec = mem_array(m, 3, l->record_bytes, "records", e);
	if (!c->lo || !c->hi || !c->rec)
		return ST_RESOURCE;
	c->pivot = c->rec + l->record_bytes;
	c->before = c->pivot + l->record_bytes;
	for (size_t k = 0; k < c->count; k++)
		c->hi[k] = sorted_files_recs(s, k);
	return ST_OK;
}

static void cutting_close(cutting *c, mem *m)
{
	mem_free(m, c->lo);
	mem_free(m, c->hi);
	mem_free(m, c->rec);
}

status sorted_cut(sorted_files *s, mem *m, uint64_t before, bool whole_keys, uint64_t *cut, err *e)
{
	cutting c;
	size_t of;
	status rc = cutting_open(&c, s, m, e);
	while (rc == ST_OK && c.count && widest(&c, &of))
		rc = narrow(&c, of, before, cut);
	for (size_t k = 0; rc == ST_OK && k < c.count; k++)
		cut[k] = c.lo[k];
	if (rc == ST_OK && whole_keys)
		rc = take_whole_keys(&c, cut);
	if (rc == ST_OK)
		rc = check_order(&c, cut);
	cutting_close(&c, m);
	return rc;
}

/* ------------------------------------------------------------------------- what is not sorted */

/* The first record of buf, n in all, that belongs before the one before it; n: none. */
static size_t first_disorder(const layout *l, const unsigned char *buf, size_t n)
{
	size_t i = 1;
	while (i < n &&
	       key_compare(l, buf + (i - 1) * l->record_bytes, buf + i * l->record_bytes) <= 0)
		i++;
	return i < n ? i : n;
}

status sorted_cut_crossed(sorted_files *s, mem *m, size_t file, err *e)
{
	const layout *l = sorted_files_layout(s);
	const uint64_t count = sorted_files_recs(s, file);
	const size_t most = SCAN_BYTES / l->record_bytes + 2;
	unsigned char *buf = mem_array(m, most, l->record_bytes, "records", e);
	status rc = buf ? ST_OK : ST_RESOURCE;
	for (uint64_t at = 0; rc == ST_OK && at + 1 < count; at += most - 1) { /* one twice */
		const size_t n = count - at < most ? (size_t)(count - at) : most;
		rc = sorted_files_read(s, file, buf, n * l->record_bytes, at * l->record_bytes, e);
		const size_t bad = rc == ST_OK ? first_disorder(l, buf, n) : n;
		if (bad < n)
			rc = sorted_files_disorder(s, file, at + bad, e);
	}
	mem_free(m, buf);
	return rc == ST_OK ? sorted_files_changed(s, file, e) : rc;
}
