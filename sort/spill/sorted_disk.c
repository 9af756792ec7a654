/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Looking up a record reads a block. Merging reads chunks of whole blocks straight into the rings;
 * where records do not fill blocks, the records are copied there from the blocks. */
#include "sorted_disk.h"
#include "base/lower_bound.h"
#include "base/minmax.h"
#include "sorted_merge.h"

#include <inttypes.h>

static sorted_disk *disk_of(sorted *s)
{
	return (void *)s;
}

static size_t run_of(const sorted *s, uint64_t place)
{
	lower_bound b = { .lo = 1, .hi = s->count };
	while (lower_bound_open(&b))
		lower_bound_step(&b, s->start[b.mid] <= place);
	return b.lo - 1;
}

static void item_of_run(sorted_disk *d, size_t k, uint64_t place, item *it)
{
	const unsigned char *rec;
	*it = (item){ .rank = d->s.rank };
	if (d->s.failed.code != ST_OK ||
	    spill_key(d->spill, &d->view, k, place - d->s.start[k], &rec, &d->s.failed) != ST_OK)
		return;
	const records at = { rec, d->s.lay, d->s.rank };
	const entry e = entry_make(rec, &at.lay, 0);
	item_of(it, &e, &at);
	it->lo |= place;
}

static void disk_item(sorted *s, uint64_t place, item *it)
{
	item_of_run(disk_of(s), run_of(s, place), place, it);
}

static const item *sample_at(const sorted_disk *d, size_t i)
{
	return (const void *)(d->sample + i * item_bytes(&d->s.lay));
}

/* Samples narrow the search to one stride of the run; its last steps read one block. */
static uint64_t disk_before(sorted *s, uint64_t lo, uint64_t hi, const item *it)
{
	sorted_disk *d = disk_of(s);
	if (lo >= hi)
		return hi;
	const size_t k = run_of(s, lo), first = d->sample_at[k], end = d->sample_at[k + 1];
	lower_bound b = { .lo = first, .hi = end };
	while (lower_bound_open(&b))
		lower_bound_step(&b, item_cmp(sample_at(d, b.mid), it, &s->lay) < 0);
	const uint64_t to = b.lo < end ? s->start[k] + (b.lo - first) * d->stride : hi;
	const uint64_t from = b.lo > first ? s->start[k] + (b.lo - first - 1) * d->stride + 1 : lo;
	b = (lower_bound){ .lo = u64_max(lo, u64_min(from, hi)) };
	b.hi = u64_max(b.lo, u64_min(to, hi));
	while (s->failed.code == ST_OK && lower_bound_open(&b)) {
		item_of_run(d, k, b.mid, d->it);
		lower_bound_step(&b, item_cmp(d->it, it, &s->lay) < 0);
	}
	return b.lo;
}

static size_t disk_sample(const sorted *s, size_t most, unsigned char *items)
{
	const sorted_disk *d = (const void *)s;
	const size_t all = d->sample_at[s->count], isz = item_bytes(&s->lay);
	const size_t n = size_min(all, most);
	for (size_t i = 0; i < n; i++)
		memcpy(items + i * isz, sample_at(d, (size_t)((unsigned __int128)all * i / n)),
		       isz);
	return n;
}

/* ----------------------------------------------------------------------------------- merging */

static sorted_chunk chunk_of(const void *spill_, size_t bytes)
{
	size_t buf_bytes;
	const size_t n = (size_t)spill_chunk_recs(spill_, bytes, &buf_bytes);
	const size_t unit = spill_block_recs(spill_);
	return unit ? (sorted_chunk){ n, unit, 0 }
		    : (sorted_chunk){ n, 1, buf_bytes + SPILL_ALIGN };
}

static status read_chunk(void *spill_, size_t k, uint64_t first, size_t n, const sorted_chunk *c,
			 unsigned char *to, void *bounce, checksum *sum, err *e)
{
	const size_t bytes = spill_record_bytes(spill_), skip = (size_t)(first % c->unit);
	unsigned char *buf = to - skip * bytes; /* where the block begins */
	size_t room = (skip + n + c->unit - 1) / c->unit * c->unit * bytes;
	const unsigned char *recs;
	(void)sum;
	if (c->bounce_bytes) {
		buf = (unsigned char *)bounce + (size_t)(-(uintptr_t)bounce % SPILL_ALIGN);
		room = c->bounce_bytes - SPILL_ALIGN;
	}
	const status rc = spill_read(spill_, k, first, n, buf, room, &recs, e);
	if (rc == ST_OK && recs != to)
		memcpy(to, recs, n * bytes);
	return rc;
}

static status disorder(const void *of, size_t k, uint64_t rec, err *e)
{
	(void)of;
	return err_set(e, ST_INTERNAL, "record %" PRIu64 " of run %zu is out of order", rec, k);
}

static status disk_open(sorted *s, mem *m, const uint64_t *lo, const uint64_t *hi,
			const sorted_use *u, sorted_reader **out, err *e)
{
	const sorted_source src = { .of = disk_of(s)->spill,
				    .chunk_bytes = SORTED_MERGE_CHUNK_BYTES,
				    .chunk = chunk_of,
				    .read_recs = read_chunk,
				    .disorder = disorder };
	return sorted_merge_open(s, m, &src, lo, hi, u, out, e);
}

status sorted_disk_open(sorted_disk *d, mem *m, const layout *l, uint32_t rank,
			const uint64_t *start, err *e)
{
	static const sorted_ops on_disk = { .item = disk_item,
					    .before = disk_before,
					    .sample = disk_sample,
					    .open_reader = disk_open,
					    .piece = sorted_merge_piece,
					    .give = sorted_merge_give,
					    .end = sorted_merge_end,
					    .close_reader = sorted_merge_close };
	spill_view *v = &d->view;
	d->s = (sorted){ .ops = &on_disk,
			 .lay = *l,
			 .rank = rank,
			 .count = d->s.count,
			 .start = start,
			 .costly = true };
	v->buf_bytes = spill_read_bytes(d->spill, 1);
	d->raw = mem_array(m, v->buf_bytes + SPILL_ALIGN, 1, "a block of a run", e);
	if (d->raw)
		v->buf = d->raw + (size_t)(-(uintptr_t)d->raw % SPILL_ALIGN);
	d->it = mem_array(m, 1, item_bytes(l), "a key", e);
	return d->raw && d->it ? ST_OK : ST_RESOURCE;
}

void sorted_disk_close(sorted_disk *d, mem *m)
{
	mem_free(m, d->sample);
	mem_free(m, d->sample_at);
	mem_free(m, d->raw);
	mem_free(m, d->it);
	spill_close(d->spill);
	*d = (sorted_disk){ .stride = 0 };
}
