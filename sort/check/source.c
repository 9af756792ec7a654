/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Places of files are handed out under the lock and read without it; a stream is read under it, as
 * its end is seen only then. */
#include "source.h"
#include "base/minmax.h"
#include "base/size.h"
#include "io/file.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum {
	CHUNK_BYTES = 4 << 20,
	CACHED_CHUNK_BYTES = 512 << 10, /* stays in the processor's cache until it is looked at */
};

status source_open(source *s, mem *m, input *in, const layout *l, direct_io direct, err *e)
{
	*s = (source){ .in = in,
		       .lay = *l,
		       .direct = direct,
		       .end = UINT64_MAX,
		       .chunk = io_fd_chunk_recs(l->record_bytes, CHUNK_BYTES),
		       .cached_chunk = io_fd_chunk_recs(l->record_bytes, CACHED_CHUNK_BYTES) };
	s->file = mem_array(m, in->files, sizeof *s->file, "files", e);
	for (size_t i = 0; s->file && i < in->files; i++)
		s->file[i].fd = (io_fd)IO_FD_NONE;
	pthread_mutex_init(&s->lock, NULL);
	s->trailer_bytes =
		in->streams && in->frame.records == 0 ? (size_t)in->frame.trailer_bytes : 0;
	status rc = s->file ? ST_OK : ST_RESOURCE;
	for (size_t i = 0; rc == ST_OK && i < in->files; i++) {
		if (!in->file[i].is_stream)
			continue;
		s->file[i].held = mem_array(m, s->trailer_bytes, 1, "a trailer", e);
		rc = s->file[i].held ? ST_OK : ST_RESOURCE;
	}
	return rc;
}

void source_limit(source *s, uint64_t first, uint64_t n)
{
	if (__builtin_add_overflow(first, n, &s->end))
		s->end = UINT64_MAX;
	for (size_t i = 0; s->file && i < s->in->files; i++) {
		const input_file *f = &s->in->file[i];
		if (!f->is_stream && first > f->first)
			s->file[i].taken = u64_min(first - f->first, f->count);
	}
}

/* How many records of a file there are to take, from its first one on. */
static uint64_t recs_until_end(const source *s, const input_file *f)
{
	return f->first < s->end ? u64_min(f->count, s->end - f->first) : 0;
}

size_t source_room(const source *s)
{
	return s->trailer_bytes + s->chunk * s->lay.record_bytes + 2 * IO_FD_ALIGN;
}

/* What a stream has before its records. */
static status skip_header(const input_file *f, const source_file *o, source_chunk *c, size_t room,
			  err *e)
{
	char q[QUOTED_BYTES];
	status rc = ST_OK;
	for (uint64_t left = f->frame.header_bytes; rc == ST_OK && left > 0;) {
		const size_t n = (size_t)u64_min(left, room);
		size_t got;
		rc = file_read_some(o->fd.fd, c->recs, n, &got, f->path, e);
		if (rc == ST_OK && got < n)
			rc = err_set(e, ST_REFUSED, "input %s ends within its header",
				     err_quoted(f->path, q));
		left -= n;
	}
	return rc;
}

static status open_file(source *s, const input_file *f, source_file *o, source_chunk *c, err *e)
{
	const size_t bytes = s->lay.record_bytes;
	status rc = input_open(f, f->is_stream, &o->fd.fd, e);
	if (rc == ST_OK && f->is_stream)
		rc = skip_header(f, o, c, s->chunk * bytes, e);
	else if (rc == ST_OK)
		io_fd_will_read(&o->fd, s->direct, f->frame.header_bytes, f->count * bytes);
	return rc;
}

static void close_file(source_file *o)
{
	if (o->fd.fd >= 0)
		close(o->fd.fd);
	if (o->fd.direct >= 0)
		close(o->fd.direct);
	o->fd = (io_fd)IO_FD_NONE;
}

/* What follows the records of --records. */
static status skip_rest(const source *s, const input_file *f, const source_file *o, source_chunk *c,
			err *e)
{
	char q[QUOTED_BYTES];
	const size_t room = s->chunk * s->lay.record_bytes;
	const uint64_t wanted = s->in->frame.trailer_bytes;
	uint64_t rest = 0;
	status rc = ST_OK;
	for (size_t got = room; rc == ST_OK && got == room; rest += got)
		rc = file_read_some(o->fd.fd, c->recs, room, &got, f->path, e);
	if (rc == ST_OK && wanted && rest != wanted)
		rc = err_set(e, ST_REFUSED,
			     "input %s has %" PRIu64 " byte%s after its %" PRIu64
			     " records (--skip-trailer=%" PRIu64 ")",
			     err_quoted(f->path, q), rest, plural(rest), f->frame.records, rest);
	return rc;
}

static status read_exactly(const source *s, const input_file *f, const source_file *o,
			   source_chunk *c, err *e)
{
	char q[QUOTED_BYTES];
	const size_t bytes = s->lay.record_bytes;
	const size_t n = (size_t)u64_min(s->chunk, f->frame.records - o->taken);
	size_t got;
	if (n == 0)
		return skip_rest(s, f, o, c, e);
	const status rc = file_read_some(o->fd.fd, c->recs, n * bytes, &got, f->path, e);
	if (rc != ST_OK)
		return rc;
	c->n = n;
	return got == n * bytes
		       ? ST_OK
		       : err_set(e, ST_REFUSED,
				 "input %s ends after %" PRIu64 " records, before the %" PRIu64
				 " of --records",
				 err_quoted(f->path, q), o->taken + got / bytes, f->frame.records);
}

/* The next records of a stream; none: it has ended. The last bytes that came are held until others
 * follow them. */
static status read_stream(const source *s, const input_file *f, source_file *o, source_chunk *c,
			  err *e)
{
	char q[QUOTED_BYTES];
	const size_t bytes = s->lay.record_bytes, trailer = s->trailer_bytes;
	size_t got;
	if (f->frame.records)
		return read_exactly(s, f, o, c, e);
	memcpy(c->recs, o->held, o->held_bytes);
	const status rc =
		file_read_some(o->fd.fd, c->recs + o->held_bytes,
			       trailer + s->chunk * bytes - o->held_bytes, &got, f->path, e);
	if (rc != ST_OK)
		return rc;
	got += o->held_bytes;
	if (got < trailer)
		return err_set(e, ST_REFUSED, "input %s ends within its trailer",
			       err_quoted(f->path, q));
	got -= trailer;
	c->n = got / bytes;
	o->held_bytes = trailer;
	memcpy(o->held, c->recs + got, trailer);
	return got % bytes == 0
		       ? ST_OK
		       : err_set(e, ST_REFUSED, "input %s ends with a partial record of %zu byte%s",
				 err_quoted(f->path, q), got % bytes, plural(got % bytes));
}

/* Under the lock: the next records of the file that is due; none: it has no more. */
static status take_of_file(source *s, source_chunk *c, err *e)
{
	input_file *f = &s->in->file[s->at];
	source_file *o = &s->file[s->at];
	const uint64_t count = recs_until_end(s, f);
	status rc = ST_OK;
	*c = (source_chunk){
		.number = s->chunks, .file = s->at, .first = o->taken, .recs = c->recs
	};
	if (o->fd.fd < 0 && (f->is_stream || o->taken < count))
		rc = open_file(s, f, o, c, e);
	if (rc == ST_OK && f->is_stream)
		rc = read_stream(s, f, o, c, e);
	else if (rc == ST_OK && o->taken < count)
		c->n = (size_t)u64_min(o->fd.direct < 0 ? s->cached_chunk : s->chunk,
				       count - o->taken);
	o->taken += c->n;
	o->complete = rc != ST_OK || (f->is_stream ? c->n == 0 : o->taken >= count);
	if (o->complete && c->n == 0 && o->users == 0)
		close_file(o);
	return rc;
}

static status take_next(source *s, source_chunk *c, err *e)
{
	status rc = ST_OK;
	c->n = 0;
	while (rc == ST_OK && c->n == 0 && s->at < s->in->files) {
		rc = take_of_file(s, c, e);
		s->at += rc == ST_OK && c->n == 0;
	}
	if (rc != ST_OK) /* nobody gets more */
		s->at = s->in->files;
	if (rc == ST_OK && c->n > 0) {
		s->chunks++;
		s->file[c->file].users++;
	}
	return rc;
}

bool source_take(source *s, unsigned char *buf, source_chunk *c, err *e)
{
	const uint32_t bytes = s->lay.record_bytes;
	c->recs = buf + (size_t)(-(uintptr_t)buf % IO_FD_ALIGN);
	pthread_mutex_lock(&s->lock);
	const status rc = take_next(s, c, e);
	pthread_mutex_unlock(&s->lock);
	if (rc != ST_OK || c->n == 0)
		return false;
	const input_file *f = &s->in->file[c->file];
	if (f->is_stream)
		return true;
	const uint64_t offset = f->frame.header_bytes + c->first * bytes;
	c->recs += offset % IO_FD_ALIGN;
	(void)io_fd_read_at(&s->file[c->file].fd, c->recs, c->n * bytes, offset, f->path, e);
	return true;
}

void source_give(source *s, const source_chunk *c, err *e)
{
	const input_file *f = &s->in->file[c->file];
	source_file *o = &s->file[c->file];
	pthread_mutex_lock(&s->lock);
	const bool last = --o->users == 0 && o->complete;
	if (last && !f->is_stream)
		(void)input_unchanged(f, o->fd.fd, e);
	if (last)
		close_file(o);
	pthread_mutex_unlock(&s->lock);
}

void source_close(source *s, mem *m)
{
	for (size_t i = 0; s->file && i < s->in->files; i++)
		close_file(&s->file[i]);
	for (size_t i = 0; s->file && i < s->in->files; i++)
		mem_free(m, s->file[i].held);
	pthread_mutex_destroy(&s->lock);
	mem_free(m, s->file);
}
