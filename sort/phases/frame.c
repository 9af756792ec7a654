/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Header and trailer are kept in memory, with a second copy of one of them while it is compared. */
#include "frame.h"
#include "base/size.h"
#include "io/file.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const frame_names[FRAME_PIECES] = { "header", "trailer" };

static status frame_alloc(job *j, frame_place place, uint64_t n)
{
	frame_piece *p = &j->files.frame[place];
	p->n = (size_t)n;
	p->bytes = mem_array(&j->env.m, p->n, 1, frame_names[place], &j->env.e);
	return p->bytes ? ST_OK : ST_RESOURCE;
}

/* Read the first n bytes of a stream, which stays open, or n bytes of a file from `at` on. */
static status frame_read_piece(job *j, frame_place place, input_file *f, uint64_t at, uint64_t n)
{
	err *e = &j->env.e;
	const frame_piece *p = &j->files.frame[place];
	const bool stream = j->files.in.is_stream;
	size_t got = (size_t)n;
	int fd = -1;
	status rc = frame_alloc(j, place, n);
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
			     "input %s ends after %zu byte%s, but its header must have %" PRIu64
			     " (--skip-header)",
			     quoted(f->path), got, plural(got), n);
	return rc;
}

/* Send the trailer from the rank with the last input to the rank with the last output. */
static status frame_pass_trailer(job *j, int from, int to)
{
	rank_env *env = &j->env;
	job_files *f = &j->files;
	frame_piece *p = &f->frame[FRAME_TRAILER];
	const int rank = env->c->rank;
	f->trailer_bytes = p->n;
	status rc = comm_bcast(env->c, &f->trailer_bytes, sizeof f->trailer_bytes, from);
	if (rc == ST_OK && f->trailer_bytes > FRAME_MOST_BYTES)
		rc = err_set(&env->e, ST_PEER, "rank %d sent an invalid size of the trailer", from);
	if (rc == ST_OK && from != to && rank != from)
		rc = frame_alloc(j, FRAME_TRAILER, f->trailer_bytes);
	rc = comm_agree(env->c, rc);
	if (rc == ST_OK && from != to && f->trailer_bytes)
		rc = comm_bcast(env->c, p->bytes, p->n, from);
	if (!f->out.per_rank || rank == env->c->size - 1)
		f->out.trailer_bytes = f->trailer_bytes;
	if (rank != to)
		p->n = 0;
	return rc;
}

/* Read both pieces. Rank 0 writes the header: its file, or the common file, begins with its
 * records. */
status frame_read(job *j)
{
	rank_env *env = &j->env;
	const settings *o = env->o;
	const int rank = env->c->rank, last = env->c->size - 1;
	job_files *f = &j->files;
	const int from = f->in.per_rank ? last : 0, to = f->out.per_rank ? last : 0;
	const bool trails = (o->trailer_bytes || o->records) && !o->explain && !o->order_out;
	status rc = ST_OK;
	if (!o->explain && o->header_bytes && rank == 0)
		rc = frame_read_piece(j, FRAME_HEADER, f->in.file, 0, o->header_bytes);
	if (o->order_out) /* the header of a stream was read, but is not written */
		f->frame[FRAME_HEADER].n = 0;
	if (rc == ST_OK && trails && rank == from) {
		input_file *in = &f->in.file[f->in.files - 1];
		const uint64_t n = in->frame.trailer_bytes;
		rc = frame_read_piece(j, FRAME_TRAILER, in, (uint64_t)in->st.st_size - n, n);
	}
	rc = comm_agree(env->c, rc);
	return rc == ST_OK && trails ? frame_pass_trailer(j, from, to) : rc;
}

/* Find where a piece is in this rank's file. */
static status frame_find(const output *o, int fd, const frame_piece *p, frame_place place,
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
		rc = frame_find(o, o->fd, p, place, &at, e);
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
		unsigned char *there = mem_array(&j->env.m, p->n, 1, frame_names[i], e);
		rc = there ? frame_find(o, fd, p, (frame_place)i, &at, e) : ST_RESOURCE;
		if (rc == ST_OK)
			rc = file_read_at(fd, there, p->n, at, output_name(o), e);
		if (rc == ST_OK && memcmp(there, p->bytes, p->n) != 0)
			rc = err_set(e, ST_IO, "%s is not as it was written: its %s differs",
				     quoted(output_name(o)), frame_names[i]);
		mem_free(&j->env.m, there);
	}
	return rc;
}
