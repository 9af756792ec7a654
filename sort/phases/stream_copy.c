/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shares follow from sizes, and a stream tells its size at its end: so it is read to the end first,
 * to a file in the first of the directories for runs that has room for all of it. Of files that all
 * ranks read, rank 0 copies, and the others, threads of the same process, take its descriptor.
 * Costs a write and a read of each byte. Memory: 2 MiB. */
#include "base/minmax.h"
#include "io/file.h"
#include "job.h"
#include "spill/spill_dirs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { PIECE_BYTES = 1 << 20 };

/* A copy that is being made. */
typedef struct copying {
	spill_dirs dirs;
	size_t dir; /* where the file is */
	int fd;
	unsigned char *piece, *moved; /* as it came; on the way to another directory */
} copying;

static const char *label_of(const copying *c)
{
	return c->dirs.dir[c->dir].label;
}

/* The first bytes, to a file in another directory. */
static status move_file(copying *c, uint64_t bytes, err *e)
{
	io_fd to = IO_FD_NONE;
	status rc = spill_dirs_create(&c->dirs, &c->dir, NULL, false, &to, e);
	for (uint64_t at = 0; rc == ST_OK && at < bytes; at += PIECE_BYTES) {
		const size_t n = (size_t)u64_min(PIECE_BYTES, bytes - at);
		rc = file_read_at(c->fd, c->moved, n, at, label_of(c), e);
		if (rc == ST_OK)
			rc = file_write_at(to.fd, c->moved, n, at, label_of(c), e);
	}
	const int done_with = rc == ST_OK ? c->fd : to.fd;
	if (rc == ST_OK)
		c->fd = to.fd;
	if (done_with >= 0)
		close(done_with);
	return rc;
}

static status write_piece(copying *c, size_t n, uint64_t at, err *e)
{
	err why = { ST_OK, "" };
	status rc = file_write_at(c->fd, c->piece, n, at, label_of(c), &why);
	while (rc == ST_RESOURCE && spill_dirs_leave_out(&c->dirs, c->dir)) {
		why = (err){ ST_OK, "" };
		rc = move_file(c, at, &why);
		if (rc == ST_OK)
			rc = file_write_at(c->fd, c->piece, n, at, label_of(c), &why);
	}
	return rc == ST_OK ? ST_OK : spill_dirs_failed(&why, true, e);
}

/* The copy takes the stream's place. */
static status copy(copying *c, input_file *f, err *e)
{
	io_fd to;
	int from;
	size_t got = PIECE_BYTES;
	status rc = input_open(f, true, &from, e);
	if (rc != ST_OK)
		return rc;
	rc = spill_dirs_create(&c->dirs, &c->dir, NULL, false, &to, e);
	c->fd = to.fd;
	for (uint64_t at = 0; rc == ST_OK && got == PIECE_BYTES; at += got) {
		rc = file_read_some(from, c->piece, PIECE_BYTES, &got, f->path, e);
		if (rc == ST_OK)
			rc = write_piece(c, got, at, e);
	}
	f->fd = c->fd;
	close(from);
	if (rc == ST_OK && fstat(f->fd, &f->st) != 0)
		rc = err_sys(e, errno, "cannot look at %s", quoted(label_of(c)));
	return rc;
}

static status copy_all(job *j)
{
	rank_env *env = &j->env;
	input *in = &j->files.in;
	const settings *o = env->o;
	copying c = { .fd = -1 };
	char *usual = o->tmpdirs ? NULL : budget_default_tmpdir(o);
	const char *const name = usual;
	if (!o->tmpdirs && !usual)
		return err_set(&env->e, ST_RESOURCE, "no memory for a name");
	c.piece = mem_array(&env->m, PIECE_BYTES, 1, "copying a stream", &env->e);
	c.moved = mem_array(&env->m, PIECE_BYTES, 1, "copying a stream", &env->e);
	status rc = spill_dirs_open(&c.dirs, &env->m, o->tmpdirs ? o->tmpdir : &name,
				    o->tmpdirs ? o->tmpdirs : 1, &env->e);
	if (!c.piece || !c.moved)
		rc = ST_RESOURCE;
	for (size_t i = 0; i < in->files && rc == ST_OK; i++)
		if (in->file[i].is_stream)
			rc = copy(&c, &in->file[i], &env->e);
	if (rc == ST_OK)
		spill_dirs_left_out(&c.dirs, j->mine.left_out, sizeof j->mine.left_out);
	spill_dirs_close(&c.dirs);
	mem_free(&env->m, c.piece);
	mem_free(&env->m, c.moved);
	free(usual);
	return rc;
}

/* All ranks have the same files, and each its own descriptor of a copy. */
static status take_copy(rank_env *env, input_file *f)
{
	int32_t fd = f->fd;
	status rc = comm_bcast(env->c, &fd, sizeof fd, 0);
	if (rc != ST_OK || env->c->rank == 0)
		return rc;
	f->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (f->fd < 0 || fstat(f->fd, &f->st) != 0)
		return err_sys(&env->e, errno, "cannot open the copy of input %s", quoted(f->path));
	return ST_OK;
}

status copy_streams(job *j)
{
	rank_env *env = &j->env;
	input *in = &j->files.in;
	const bool shared = !in->per_rank && !env->o->from_root;
	const bool copies = in->streams && (env->c->rank == 0 || !shared);
	if (in->is_stream)
		return ST_OK;
	status rc = comm_agree(env->c, copies ? copy_all(j) : ST_OK);
	for (size_t i = 0; shared && i < in->files && rc == ST_OK; i++)
		if (in->file[i].is_stream)
			rc = comm_agree(env->c, take_copy(env, &in->file[i]));
	return rc == ST_OK && in->streams ? input_count(in, &env->o->lay, &env->e) : rc;
}
