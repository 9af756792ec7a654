/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading, writing and comparing header and trailer. Memory: both, and one of them once more while
 * it is compared. */
#include "frame.h"
#include "base/size.h"
#include "io/file.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const names[FRAME_PIECES] = { "header", "trailer" };

static status read_file(const input_file *f, uint64_t at, const frame_piece *to, err *e)
{
	int fd;
	status rc = input_open(f, false, &fd, e);
	if (rc != ST_OK)
		return rc;
	rc = file_read_at(fd, to->bytes, to->n, at, f->path, e);
	close(fd);
	return rc;
}

static status read_stream(input_file *f, unsigned char *to, size_t n, err *e)
{
	char q[QUOTED_BYTES];
	size_t got;
	status rc = input_open(f, true, &f->fd, e);
	if (rc == ST_OK)
		rc = file_read_some(f->fd, to, n, &got, f->path, e);
	if (rc == ST_OK && got < n)
		rc = err_set(e, ST_REFUSED,
			     "input %s ends after %zu byte%s, and its header is to have %zu "
			     "(--skip-header)",
			     err_quoted(f->path, q), got, plural(got), n);
	return rc;
}

static status alloc(rank_env *env, files *f, frame_place place, uint64_t n)
{
	frame_piece *p = &f->frame[place];
	p->n = (size_t)n;
	p->bytes = mem_array(&env->m, p->n, 1, names[place], &env->e);
	return p->bytes ? ST_OK : ST_RESOURCE;
}

/* The first output is rank 0's file, or begins with its records. */
static status read_header(rank_env *env, files *f)
{
	const uint64_t n = env->o->header_bytes;
	frame_piece *p = &f->frame[FRAME_HEADER];
	if (n == 0 || env->c->rank > 0)
		return ST_OK;
	if (alloc(env, f, FRAME_HEADER, n) != ST_OK)
		return ST_RESOURCE;
	return f->in.is_stream ? read_stream(f->in.file, p->bytes, p->n, &env->e)
			       : read_file(f->in.file, 0, p, &env->e);
}

static status read_trailer(rank_env *env, files *f)
{
	const input_file *last = &f->in.file[f->in.files - 1];
	const uint64_t n = last->frame.trailer_bytes;
	const status rc = alloc(env, f, FRAME_TRAILER, n);
	return rc == ST_OK && n ? read_file(last, (uint64_t)last->st.st_size - n,
					    &f->frame[FRAME_TRAILER], &env->e)
				: rc;
}

/* From the rank that has the last input to the one that has the last output. */
static status share_trailer(rank_env *env, files *f, int from, int to)
{
	const int rank = env->c->rank;
	frame_piece *p = &f->frame[FRAME_TRAILER];
	f->trailer_bytes = p->n;
	status rc = comm_bcast(env->c, &f->trailer_bytes, sizeof f->trailer_bytes, from);
	if (rc == ST_OK && f->trailer_bytes > FRAME_MOST_BYTES)
		rc = err_set(&env->e, ST_PEER, "rank %d sent an invalid size of the trailer", from);
	if (rc == ST_OK && from != to && rank != from)
		rc = alloc(env, f, FRAME_TRAILER, f->trailer_bytes);
	rc = comm_agree(env->c, rc);
	if (rc == ST_OK && from != to && f->trailer_bytes)
		rc = comm_bcast(env->c, p->bytes, p->n, from);
	return rc;
}

status frame_read(rank_env *env, files *f)
{
	const settings *o = env->o;
	const int last = env->c->size - 1;
	const int from = f->in.per_rank ? last : 0, to = f->out.per_rank ? last : 0;
	const bool trails = (o->trailer_bytes || o->records) && !o->explain;
	status rc = o->explain ? ST_OK : read_header(env, f);
	if (rc == ST_OK && trails && env->c->rank == from)
		rc = read_trailer(env, f);
	rc = comm_agree(env->c, rc);
	if (rc != ST_OK || !trails)
		return rc;
	rc = share_trailer(env, f, from, to);
	if (!f->out.per_rank || env->c->rank == last)
		f->out.trailer_bytes = f->trailer_bytes;
	if (env->c->rank != to)
		f->frame[FRAME_TRAILER].n = 0;
	return rc;
}

/* Where it is in this rank's file. */
static status find_place(const output *o, int fd, const frame_piece *p, frame_place place,
			 uint64_t *at, err *e)
{
	char q[QUOTED_BYTES];
	struct stat st;
	*at = 0;
	if (place == FRAME_HEADER)
		return ST_OK;
	if (fstat(fd, &st) != 0)
		return err_sys(e, errno, "cannot look at %s", err_quoted(output_name(o), q));
	if ((uint64_t)st.st_size < p->n)
		return err_set(e, ST_IO, "%s is shorter than its trailer",
			       err_quoted(output_name(o), q));
	*at = (uint64_t)st.st_size - p->n;
	return ST_OK;
}

status frame_write(rank_env *env, const files *f, frame_place place)
{
	const output *o = &f->out;
	const frame_piece *p = &f->frame[place];
	uint64_t at = FILE_APPEND;
	status rc = ST_OK;
	if (p->n == 0)
		return ST_OK;
	if (!o->is_stdout)
		rc = find_place(o, o->fd, p, place, &at, &env->e);
	return rc == ST_OK ? file_write_at(o->fd, p->bytes, p->n, at, output_name(o), &env->e) : rc;
}

static status check_piece(rank_env *env, const files *f, int fd, frame_place place, err *e)
{
	const output *o = &f->out;
	const frame_piece *p = &f->frame[place];
	char q[QUOTED_BYTES];
	uint64_t at;
	if (p->n == 0)
		return ST_OK;
	unsigned char *there = mem_array(&env->m, p->n, 1, names[place], e);
	status rc = there ? find_place(o, fd, p, place, &at, e) : ST_RESOURCE;
	if (rc == ST_OK)
		rc = file_read_at(fd, there, p->n, at, output_name(o), e);
	if (rc == ST_OK && memcmp(there, p->bytes, p->n) != 0)
		rc = err_set(e, ST_IO, "%s is not as it was written: its %s is another",
			     err_quoted(output_name(o), q), names[place]);
	mem_free(&env->m, there);
	return rc;
}

status frame_check(rank_env *env, const files *f, int fd, err *e)
{
	const status rc = check_piece(env, f, fd, FRAME_HEADER, e);
	return rc == ST_OK ? check_piece(env, f, fd, FRAME_TRAILER, e) : rc;
}

void frame_free(rank_env *env, files *f)
{
	for (int i = 0; i < FRAME_PIECES; i++)
		mem_free(&env->m, f->frame[i].bytes);
	memset(f->frame, 0, sizeof f->frame);
}
