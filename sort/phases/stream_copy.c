/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shares follow from sizes, and the size of a stream is known only at its end. So a stream is first
 * copied to a file in the first directory for runs that has room for all of it. If all ranks read
 * the same files, rank 0 copies, and the others, which are threads of the same process, duplicate
 * its descriptor. Costs a write and a read of each byte. Memory: 2 MiB. */
#include "memory_plan.h"
#include "stream_copy.h"
#include "base/arith.h"
#include "base/size.h"
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { PIECE_BYTES = 1 << 20 };

/* A copy under way. */
typedef struct stream_copy {
	spill_dirs dirs;
	size_t dir; /* the number of the directory that the copy is in */
	int fd;
	/* of directories in memory: copied bytes, and the memory that was left before, or 0 */
	uint64_t copied_bytes, left_bytes;
	unsigned ranks;               /* of this host that copy streams */
	unsigned char *piece, *moved; /* bytes to append; bytes moved to another directory */
} stream_copy;

static const char *stream_copy_label(const stream_copy *c)
{
	return c->dirs.dir[c->dir].label;
}

/* Write n bytes of the stream at `at`, unless they would take the last memory of the machine. */
static status stream_copy_append(stream_copy *c, size_t n, uint64_t at, err *e)
{
	enum { SORT_PART = 16 }; /* of the memory, for the sort */
	char left[SIZE_TEXT_BYTES];
	if (file_takes_memory(c->fd)) {
		const memory_limit_query q = { .root = "",
					       .node_ranks = c->ranks,
					       .process_ranks = 1 };
		memory_limit l = { .left_bytes = c->left_bytes };
		if (!c->left_bytes && memory_limit_find(&q, &l, e) != ST_OK)
			return e->code;
		c->left_bytes = l.left_bytes;
		c->copied_bytes += n;
		if (c->copied_bytes > l.left_bytes - l.left_bytes / SORT_PART)
			return err_set(e, ST_RESOURCE,
				       "cannot write %s: this directory is in memory, of which "
				       "%s were left",
				       quoted(stream_copy_label(c)), size_text(l.left_bytes, left));
	}
	return file_write_at(c->fd, c->piece, n, at, stream_copy_label(c), e);
}

/* Write n bytes of the stream at `at`. If the directory is full, first move the file to the next
 * directory that has room. */
static status stream_copy_write(stream_copy *c, size_t n, uint64_t at, err *e)
{
	err why = { ST_OK, "" };
	status rc = stream_copy_append(c, n, at, &why);
	while (rc == ST_RESOURCE && spill_dirs_leave_out(&c->dirs, c->dir)) {
		io_fd to = IO_FD_NONE;
		why = (err){ ST_OK, "" };
		rc = spill_dirs_create(&c->dirs, &c->dir, NULL, false, &to, &why);
		for (uint64_t i = 0; rc == ST_OK && i < at; i += PIECE_BYTES) {
			const size_t k = (size_t)u64_min(PIECE_BYTES, at - i);
			rc = file_read_at(c->fd, c->moved, k, i, stream_copy_label(c), &why);
			if (rc == ST_OK)
				rc = file_write_at(to.fd, c->moved, k, i, stream_copy_label(c),
						   &why);
		}
		const int done_with = rc == ST_OK ? c->fd : to.fd;
		if (rc == ST_OK)
			c->fd = to.fd;
		if (done_with >= 0)
			close(done_with);
		if (rc == ST_OK)
			rc = stream_copy_append(c, n, at, &why);
	}
	return rc == ST_OK ? ST_OK : spill_dirs_failed(&why, true, e);
}

/* Copy all streams of this rank, and let the copies replace them. */
static status stream_copy_all(job *j)
{
	rank_env *env = &j->env;
	input *in = &j->files.in;
	err *e = &env->e;
	size_t dirs;
	const char *const *dir = memory_plan_tmpdirs(j, &dirs);
	stream_copy c = { .fd = -1, .ranks = in->per_rank ? j->cpus.ranks_here : 1 };
	c.piece = mem_array(&env->m, PIECE_BYTES, 1, "copying a stream", e);
	c.moved = mem_array(&env->m, PIECE_BYTES, 1, "copying a stream", e);
	status rc = spill_dirs_open(&c.dirs, &env->m, dir, dirs, e);
	if (!c.piece || !c.moved)
		rc = ST_RESOURCE;
	for (input_file *f = in->file; f < in->file + in->files && rc == ST_OK; f++) {
		io_fd to = IO_FD_NONE;
		int from = -1;
		if (!f->is_stream)
			continue;
		rc = input_open(f, true, &from, e);
		if (rc == ST_OK)
			rc = spill_dirs_create(&c.dirs, &c.dir, NULL, false, &to, e);
		c.fd = to.fd;
		size_t got = PIECE_BYTES;
		for (uint64_t at = 0; rc == ST_OK && got == PIECE_BYTES; at += got) {
			rc = file_read_some(from, c.piece, PIECE_BYTES, &got, f->path, e);
			if (rc == ST_OK)
				rc = stream_copy_write(&c, got, at, e);
		}
		if (from >= 0)
			close(from);
		f->fd = c.fd;
		if (rc == ST_OK && fstat(f->fd, &f->st) != 0)
			rc = err_sys(e, errno, "cannot look at %s", quoted(stream_copy_label(&c)));
	}
	if (rc == ST_OK)
		spill_dirs_left_out(&c.dirs, j->mine.left_out, sizeof j->mine.left_out);
	spill_dirs_close(&c.dirs);
	mem_free(&env->m, c.piece);
	mem_free(&env->m, c.moved);
	return rc;
}

status copy_streams(job *j)
{
	rank_env *env = &j->env;
	input *in = &j->files.in;
	const bool shared = !in->per_rank && !env->o->from_root;
	const bool copies = in->streams && (env->c->rank == 0 || !shared);
	if (in->is_stream)
		return ST_OK;
	status rc = comm_agree(env->c, copies ? stream_copy_all(j) : ST_OK);
	/* all ranks read the same copies, each by its own descriptor */
	for (size_t i = 0; shared && i < in->files && rc == ST_OK; i++) {
		input_file *f = &in->file[i];
		int32_t fd = f->fd;
		if (!f->is_stream)
			continue;
		rc = comm_bcast(env->c, &fd, sizeof fd, 0);
		if (rc == ST_OK && env->c->rank > 0) {
			f->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
			if (f->fd < 0 || fstat(f->fd, &f->st) != 0)
				rc = err_sys(&env->e, errno, "cannot open the copy of input %s",
					     quoted(f->path));
		}
		rc = comm_agree(env->c, rc);
	}
	return rc == ST_OK && in->streams ? input_count(in, &env->o->lay, &env->e) : rc;
}
