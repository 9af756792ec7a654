/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorted sequences in files; sorted_merge.c reads them in pieces. A lookup reads one record of an
 * input file, or the whole block of a record in a run on disk.
 *
 * Runs on disk are read in chunks of whole blocks, directly into the rings of the merge. If records
 * may lie in two blocks, they are copied from the blocks into the rings.
 *
 * An input file is opened when it is first read. If too many files are open, opening another one
 * closes the least recently used file that no thread reads. To cut input files for several ranks,
 * the search keeps a bracket around the cut in each file. The record in the middle of the widest
 * bracket is the pivot. The pivot's place is found in every bracket, and the sum of these places
 * shows on which side of the pivot the cut is. Files that are not sorted lead to a wrong cut, but
 * not to an endless search. The merge detects them. */
#include "sorted_files.h"
#include "base/arith.h"
#include "kernel/key.h"

#include <inttypes.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
	LEAST_OPEN = 4, /* input files that are open at a time */
	MOST_OPEN = 512,
	FILES_OF_OTHERS = 64, /* descriptors that the rest of the process needs */
	DESCRIPTORS = 2,      /* of an input file */
	INPUT_CHUNK_BYTES = 1 << 20,
	SCAN_BYTES = 1 << 20,
};

/* ----------------------------------------------------------------------------- looking up */

static size_t run_of(const sorted *s, uint64_t place)
{
	lower_bound b = { .lo = 1, .hi = s->count };
	while (lower_bound_open(&b))
		lower_bound_step(&b, s->start[b.mid] <= place);
	return b.lo - 1;
}

/* Read the record at a place of run k, and set its item. */
static void item_of_run(sorted *s, size_t k, uint64_t place, item *it)
{
	records at = { NULL, s->lay, s->rank };
	*it = (item){ .rank = s->rank };
	if (s->failed.code != ST_OK ||
	    s->src->look(s, k, place - s->start[k], &at.base, &s->failed) != ST_OK)
		return;
	const entry e = entry_make(at.base, &at.lay, 0);
	item_of(it, &e, &at);
	it->lo |= place;
}

static void item_in_file(sorted *s, uint64_t place, item *it)
{
	item_of_run(s, run_of(s, place), place, it);
}

static uint64_t before_in_file(sorted *s, uint64_t lo, uint64_t hi, const item *it)
{
	const size_t k = run_of(s, lo);
	lower_bound b = { .lo = lo, .hi = hi };
	while (s->failed.code == ST_OK && lower_bound_open(&b)) {
		item_of_run(s, k, b.mid, s->looked);
		lower_bound_step(&b, item_cmp(s->looked, it, &s->lay) < 0);
	}
	return b.lo;
}

/* ----------------------------------------------------------------------------- runs on disk */

static sorted_disk *disk_of(const sorted *s)
{
	return (sorted_disk *)(uintptr_t)s;
}

static const item *disk_sample_item(const sorted_disk *d, size_t i)
{
	return (const void *)(d->sample + i * item_bytes(&d->s.lay));
}

/* Search the samples, and then one stride of the run; the last steps need a single block. */
static uint64_t disk_before(sorted *s, uint64_t lo, uint64_t hi, const item *it)
{
	const sorted_disk *d = disk_of(s);
	if (lo >= hi)
		return hi;
	const size_t k = run_of(s, lo), first = d->sample_at[k], end = d->sample_at[k + 1];
	lower_bound b = { .lo = first, .hi = end };
	while (lower_bound_open(&b))
		lower_bound_step(&b, item_cmp(disk_sample_item(d, b.mid), it, &s->lay) < 0);
	const uint64_t to = b.lo < end ? s->start[k] + (b.lo - first) * d->stride : hi;
	const uint64_t from = b.lo > first ? s->start[k] + (b.lo - first - 1) * d->stride + 1 : lo;
	lo = u64_max(lo, u64_min(from, hi));
	return before_in_file(s, lo, u64_max(lo, u64_min(to, hi)), it);
}

static size_t disk_sample(const sorted *s, size_t most, unsigned char *items)
{
	const sorted_disk *d = disk_of(s);
	const size_t all = d->sample_at[s->count], isz = item_bytes(&s->lay);
	const size_t n = size_min(all, most);
	for (size_t i = 0; i < n; i++)
		memcpy(items + i * isz,
		       disk_sample_item(d, (size_t)((unsigned __int128)all * i / n)), isz);
	return n;
}

static status disk_look(sorted *s, size_t k, uint64_t i, const unsigned char **rec, err *e)
{
	sorted_disk *d = disk_of(s);
	return spill_key(d->spill, &d->view, k, i, rec, e);
}

static sorted_chunk disk_chunk(const sorted *s, size_t bytes)
{
	const spill *from = disk_of(s)->spill;
	size_t buf_bytes;
	const size_t n = (size_t)spill_chunk_recs(from, bytes, &buf_bytes);
	const size_t unit = spill_block_recs(from);
	return unit ? (sorted_chunk){ n, unit, 0 }
		    : (sorted_chunk){ n, 1, buf_bytes + SPILL_ALIGN };
}

static status disk_load(sorted *s, sorted_load *l, err *e)
{
	const sorted_chunk *c = l->c;
	const size_t bytes = s->lay.record_bytes, skip = (size_t)(l->first % c->unit);
	spill_view v = { .buf = l->to - skip * bytes, /* the beginning of the block */
			 .buf_bytes = u64_round_up(skip + l->n, c->unit) * bytes,
			 .run = l->k,
			 .first = l->first,
			 .n = l->n };
	if (c->bounce_bytes) {
		v.buf = (unsigned char *)l->bounce + (size_t)(-(uintptr_t)l->bounce % SPILL_ALIGN);
		v.buf_bytes = c->bounce_bytes - SPILL_ALIGN;
	}
	const status rc = spill_read(disk_of(s)->spill, &v, e);
	if (rc == ST_OK && v.recs != l->to)
		memcpy(l->to, v.recs, l->n * bytes);
	return rc;
}

static status disk_disorder(const sorted *s, size_t k, uint64_t rec, err *e)
{
	(void)s;
	return err_set(e, ST_INTERNAL, "record %" PRIu64 " of run %zu is out of order", rec, k);
}

status sorted_disk_open(sorted_disk *d, mem *m, const layout *l, uint32_t rank, err *e)
{
	static const sorted_ops on_disk = { .item = item_in_file,
					    .before = disk_before,
					    .sample = disk_sample,
					    .open_reader = sorted_merge_open };
	static const sorted_source runs = { .chunk_bytes = SORTED_MERGE_CHUNK_BYTES,
					    .look = disk_look,
					    .chunk = disk_chunk,
					    .load = disk_load,
					    .disorder = disk_disorder };
	spill_view *v = &d->view;
	d->s = (sorted){ .ops = &on_disk,
			 .src = &runs,
			 .lay = *l,
			 .rank = rank,
			 .count = d->s.count,
			 .start = d->start };
	v->buf_bytes = spill_read_bytes(d->spill, 1);
	d->raw = mem_array(m, v->buf_bytes + SPILL_ALIGN, 1, "a block of a run", e);
	if (d->raw)
		v->buf = d->raw + (size_t)(-(uintptr_t)d->raw % SPILL_ALIGN);
	d->s.looked = mem_array(m, 1, item_bytes(l), "a key", e);
	return d->raw && d->s.looked ? ST_OK : ST_RESOURCE;
}

void sorted_disk_close(sorted_disk *d, mem *m)
{
	mem_free(m, d->start);
	mem_free(m, d->names);
	mem_free(m, d->sample);
	mem_free(m, d->sample_at);
	mem_free(m, d->raw);
	mem_free(m, d->s.looked);
	spill_close(d->spill);
	*d = (sorted_disk){ .stride = 0 };
}

/* ----------------------------------------------------------------------------- input files */

typedef struct sorted_file {
	const input_file *f;
	io_fd fd;
	size_t readers;
	struct sorted_file *older, *newer; /* open files in the order of their last use */
} sorted_file;

typedef struct sorted_files {
	sorted s;
	mem *m;
	uint64_t *start;
	const shape *shape;       /* NULL: records stay as they are */
	uint32_t file_bytes;      /* of a record in a file */
	unsigned char *rec, *raw; /* the record that was looked up last; as it is in its file */
	direct_io direct;
	sorted_file *file;
	size_t most_open;
	pthread_mutex_t lock; /* for the next members, and the files */
	size_t open;
	sorted_file *oldest, *newest;
} sorted_files;

static sorted_files *files_of(const sorted *s)
{
	return (sorted_files *)(uintptr_t)s;
}

/* Remove the file from the list of open files. This and the next functions need the lock. */
static void unlink_file(sorted_files *s, sorted_file *f)
{
	*(f->older ? &f->older->newer : &s->oldest) = f->newer;
	*(f->newer ? &f->newer->older : &s->newest) = f->older;
	f->older = f->newer = NULL;
}

static void link_newest(sorted_files *s, sorted_file *f)
{
	f->older = s->newest;
	*(s->newest ? &s->newest->newer : &s->oldest) = f;
	s->newest = f;
}

static void files_close_one(sorted_files *s, sorted_file *f)
{
	if (f->fd.fd < 0)
		return;
	io_fd_close(&f->fd);
	unlink_file(s, f);
	s->open--;
}

static status files_open_one(sorted_files *s, sorted_file *f, err *e)
{
	sorted_file *idle = s->oldest;
	while (idle && idle->readers > 0) /* a few steps, because few threads read */
		idle = idle->newer;
	if (s->open >= s->most_open && idle)
		files_close_one(s, idle);
	const status rc = input_open(f->f, false, &f->fd.fd, e);
	if (rc != ST_OK)
		return rc;
	s->open++;
	link_newest(s, f);
	io_fd_will_read(&f->fd, s->direct, f->f->frame.header_bytes, f->f->count * s->file_bytes);
	return ST_OK;
}

/* Return the bytes for n records in the form that they have in files, before they are shaped. */
static size_t files_raw_bytes(const sorted_files *s, size_t n)
{
	return s->shape ? n * s->file_bytes + 2 * IO_FD_ALIGN : 0;
}

/* Return where in `raw` records of file k are read. */
static unsigned char *files_raw_at(const sorted_files *s, size_t k, uint64_t first,
				   unsigned char *raw)
{
	const uint64_t offset = s->file[k].f->frame.header_bytes + first * s->file_bytes;
	return raw + (size_t)(-(uintptr_t)raw % IO_FD_ALIGN) + offset % IO_FD_ALIGN;
}

/* Read n records of a file; with n 0, only check that the file has not changed. raw:
 * files_raw_bytes() for n records, or more. */
static status files_read(sorted_files *s, size_t k, uint64_t first, size_t n, unsigned char *buf,
			 unsigned char *raw, err *e)
{
	sorted_file *f = &s->file[k];
	const size_t bytes = s->file_bytes;
	const uint64_t offset = f->f->frame.header_bytes + first * bytes;
	unsigned char *to = s->shape && n ? files_raw_at(s, k, first, raw) : buf;
	pthread_mutex_lock(&s->lock);
	status rc = f->fd.fd >= 0 ? ST_OK : files_open_one(s, f, e);
	if (rc == ST_OK) {
		f->readers++;
		unlink_file(s, f);
		link_newest(s, f);
	}
	pthread_mutex_unlock(&s->lock);
	if (rc != ST_OK)
		return rc;
	rc = n ? io_fd_read_at(&f->fd, to, n * bytes, offset, f->f->path, e)
	       : input_unchanged(f->f, f->fd.fd, e);
	if (n && rc == ST_OK && s->shape)
		shape_apply(s->shape, s->s.lay.record_bytes, buf, to, n, f->f->first + first);
	pthread_mutex_lock(&s->lock);
	f->readers--;
	pthread_mutex_unlock(&s->lock);
	return rc;
}

static status files_look(sorted *s_, size_t k, uint64_t i, const unsigned char **rec, err *e)
{
	sorted_files *s = files_of(s_);
	*rec = s->rec;
	return files_read(s, k, i, 1, s->rec, s->raw, e);
}

static sorted_chunk files_chunk(const sorted *s, size_t bytes)
{
	const uint32_t rec = s->lay.record_bytes;
	const sorted_files *files = (const void *)s;
	const size_t n = io_fd_chunk_recs(rec, bytes);
	size_t unit = IO_FD_ALIGN; /* the least number of records that fill whole pages */
	while (unit % 2 == 0 && unit / 2 * rec % IO_FD_ALIGN == 0)
		unit /= 2;
	return (sorted_chunk){ .recs = n,
			       .unit = n % unit ? 1 : unit,
			       .bounce_bytes = files_raw_bytes(files, n) };
}

static status files_load(sorted *s_, sorted_load *l, err *e)
{
	sorted_files *s = files_of(s_);
	const status rc = files_read(s, l->k, l->first, l->n, l->to, l->bounce, e);
	if (rc != ST_OK)
		return rc;
	l->sum = checksum_records(&s_->lay, l->to, l->n);
	if (s->shape)
		input_note_shaped(s->file[l->k].f, s->shape,
				  files_raw_at(s, l->k, l->first, l->bounce), l->n);
	else
		input_note_read(s->file[l->k].f, l->n, l->sum);
	return ST_OK;
}

static status files_disorder(const sorted *s, size_t k, uint64_t rec, err *e)
{
	return err_set(e, ST_REFUSED,
		       "input %s is not sorted, as --merge requires: record %" PRIu64
		       " belongs before its predecessor",
		       quoted(files_of(s)->file[k].f->path), rec);
}

static status files_check(sorted *s, err *e)
{
	status rc = ST_OK;
	for (size_t k = 0; rc == ST_OK && k < s->count; k++)
		rc = files_read(files_of(s), k, 0, 0, NULL, NULL, e);
	return rc;
}

status sorted_files_open(sorted **out, mem *m, const input *in, const reader_plan *p, size_t ranks,
			 err *e)
{
	static const sorted_ops in_files = { .item = item_in_file,
					     .before = before_in_file,
					     .open_reader = sorted_merge_open };
	static const sorted_source inputs = { .chunk_bytes = INPUT_CHUNK_BYTES,
					      .look = files_look,
					      .chunk = files_chunk,
					      .load = files_load,
					      .disorder = files_disorder,
					      .check = files_check };
	struct rlimit files;
	sorted_files *s = mem_array(m, 1, sizeof *s, "inputs", e);
	*out = s ? &s->s : NULL;
	if (!s)
		return ST_RESOURCE;
	*s = (sorted_files){ .m = m, .direct = p->direct, .most_open = LEAST_OPEN };
	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur >= FILES_OF_OTHERS) {
		const uint64_t room = (files.rlim_cur - FILES_OF_OTHERS) / DESCRIPTORS / ranks;
		s->most_open = (size_t)u64_min(u64_max(room, LEAST_OPEN), MOST_OPEN);
	}
	pthread_mutex_init(&s->lock, NULL);
	s->file = mem_array(m, in->files, sizeof *s->file, "inputs", e);
	s->start = mem_array(m, in->files + 1, sizeof *s->start, "inputs", e);
	s->shape = shape_is_on(&in->shape) ? &in->shape : NULL;
	s->file_bytes = input_file_bytes(in, &p->lay);
	s->rec = mem_array(m, 1, p->lay.record_bytes, "a record", e);
	s->raw = mem_array(m, files_raw_bytes(s, 1), 1, "a record", e);
	s->s = (sorted){ .ops = &in_files, .src = &inputs, .lay = p->lay, .start = s->start };
	s->s.looked = mem_array(m, 1, item_bytes(&p->lay), "a key", e);
	if (!s->file || !s->start || !s->rec || !s->raw || !s->s.looked)
		return ST_RESOURCE;
	for (size_t i = 0, k = 0; i < in->files; i++) {
		if (in->file[i].count == 0)
			continue;
		s->file[k] = (sorted_file){ .f = &in->file[i], .fd = IO_FD_NONE };
		s->start[k + 1] = s->start[k] + in->file[i].count;
		s->s.count = ++k;
	}
	return ST_OK;
}

void sorted_files_close(sorted *s_)
{
	sorted_files *s = s_ ? files_of(s_) : NULL;
	if (!s)
		return;
	mem *m = s->m;
	for (size_t i = 0; i < s->s.count; i++)
		files_close_one(s, &s->file[i]);
	pthread_mutex_destroy(&s->lock);
	mem_free(m, s->file);
	mem_free(m, s->start);
	mem_free(m, s->rec);
	mem_free(m, s->raw);
	mem_free(m, s->s.looked);
	mem_free(m, s);
}

/* ------------------------------------------------------------------------- cutting inputs */

status sorted_files_crossed(sorted *of, size_t k, err *e)
{
	sorted_files *s = files_of(of);
	const layout *l = &of->lay;
	const input_file *f = s->file[k].f;
	const size_t most = SCAN_BYTES / l->record_bytes + 2;
	unsigned char *buf = mem_array(s->m, most, l->record_bytes, "records", e);
	unsigned char *raw = mem_array(s->m, files_raw_bytes(s, most), 1, "records", e);
	status rc = buf && raw ? ST_OK : ST_RESOURCE;
	/* each block begins with the last record of the block before it */
	for (uint64_t at = 0; rc == ST_OK && at + 1 < f->count; at += most - 1) {
		const size_t n = (size_t)u64_min(f->count - at, most);
		rc = files_read(s, k, at, n, buf, raw, e);
		for (size_t i = 1; rc == ST_OK && i < n; i++)
			if (key_compare(l, buf + (i - 1) * l->record_bytes,
					buf + i * l->record_bytes) > 0)
				rc = files_disorder(of, k, at + i, e);
	}
	mem_free(s->m, buf);
	mem_free(s->m, raw);
	return rc == ST_OK ? err_set(e, ST_IO, "input %s changed while it was being read",
				     quoted(f->path))
			   : rc;
}

static bool lookups_work(const sorted *s)
{
	return s->failed.code == ST_OK;
}

/* Find the cut of each file in its bracket [cut[k], hi[k]], by halving the widest bracket again and
 * again. This also narrows the other brackets. */
static void files_bisect(sorted *s, uint64_t before, uint64_t *cut, uint64_t *hi, uint64_t *place,
			 item *pivot)
{
	for (size_t of = 0; lookups_work(s); of = 0) {
		uint64_t sum = 0;
		for (size_t k = 1; k < s->count; k++)
			if (hi[k] - cut[k] > hi[of] - cut[of])
				of = k;
		if (hi[of] <= cut[of])
			return;
		const uint64_t mid = cut[of] + (hi[of] - cut[of]) / 2;
		item_in_file(s, mid, pivot);
		for (size_t k = 0; lookups_work(s) && k < s->count; k++) {
			place[k] = k == of ? mid : before_in_file(s, cut[k], hi[k], pivot);
			sum += place[k] - s->start[k];
		}
		const bool is_before = sum < before; /* the pivot is before the cut */
		for (size_t k = 0; lookups_work(s) && k < s->count; k++)
			*(is_before ? &cut[k] : &hi[k]) = place[k] + (is_before && k == of);
	}
}

/* Move the cut after all records that have the key of the greatest record before it. */
static void cut_after_key(sorted *s, uint64_t *cut, item *at, item *greatest)
{
	bool any = false;
	for (size_t k = 0; lookups_work(s) && k < s->count; k++) {
		if (cut[k] == s->start[k])
			continue;
		item_in_file(s, cut[k] - 1, at);
		if (!any || item_cmp(at, greatest, &s->lay) > 0)
			memcpy(greatest, at, item_bytes(&s->lay));
		any = true;
	}
	greatest->rank = UINT64_MAX;
	for (size_t k = 0; lookups_work(s) && any && k < s->count; k++)
		cut[k] = before_in_file(s, cut[k], s->start[k + 1], greatest);
}

status sorted_files_cut(sorted *s, uint64_t before, bool whole_keys, uint64_t *cut, err *e)
{
	mem *m = files_of(s)->m;
	const size_t count = s->count, one = item_bytes(&s->lay);
	uint64_t *hi = mem_array(m, 2 * count, sizeof *hi, "cuts", e);
	unsigned char *room = mem_array(m, 2, one, "keys", e);
	item *a = (void *)room, *b = room ? (void *)(room + one) : NULL;
	status rc = hi && room ? ST_OK : ST_RESOURCE;
	if (rc == ST_OK) {
		memcpy(cut, s->start, count * sizeof *cut);
		memcpy(hi, s->start + 1, count * sizeof *hi);
		files_bisect(s, before, cut, hi, hi + count, a);
		if (whole_keys)
			cut_after_key(s, cut, a, b);
	}
	/* no rank merges both records at a cut, so compare them here */
	for (size_t k = 0; rc == ST_OK && lookups_work(s) && k < count; k++) {
		if (cut[k] == s->start[k] || cut[k] == s->start[k + 1])
			continue;
		item_in_file(s, cut[k] - 1, a);
		item_in_file(s, cut[k], b);
		if (lookups_work(s) && item_cmp(a, b, &s->lay) > 0)
			rc = files_disorder(s, k, cut[k] - s->start[k], e);
	}
	mem_free(m, hi);
	mem_free(m, room);
	return rc == ST_OK ? sorted_failure(s, e) : rc;
}
