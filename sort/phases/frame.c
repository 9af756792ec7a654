/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading, writing and comparing header and trailer. Memory: both, and one of them once more while
 * it is compared. */
#include "base/size.h"
#include "io/file.h"
#include "job.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const names[FRAME_PIECES] = { "header", "trailer" };

static status alloc(job *j, frame_place place, uint64_t n)
{
	frame_piece *p = &j->files.frame[place];
	p->n = (size_t)n;
	p->bytes = mem_array(&j->env.m, p->n, 1, names[place], &j->env.e);
	return p->bytes ? ST_OK : ST_RESOURCE;
}

/* The first n bytes of a stream, which stays open, or those of a file from `at` on. */
static status read_piece(job *j, frame_place place, input_file *f, uint64_t at, uint64_t n)
{
	err *e = &j->env.e;
	const frame_piece *p = &j->files.frame[place];
	const bool stream = j->files.in.is_stream;
	size_t got = (size_t)n;
	int fd = -1;
	status rc = alloc(j, place, n);
	if (rc == ST_OK && n)
		rc = input_open(f, stream, stream ? &f->fd : &fd, e);
	if (rc != ST_OK || n == 0)
		return rc;
	if (!stream) {
		rc = file_read_at(fd, p->bytes, p->n, at, f->path, e);
		close(fd);
		return rc;
	}
	rc = file_read_some(f->fd, p->bytes, p->n, &got, f->path, e);
	if (rc == ST_OK && got < n)
		rc = err_set(e, ST_REFUSED,
			     "input %s ends after %zu byte%s, and its header is to have %" PRIu64
			     " (--skip-header)",
			     quoted(f->path), got, plural(got), n);
	return rc;
}

/* From the rank that has the last input to the one that has the last output. */
static status share_trailer(job *j, int from, int to)
{
	rank_env *env = &j->env;
	files *f = &j->files;
	frame_piece *p = &f->frame[FRAME_TRAILER];
	f->trailer_bytes = p->n;
	status rc = comm_bcast(env->c, &f->trailer_bytes, sizeof f->trailer_bytes, from);
	if (rc == ST_OK && f->trailer_bytes > FRAME_MOST_BYTES)
		rc = err_set(&env->e, ST_PEER, "rank %d sent an invalid size of the trailer", from);
	if (rc == ST_OK && from != to && env->c->rank != from)
		rc = alloc(j, FRAME_TRAILER, f->trailer_bytes);
	rc = comm_agree(env->c, rc);
	if (rc == ST_OK && from != to && f->trailer_bytes)
		rc = comm_bcast(env->c, p->bytes, p->n, from);
	return rc;
}

/* The first output is rank 0's file, or begins with its records. */
status frame_read(job *j)
{
	const settings *o = j->env.o;
	const int rank = j->env.c->rank, last = j->env.c->size - 1;
	files *f = &j->files;
	const int from = f->in.per_rank ? last : 0, to = f->out.per_rank ? last : 0;
	const bool trails = (o->trailer_bytes || o->records) && !o->explain;
	status rc = ST_OK;
	if (!o->explain && o->header_bytes && rank == 0)
		rc = read_piece(j, FRAME_HEADER, f->in.file, 0, o->header_bytes);
	if (rc == ST_OK && trails && rank == from) {
		input_file *in = &f->in.file[f->in.files - 1];
		const uint64_t n = in->frame.trailer_bytes;
		rc = read_piece(j, FRAME_TRAILER, in, (uint64_t)in->st.st_size - n, n);
	}
	rc = comm_agree(j->env.c, rc);
	if (rc != ST_OK || !trails)
		return rc;
	rc = share_trailer(j, from, to);
	if (!f->out.per_rank || rank == last)
		f->out.trailer_bytes = f->trailer_bytes;
	if (rank != to)
		f->frame[FRAME_TRAILER].n = 0;
	return rc;
}

/* Where it is in this rank's file. */
static status find_place(const output *o, int fd, const frame_piece *p, frame_place place,
			 uint64_t *at, err *e)
{
	struct stat st;
	*at = 0;
	if (place == FRAME_HEADER)
		return ST_OK;
	if (fstat(fd, &st) != 0)
		return err_sys(e, errno, "cannot look at %s", quoted(output_name(o)));
	if ((uint64_t)st.st_size < p->n)
		return err_set(e, ST_IO, "%s is shorter than its trailer", quoted(output_name(o)));
	*at = (uint64_t)st.st_size - p->n;
	return ST_OK;
}

status frame_write(job *j, frame_place place)
{
	const output *o = &j->files.out;
	const frame_piece *p = &j->files.frame[place];
	err *e = &j->env.e;
	uint64_t at = FILE_APPEND;
	status rc = ST_OK;
	if (p->n == 0)
		return ST_OK;
	if (!o->is_stdout)
		rc = find_place(o, o->fd, p, place, &at, e);
	return rc == ST_OK ? file_write_at(o->fd, p->bytes, p->n, at, output_name(o), e) : rc;
}

status frame_check(job *j, int fd, err *e)
{
	const output *o = &j->files.out;
	status rc = ST_OK;
	for (int i = 0; rc == ST_OK && i < FRAME_PIECES; i++) {
		const frame_piece *p = &j->files.frame[i];
		uint64_t at;
		if (p->n == 0)
			continue;
		unsigned char *there = mem_array(&j->env.m, p->n, 1, names[i], e);
		rc = there ? find_place(o, fd, p, (frame_place)i, &at, e) : ST_RESOURCE;
		if (rc == ST_OK)
			rc = file_read_at(fd, there, p->n, at, output_name(o), e);
		if (rc == ST_OK && memcmp(there, p->bytes, p->n) != 0)
			rc = err_set(e, ST_IO, "%s is not as it was written: its %s is another",
				     quoted(output_name(o)), names[i]);
		mem_free(&j->env.m, there);
	}
	return rc;
}
