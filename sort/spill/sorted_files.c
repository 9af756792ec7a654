/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file is opened by the first read of it, and closed, where others are waiting to be, by the one
 * that opens a further file: that which nobody reads, and that was read least recently. */
#include "sorted_files.h"
#include "base/minmax.h"

#include <inttypes.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

enum { LEAST_OPEN = 4, MOST_OPEN = 512, FILES_OF_OTHERS = 64, DESCRIPTORS = 2 };

typedef struct sorted_file {
	const input_file *f;
	io_fd fd;
	size_t readers;
	struct sorted_file *older, *newer; /* of those that are open, by their last use */
} sorted_file;

struct sorted_files {
	mem *m;
	layout lay;
	direct_io direct;
	io_backend *io;
	sorted_file *file;
	size_t count, most_open;
	pthread_mutex_t lock; /* for what follows, and the files */
	size_t open;
	sorted_file *oldest, *newest;
};

static size_t most_open(size_t ranks)
{
	struct rlimit l;
	if (getrlimit(RLIMIT_NOFILE, &l) != 0 || l.rlim_cur < FILES_OF_OTHERS)
		return LEAST_OPEN;
	const uint64_t room = (l.rlim_cur - FILES_OF_OTHERS) / DESCRIPTORS / ranks;
	return (size_t)u64_min(u64_max(room, LEAST_OPEN), MOST_OPEN);
}

status sorted_files_open(sorted_files **out, mem *m, const input *in, const layout *l, size_t ranks,
			 direct_io direct, io_backend *io, err *e)
{
	sorted_files *s = *out = mem_array(m, 1, sizeof *s, "inputs", e);
	if (!s)
		return ST_RESOURCE;
	*s = (sorted_files){
		.m = m, .lay = *l, .direct = direct, .io = io, .most_open = most_open(ranks)
	};
	pthread_mutex_init(&s->lock, NULL);
	s->file = mem_array(m, in->files, sizeof *s->file, "inputs", e);
	for (size_t i = 0; s->file && i < in->files; i++)
		if (in->file[i].count > 0)
			s->file[s->count++] =
				(sorted_file){ .f = &in->file[i], .fd = { -1, -1, io } };
	return s->file ? ST_OK : ST_RESOURCE;
}

size_t sorted_files_count(const sorted_files *s)
{
	return s->count;
}

uint64_t sorted_files_recs(const sorted_files *s, size_t run)
{
	return s->file[run].f->count;
}

const layout *sorted_files_layout(const sorted_files *s)
{
	return &s->lay;
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
	const status rc = input_open(f->f, &f->fd.fd, e);
	if (rc != ST_OK)
		return rc;
	s->open++;
	link_newest(s, f);
	io_fd_will_read(&f->fd, s->direct, f->f->frame.header_bytes,
			f->f->count * s->lay.record_bytes);
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

status sorted_files_read(sorted_files *s, size_t run, void *buf, size_t bytes, uint64_t offset,
			 err *e)
{
	sorted_file *f = &s->file[run];
	status rc = begin_reading(s, f, e);
	if (rc != ST_OK)
		return rc;
	rc = io_fd_read_at(&f->fd, buf, bytes, f->f->frame.header_bytes + offset, f->f->path, e);
	end_reading(s, f);
	return rc;
}

void sorted_files_note_read(const sorted_files *s, size_t run, size_t n, checksum sum)
{
	input_note_read(s->file[run].f, n, sum);
}

status sorted_files_disorder(const sorted_files *s, size_t run, uint64_t rec, err *e)
{
	char q[QUOTED_BYTES];
	return err_set(e, ST_REFUSED,
		       "input %s is not sorted, which --merge wants: record %" PRIu64
		       " belongs before the one before it",
		       err_quoted(s->file[run].f->path, q), rec);
}

status sorted_files_changed(const sorted_files *s, size_t run, err *e)
{
	char q[QUOTED_BYTES];
	return err_set(e, ST_IO, "input %s changed while it was being read",
		       err_quoted(s->file[run].f->path, q));
}

status sorted_files_check(sorted_files *s, err *e)
{
	status rc = ST_OK;
	for (size_t i = 0; rc == ST_OK && i < s->count; i++) {
		sorted_file *f = &s->file[i];
		rc = begin_reading(s, f, e);
		if (rc != ST_OK)
			break;
		rc = input_unchanged(f->f, f->fd.fd, e);
		end_reading(s, f);
	}
	return rc;
}

void sorted_files_close(sorted_files *s)
{
	if (!s)
		return;
	mem *m = s->m;
	for (size_t i = 0; s->file && i < s->count; i++)
		close_file(s, &s->file[i]);
	pthread_mutex_destroy(&s->lock);
	mem_free(m, s->file);
	mem_free(m, s);
}
