/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shares follow from sizes, and a stream tells its size at its end: so it is read to the end first,
 * to a file in the first of the directories for runs that has room for all of it. Of files that all
 * ranks read, rank 0 copies, and the others, threads of the same process, take its descriptor.
 * Costs a write and a read of each byte. Memory: 2 MiB. */
#include "stream_copy.h"
#include "base/minmax.h"
#include "budget_phase.h"
#include "io/file.h"
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

static status copy_bytes(copying *c, int from, const char *path, err *e)
{
	uint64_t at = 0;
	size_t got = PIECE_BYTES;
	status rc = ST_OK;
	for (; rc == ST_OK && got == PIECE_BYTES; at += got) {
		rc = file_read_some(from, c->piece, PIECE_BYTES, &got, path, e);
		if (rc == ST_OK)
			rc = write_piece(c, got, at, e);
	}
	return rc;
}

/* The copy takes the stream's place. */
static status copy(rank_env *env, copying *c, input_file *f)
{
	char q[QUOTED_BYTES];
	io_fd to;
	int from;
	status rc = input_open(f, true, &from, &env->e);
	if (rc != ST_OK)
		return rc;
	rc = spill_dirs_create(&c->dirs, &c->dir, NULL, false, &to, &env->e);
	c->fd = to.fd;
	if (rc == ST_OK)
		rc = copy_bytes(c, from, f->path, &env->e);
	f->fd = c->fd;
	close(from);
	if (rc == ST_OK && fstat(f->fd, &f->st) != 0)
		rc = err_sys(&env->e, errno, "cannot look at %s", err_quoted(label_of(c), q));
	return rc;
}

static status copy_streams_to(rank_env *env, const char *const *name, size_t names, input *in)
{
	rank_result *r = env->stats;
	copying c = { .fd = -1 };
	c.piece = mem_array(&env->m, PIECE_BYTES, 1, "copying a stream", &env->e);
	c.moved = mem_array(&env->m, PIECE_BYTES, 1, "copying a stream", &env->e);
	status rc = spill_dirs_open(&c.dirs, &env->m, name, names, &env->e);
	if (!c.piece || !c.moved)
		rc = ST_RESOURCE;
	for (size_t i = 0; i < in->files && rc == ST_OK; i++)
		if (in->file[i].is_stream)
			rc = copy(env, &c, &in->file[i]);
	if (rc == ST_OK)
		spill_dirs_left_out(&c.dirs, r->left_out, sizeof r->left_out);
	spill_dirs_close(&c.dirs);
	mem_free(&env->m, c.piece);
	mem_free(&env->m, c.moved);
	return rc;
}

static status copy_all(rank_env *env, input *in)
{
	const settings *o = env->o;
	if (o->tmpdirs)
		return copy_streams_to(env, o->tmpdir, o->tmpdirs, in);
	char *usual = budget_default_tmpdir(o);
	const char *const name = usual;
	const status rc = usual ? copy_streams_to(env, &name, 1, in)
				: err_set(&env->e, ST_RESOURCE, "no memory for a name");
	free(usual);
	return rc;
}

static status take_copy(rank_env *env, input_file *f)
{
	char q[QUOTED_BYTES];
	int32_t fd = f->fd;
	status rc = comm_bcast(env->c, &fd, sizeof fd, 0);
	if (rc != ST_OK || env->c->rank == 0)
		return rc;
	f->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (f->fd < 0 || fstat(f->fd, &f->st) != 0)
		return err_sys(&env->e, errno, "cannot open the copy of input %s",
			       err_quoted(f->path, q));
	return ST_OK;
}

/* All ranks have the same files, and each its own descriptor of a copy. */
static status share_copies(rank_env *env, input *in)
{
	status rc = ST_OK;
	for (size_t i = 0; i < in->files && rc == ST_OK; i++)
		if (in->file[i].is_stream)
			rc = comm_agree(env->c, take_copy(env, &in->file[i]));
	return rc;
}

status copy_streams(rank_env *env, input *in)
{
	const bool shared = !in->per_rank && !env->o->from_root;
	const bool copies = in->streams && (env->c->rank == 0 || !shared);
	if (in->is_stream)
		return ST_OK;
	status rc = comm_agree(env->c, copies ? copy_all(env, in) : ST_OK);
	if (rc == ST_OK && shared)
		rc = share_copies(env, in);
	return rc == ST_OK && in->streams ? input_count(in, &env->o->lay, &env->e) : rc;
}
