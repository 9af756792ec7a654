/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shares follow from sizes, and a stream tells its size at its end: so it is read to the end first,
 * to a file in the first of the directories for runs. Of files that all ranks read, rank 0 copies,
 * and the others, threads of the same process, take its descriptor. Costs a write and a read of
 * each byte. Memory: 1 MiB. */
#include "stream_copy.h"
#include "budget_phase.h"
#include "io/file.h"
#include "io/tempdir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { PIECE_BYTES = 1 << 20 };

static status copy_bytes(int from, const char *path, int to, const char *label, mem *m, err *e)
{
	uint64_t at = 0;
	size_t got = PIECE_BYTES;
	unsigned char *buf = mem_array(m, PIECE_BYTES, 1, "copying a stream", e);
	status rc = buf ? ST_OK : ST_RESOURCE;
	for (; rc == ST_OK && got == PIECE_BYTES; at += got) {
		rc = file_read_some(from, buf, PIECE_BYTES, &got, path, e);
		if (rc == ST_OK)
			rc = file_write_at(to, buf, got, at, label, e);
	}
	mem_free(m, buf);
	return rc;
}

/* The copy takes the stream's place. */
static status copy(rank_env *env, const tempdir *dir, input_file *f)
{
	char q[QUOTED_BYTES];
	io_fd to;
	int from;
	status rc = input_open_stream(f, &from, &env->e);
	if (rc != ST_OK)
		return rc;
	rc = tempdir_create(dir, NULL, false, &to, &env->e);
	f->fd = to.fd;
	if (rc == ST_OK)
		rc = copy_bytes(from, f->path, to.fd, dir->label, &env->m, &env->e);
	close(from);
	if (rc == ST_OK && fstat(f->fd, &f->st) != 0)
		rc = err_sys(&env->e, errno, "cannot look at %s", err_quoted(dir->label, q));
	return rc;
}

static status copy_all(rank_env *env, input *in)
{
	tempdir dir;
	char *usual = budget_default_tmpdir(env->o);
	status rc = usual ? tempdir_open(&dir, env->o->tmpdirs ? env->o->tmpdir[0] : usual, &env->e)
			  : err_set(&env->e, ST_RESOURCE, "no memory for a name");
	free(usual);
	if (rc != ST_OK)
		return rc;
	for (size_t i = 0; i < in->files && rc == ST_OK; i++)
		if (in->file[i].is_stream)
			rc = copy(env, &dir, &in->file[i]);
	tempdir_close(&dir);
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
