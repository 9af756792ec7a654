/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files without a name: by O_TMPFILE or, on file systems without it, created exclusively under a
 * random name that is removed at once. */
#include "tempdir.h"
#include "file.h"
#include "base/clock.h"
#include "base/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ELSEWHERE "; use --tmpdir to choose another directory"

status tempdir_open(tempdir *t, const char *path, err *e)
{
	struct stat st;
	status rc = ST_OK;
	*t = (tempdir){ .fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) };
	const char *failed = t->fd < 0                                             ? "open"
			     : fstat(t->fd, &st) != 0                              ? "look at"
			     : faccessat(t->fd, ".", W_OK | X_OK, AT_EACCESS) != 0 ? "write in"
										   : NULL;
	if (failed)
		rc = err_set(e, ST_REFUSED, "cannot %s temporary directory %s: %s" ELSEWHERE,
			     failed, quoted(path), strerror(errno));
	else if ((st.st_mode & S_IWOTH) && !(st.st_mode & S_ISVTX))
		rc = err_set(e, ST_REFUSED,
			     "temporary directory %s is writable by everybody and has no sticky "
			     "bit" ELSEWHERE,
			     quoted(path));
	else if (asprintf(&t->label, "%s/(spill file)", path) < 0) {
		t->label = NULL;
		rc = err_set(e, ST_RESOURCE, "no memory for the name %s", quoted(path));
	}
	if (rc != ST_OK) {
		tempdir_close(t);
		return rc;
	}
	t->dev = st.st_dev;
	t->in_memory = file_is_in_memory(t->fd);
	return ST_OK;
}

/* Create a file and remove its name, on file systems without O_TMPFILE (NFS and some older ones).
 */
static int create_and_unlink(int dirfd, int flags)
{
	char name[40];
	int fd;
	do {
		snprintf(name, sizeof name, ".hetsort-%016" PRIx64 ".spill", unique_number());
		fd = openat(dirfd, name, flags | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	} while (fd < 0 && errno == EEXIST);
	if (fd >= 0 && unlinkat(dirfd, name, 0) != 0) {
		const int errnum = errno;
		close(fd);
		errno = errnum;
		return -1;
	}
	return fd;
}

status tempdir_create(const tempdir *t, const char *name, bool direct, io_fd *f, err *e)
{
	const int flags = O_RDWR | O_CLOEXEC;
	const int how = name ? O_CREAT | O_EXCL : O_TMPFILE;
	*f = (io_fd){ .fd = openat(t->fd, name ? name : ".", flags | how, 0600), .direct = -1 };
	if (f->fd < 0 && !name && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT))
		f->fd = create_and_unlink(t->fd, flags);
	if (f->fd < 0)
		return err_sys(e, errno, "cannot create %s", quoted(t->label));
	if (direct && !t->in_memory)
		f->direct = io_fd_open_direct(f->fd, O_RDWR);
	return ST_OK;
}

status tempdir_open_file(const tempdir *t, const char *name, bool direct, io_fd *f, err *e)
{
	const int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	*f = (io_fd){ .fd = openat(t->fd, name, flags), .direct = -1 };
	if (f->fd < 0)
		return err_sys(e, errno, "cannot open %s", quoted(name));
	if (direct && !t->in_memory)
		f->direct = io_fd_open_direct(f->fd, O_RDWR);
	return ST_OK;
}

status tempdir_free_bytes(const tempdir *t, uint64_t *bytes, err *e)
{
	return file_free_bytes(t->fd, bytes)
		       ? ST_OK
		       : err_sys(e, errno, "cannot find the free space for %s", quoted(t->label));
}

void tempdir_close(tempdir *t)
{
	if (t->fd >= 0)
		close(t->fd);
	free(t->label);
	*t = (tempdir){ .fd = -1 };
}

/* ------------------------------------------------------------------------- the rate of a disk */

/* Two threads write, as in a sort, so that the disk always has work. */

enum {
	WRITERS = 2,
	PIECE_BYTES = 2 << 20,
	TRIAL_PART = 64, /* of the bytes to be written */
	LEAST_TRIAL_BYTES = 4 << 20,
	TRIAL_BYTES = 32 << 20
};

static const double LIMIT_S = 0.1;

typedef struct trial {
	io_fd f;
	const unsigned char *piece;
	uint64_t pieces;
	atomic_uint_least64_t next;
	atomic_bool failed;
	double begun_s;
} trial;

static void write_pieces(void *trial_, unsigned worker)
{
	trial *t = trial_;
	(void)worker;
	while (!atomic_load(&t->failed) && now_s() - t->begun_s < LIMIT_S) {
		const uint64_t i = atomic_fetch_add(&t->next, 1);
		if (i >= t->pieces)
			return;
		if (io_fd_write_at(&t->f, t->piece, PIECE_BYTES, i * PIECE_BYTES, "", NULL) !=
		    ST_OK)
			atomic_store(&t->failed, true);
	}
}

bool disk_exists(const char *dir)
{
	const int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const bool exists = fd >= 0 && !file_takes_memory(fd);
	if (fd >= 0)
		close(fd);
	return exists;
}

double disk_rate_s(mem *m, const char *dir, uint64_t bytes)
{
	const uint64_t most_bytes = u64_min(bytes / TRIAL_PART, TRIAL_BYTES);
	trial t = { .f = IO_FD_NONE, .pieces = most_bytes / PIECE_BYTES };
	tempdir d = { .fd = -1 };
	struct stat st;
	double s = 0;
	if (most_bytes < LEAST_TRIAL_BYTES)
		return 0;
	unsigned char *raw =
		mem_array(m, PIECE_BYTES + IO_FD_ALIGN, 1, "a trial of the disk", NULL);
	if (raw && tempdir_open(&d, dir, NULL) == ST_OK &&
	    tempdir_create(&d, NULL, true, &t.f, NULL) == ST_OK) {
		t.piece = raw + (size_t)(-(uintptr_t)raw % IO_FD_ALIGN);
		t.begun_s = now_s();
		pool_run(WRITERS, write_pieces, &t);
		if (!atomic_load(&t.failed) && fdatasync(t.f.fd) == 0 && fstat(t.f.fd, &st) == 0 &&
		    st.st_size > 0)
			s = (now_s() - t.begun_s) / (double)st.st_size;
	}
	io_fd_close(&t.f);
	tempdir_close(&d);
	mem_free(m, raw);
	return s;
}

double disk_buffer_bytes(void)
{
	static const double PART = 0.1; /* of the memory: by default, Linux waits above 0.15 */
	return PART * (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
}
