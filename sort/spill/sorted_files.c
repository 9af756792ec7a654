/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file is opened by the first read of it, and closed, where others are waiting to be, by the one
 * that opens a further file: that which nobody reads, and that was read least recently.
 *
 * To cut them for several ranks, the cut of each file lies in a bracket. The middle of the widest
 * bracket is the pivot: its place among all records, found in every bracket, shows on which side of
 * it the cut is. Files that are not sorted lead to a wrong cut, not to an endless search; merging
 * sees that they are not. */
#include "sorted_files.h"
#include "base/lower_bound.h"
#include "base/minmax.h"
#include "io/io_fd.h"
#include "kernel/key.h"
#include "sorted_merge.h"

#include <inttypes.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
	LEAST_OPEN = 4,
	MOST_OPEN = 512,
	FILES_OF_OTHERS = 64,
	DESCRIPTORS = 2,
	CHUNK_BYTES = 1 << 20,
	SCAN_BYTES = 1 << 20,
};

typedef struct sorted_file {
	const input_file *f;
	io_fd fd;
	size_t readers;
	struct sorted_file *older, *newer; /* of those that are open, by their last use */
} sorted_file;

typedef struct sorted_files {
	sorted s;
	mem *m;
	uint64_t *start;
	unsigned char *rec; /* that was looked up last */
	direct_io direct;
	io_backend *io;
	sorted_file *file;
	size_t count, most_open;
	pthread_mutex_t lock; /* for what follows, and the files */
	size_t open;
	sorted_file *oldest, *newest;
} sorted_files;

static size_t most_open(size_t ranks)
{
	struct rlimit l;
	if (getrlimit(RLIMIT_NOFILE, &l) != 0 || l.rlim_cur < FILES_OF_OTHERS)
		return LEAST_OPEN;
	const uint64_t room = (l.rlim_cur - FILES_OF_OTHERS) / DESCRIPTORS / ranks;
	return (size_t)u64_min(u64_max(room, LEAST_OPEN), MOST_OPEN);
}

/* Under the lock, as what follows. */
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

static void close_file(sorted_files *s, sorted_file *f)
{
	if (f->fd.fd < 0)
		return;
	close(f->fd.fd);
	if (f->fd.direct >= 0)
		close(f->fd.direct);
	f->fd = (io_fd){ -1, -1, s->io };
	unlink_file(s, f);
	s->open--;
}

/* One less is open, if any is idle; those that are not are few, as each has a thread that reads. */
static void close_oldest(sorted_files *s)
{
	sorted_file *f = s->oldest;
	while (f && f->readers > 0)
		f = f->newer;
	if (f)
		close_file(s, f);
}

static status open_file(sorted_files *s, sorted_file *f, err *e)
{
	if (s->open >= s->most_open)
		close_oldest(s);
	const status rc = input_open(f->f, false, &f->fd.fd, e);
	if (rc != ST_OK)
		return rc;
	s->open++;
	link_newest(s, f);
	io_fd_will_read(&f->fd, s->direct, f->f->frame.header_bytes,
			f->f->count * s->s.lay.record_bytes);
	return ST_OK;
}

static status begin_reading(sorted_files *s, sorted_file *f, err *e)
{
	pthread_mutex_lock(&s->lock);
	const status rc = f->fd.fd >= 0 ? ST_OK : open_file(s, f, e);
	if (rc == ST_OK) {
		f->readers++;
		unlink_file(s, f);
		link_newest(s, f);
	}
	pthread_mutex_unlock(&s->lock);
	return rc;
}

static void end_reading(sorted_files *s, sorted_file *f)
{
	pthread_mutex_lock(&s->lock);
	f->readers--;
	pthread_mutex_unlock(&s->lock);
}

/* n records of a file. */
static status read_recs(sorted_files *s, size_t k, uint64_t first, size_t n, void *buf, err *e)
{
	sorted_file *f = &s->file[k];
	const size_t bytes = s->s.lay.record_bytes;
	status rc = begin_reading(s, f, e);
	if (rc != ST_OK)
		return rc;
	rc = io_fd_read_at(&f->fd, buf, n * bytes, f->f->frame.header_bytes + first * bytes,
			   f->f->path, e);
	end_reading(s, f);
	return rc;
}

/* ----------------------------------------------------------------------------- looking up */

static sorted_files *files_of(sorted *s)
{
	return (void *)s;
}

/* The file that has this place. */
static size_t file_of(const sorted *s, uint64_t place)
{
	lower_bound b = { .lo = 1, .hi = s->count };
	while (lower_bound_open(&b))
		lower_bound_step(&b, s->start[b.mid] <= place);
	return b.lo - 1;
}

/* The entry of a record, whose tail is in s->rec. */
static entry look_up(sorted_files *s, uint64_t place)
{
	const size_t k = file_of(&s->s, place);
	if (s->s.failed.code == ST_OK)
		(void)read_recs(s, k, place - s->start[k], 1, s->rec, &s->s.failed);
	return entry_make(s->rec, &s->s.lay, 0);
}

static void files_item(sorted *s_, uint64_t place, item *it)
{
	sorted_files *s = files_of(s_);
	const entry e = look_up(s, place);
	const records at = { s->rec, s->s.lay, s->s.rank };
	item_of(it, &e, &at);
	it->lo |= place;
}

static uint64_t files_before(sorted *s_, uint64_t lo, uint64_t hi, const item *it)
{
	sorted_files *s = files_of(s_);
	const records at = { s->rec, s->s.lay, s->s.rank };
	lower_bound b = { .lo = lo, .hi = hi };
	while (s->s.failed.code == ST_OK && lower_bound_open(&b)) {
		const entry e = look_up(s, b.mid);
		const int c = entry_item_key_cmp(&e, it, &at);
		lower_bound_step(&b, (c ? c : place_cmp(at.rank, b.mid, it->rank, it->lo)) < 0);
	}
	return b.lo;
}

/* ------------------------------------------------------------------------------- messages */

/* A record belongs before the one before it. */
static status disorder(const void *files, size_t k, uint64_t rec, err *e)
{
	const sorted_files *s = files;
	char q[QUOTED_BYTES];
	return err_set(e, ST_REFUSED,
		       "input %s is not sorted, which --merge wants: record %" PRIu64
		       " belongs before the one before it",
		       err_quoted(s->file[k].f->path, q), rec);
}

/* The first record of buf, n in all, that belongs before the one before it; n: none. */
static size_t first_disorder(const layout *l, const unsigned char *buf, size_t n)
{
	size_t i = 1;
	while (i < n &&
	       key_compare(l, buf + (i - 1) * l->record_bytes, buf + i * l->record_bytes) <= 0)
		i++;
	return i < n ? i : n;
}

status sorted_files_crossed(sorted *of, size_t k, err *e)
{
	sorted_files *s = files_of(of);
	const layout *l = &s->s.lay;
	const uint64_t count = s->file[k].f->count;
	const size_t most = SCAN_BYTES / l->record_bytes + 2;
	char q[QUOTED_BYTES];
	unsigned char *buf = mem_array(s->m, most, l->record_bytes, "records", e);
	status rc = buf ? ST_OK : ST_RESOURCE;
	for (uint64_t at = 0; rc == ST_OK && at + 1 < count; at += most - 1) { /* one twice */
		const size_t n = (size_t)u64_min(count - at, most);
		rc = read_recs(s, k, at, n, buf, e);
		const size_t bad = rc == ST_OK ? first_disorder(l, buf, n) : n;
		if (bad < n)
			rc = disorder(s, k, at + bad, e);
	}
	mem_free(s->m, buf);
	return rc == ST_OK ? err_set(e, ST_IO, "input %s changed while it was being read",
				     err_quoted(s->file[k].f->path, q))
			   : rc;
}

/* -------------------------------------------------------------------------------- cutting */

typedef struct cutting {
	sorted_files *s;
	uint64_t *lo, *hi;         /* [count] the brackets */
	item *pivot, *at, *before; /* one room */
} cutting;

static bool going(const cutting *c)
{
	return c->s->s.failed.code == ST_OK;
}

/* The file with the widest bracket; false: all are closed. */
static bool widest(const cutting *c, size_t *file)
{
	*file = 0;
	for (size_t k = 1; k < c->s->s.count; k++)
		if (c->hi[k] - c->lo[k] > c->hi[*file] - c->lo[*file])
			*file = k;
	return c->hi[*file] > c->lo[*file];
}

/* Halve the bracket of file `of`; the others follow. */
static void narrow(const cutting *c, size_t of, uint64_t before, uint64_t *place)
{
	sorted *s = &c->s->s;
	const uint64_t mid = c->lo[of] + (c->hi[of] - c->lo[of]) / 2;
	uint64_t sum = 0;
	files_item(s, mid, c->pivot);
	for (size_t k = 0; going(c) && k < s->count; k++) {
		place[k] = k == of ? mid : files_before(s, c->lo[k], c->hi[k], c->pivot);
		sum += place[k] - s->start[k];
	}
	const bool is_before = sum < before; /* the pivot itself */
	for (size_t k = 0; going(c) && k < s->count; k++)
		*(is_before ? &c->lo[k] : &c->hi[k]) = place[k] + (is_before && k == of);
}

/* All records with the key of the greatest one before the cut. */
static void take_whole_keys(const cutting *c, uint64_t *cut)
{
	sorted *s = &c->s->s;
	bool any = false;
	for (size_t k = 0; going(c) && k < s->count; k++) {
		if (cut[k] == s->start[k])
			continue;
		files_item(s, cut[k] - 1, c->at);
		if (!any || item_cmp(c->at, c->before, &s->lay) > 0)
			memcpy(c->before, c->at, item_bytes(&s->lay));
		any = true;
	}
	c->before->rank = UINT64_MAX;
	for (size_t k = 0; going(c) && any && k < s->count; k++)
		cut[k] = files_before(s, cut[k], s->start[k + 1], c->before);
}

/* Two ranks see these records, and neither of them both. */
static status check_order(const cutting *c, const uint64_t *cut, err *e)
{
	sorted *s = &c->s->s;
	for (size_t k = 0; going(c) && k < s->count; k++) {
		if (cut[k] == s->start[k] || cut[k] == s->start[k + 1])
			continue;
		files_item(s, cut[k] - 1, c->before);
		files_item(s, cut[k], c->at);
		if (going(c) && item_cmp(c->before, c->at, &s->lay) > 0)
			return disorder(c->s, k, cut[k] - s->start[k], e);
	}
	return sorted_failure(s, e);
}

status sorted_files_cut(sorted *of, uint64_t before, bool whole_keys, uint64_t *cut, err *e)
{
	sorted_files *s = files_of(of);
	const size_t count = s->s.count, one = item_bytes(&s->s.lay);
	cutting c = { .s = s };
	size_t widest_file;
	c.lo = mem_array(s->m, 2 * count, sizeof *c.lo, "cuts", e);
	unsigned char *room = mem_array(s->m, 3, one, "keys", e);
	status rc = c.lo && room ? ST_OK : ST_RESOURCE;
	if (rc == ST_OK) {
		c.hi = c.lo + count;
		c.pivot = (void *)room;
		c.at = (void *)(room + one);
		c.before = (void *)(room + 2 * one);
		memcpy(c.lo, s->start, count * sizeof *c.lo);
		memcpy(c.hi, s->start + 1, count * sizeof *c.hi);
		while (going(&c) && widest(&c, &widest_file))
			narrow(&c, widest_file, before, cut);
		memcpy(cut, c.lo, count * sizeof *cut);
		if (whole_keys)
			take_whole_keys(&c, cut);
		rc = check_order(&c, cut, e);
	}
	mem_free(s->m, c.lo);
	mem_free(s->m, room);
	return rc;
}

/* -------------------------------------------------------------------------------- merging */

static sorted_chunk chunk_of(const void *files, size_t bytes)
{
	const uint32_t rec = ((const sorted_files *)files)->s.lay.record_bytes;
	const size_t n = io_fd_chunk_recs(rec, bytes);
	size_t unit = IO_FD_ALIGN; /* the fewest records that end at a page */
	while (unit % 2 == 0 && unit / 2 * rec % IO_FD_ALIGN == 0)
		unit /= 2;
	return (sorted_chunk){ .recs = n, .unit = n % unit ? 1 : unit };
}

static status read_chunk(void *files, size_t k, uint64_t first, size_t n, const sorted_chunk *c,
			 unsigned char *to, void *bounce, checksum *sum, err *e)
{
	sorted_files *s = files;
	(void)c;
	(void)bounce;
	const status rc = read_recs(s, k, first, n, to, e);
	if (rc != ST_OK)
		return rc;
	*sum = checksum_records(to, n, s->s.lay.record_bytes);
	input_note_read(s->file[k].f, n, *sum);
	return ST_OK;
}

static status check_all(void *files, err *e)
{
	sorted_files *s = files;
	status rc = ST_OK;
	for (size_t i = 0; rc == ST_OK && i < s->s.count; i++) {
		sorted_file *f = &s->file[i];
		rc = begin_reading(s, f, e);
		if (rc != ST_OK)
			break;
		rc = input_unchanged(f->f, f->fd.fd, e);
		end_reading(s, f);
	}
	return rc;
}

static status files_open(sorted *s, mem *m, const uint64_t *lo, const uint64_t *hi,
			 const sorted_use *u, sorted_reader **out, err *e)
{
	const sorted_source src = { .of = s,
				    .chunk_bytes = CHUNK_BYTES,
				    .chunk = chunk_of,
				    .read_recs = read_chunk,
				    .disorder = disorder,
				    .check = check_all };
	return sorted_merge_open(s, m, &src, lo, hi, u, out, e);
}

/* ------------------------------------------------------------------------ opening, closing */

status sorted_files_open(sorted **out, mem *m, const input *in, const layout *l, size_t ranks,
			 direct_io direct, io_backend *io, err *e)
{
	static const sorted_ops in_files = { .item = files_item,
					     .before = files_before,
					     .open_reader = files_open,
					     .piece = sorted_merge_piece,
					     .give = sorted_merge_give,
					     .end = sorted_merge_end,
					     .close_reader = sorted_merge_close };
	sorted_files *s = mem_array(m, 1, sizeof *s, "inputs", e);
	*out = s ? &s->s : NULL;
	if (!s)
		return ST_RESOURCE;
	*s = (sorted_files){ .m = m, .direct = direct, .io = io, .most_open = most_open(ranks) };
	pthread_mutex_init(&s->lock, NULL);
	s->file = mem_array(m, in->files, sizeof *s->file, "inputs", e);
	s->start = mem_array(m, in->files + 1, sizeof *s->start, "inputs", e);
	s->rec = mem_array(m, 1, l->record_bytes, "a record", e);
	s->s = (sorted){ .ops = &in_files, .lay = *l, .start = s->start, .costly = true };
	if (!s->file || !s->start || !s->rec)
		return ST_RESOURCE;
	for (size_t i = 0, k = 0; i < in->files; i++) {
		if (in->file[i].count == 0)
			continue;
		s->file[k] = (sorted_file){ .f = &in->file[i], .fd = { -1, -1, io } };
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
		close_file(s, &s->file[i]);
	pthread_mutex_destroy(&s->lock);
	mem_free(m, s->file);
	mem_free(m, s->start);
	mem_free(m, s->rec);
	mem_free(m, s);
}
