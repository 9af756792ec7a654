/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The output of gensort. A file that is at least as long as the new one is overwritten in place,
 * which spares the system freeing and finding its pages; it is cut by a byte first, so that it
 * cannot pass for a complete one meanwhile. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "gen_out.h"
#include "gen_say.h"

static int open_file(struct gen_out *o)
{
	o->fd = open(o->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	o->created = o->fd >= 0;
	if (o->fd < 0 && errno == EEXIST)
		o->fd = open(o->name, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	return o->fd < 0 ? errno : 0;
}

static int cut(int fd, uint64_t bytes)
{
	int rc;

	do
		rc = ftruncate(fd, (off_t)bytes);
	while (rc < 0 && errno == EINTR);
	return rc < 0 ? errno : 0;
}

/* Would a file of this size be refused however much room there is? lseek() knows what the file
 * system can hold, and changes nothing. */
static bool too_large(int fd, uint64_t bytes)
{
	struct rlimit most;

	if (bytes > INT64_MAX || lseek(fd, (off_t)bytes, SEEK_SET) < 0)
		return true;
	return getrlimit(RLIMIT_FSIZE, &most) == 0 && bytes > most.rlim_cur;
}

/* A file system, or a kernel, that cannot preallocate is no failure; whatever else it answers would
 * only come up later, in a write. */
static int reserve(int fd, uint64_t bytes)
{
	int rc;

	do
		rc = fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)bytes);
	while (rc < 0 && errno == EINTR);
	return rc < 0 && errno != EOPNOTSUPP && errno != ENOSYS ? errno : 0;
}

static int prepare(struct gen_out *o, uint64_t bytes)
{
	struct stat st;
	int rc = 0;

	if (fstat(o->fd, &st) < 0)
		return errno;
	if (!S_ISREG(st.st_mode))
		return 0;
	o->dev = st.st_dev;
	o->ino = st.st_ino;
	o->regular = true;
	if (too_large(o->fd, bytes))
		return EFBIG;
	o->changed = true;
	if (st.st_size > 0)
		rc = cut(o->fd, bytes > 0 && (uint64_t)st.st_size >= bytes ? bytes - 1 : 0);
	if (rc == 0 && bytes > 0 && (uint64_t)st.st_size < bytes)
		rc = reserve(o->fd, bytes);
	return rc;
}

static void no_room(const char *name, uint64_t bytes, int err)
{
	char what[64] = "cannot make room for 2^64 bytes or more in";

	if (bytes < UINT64_MAX)
		snprintf(what, sizeof what, "cannot make room for %" PRIu64 " byte%s in", bytes,
			 bytes == 1 ? "" : "s");
	gen_error(what, name, err);
}

bool gen_out_open(struct gen_out *o, const char *name, uint64_t bytes)
{
	int err;

	*o = (struct gen_out){ .name = name, .fd = -1 };
	if (strcmp(name, "/dev/null") == 0)
		return true;
	if (strcmp(name, "-") == 0) {
		o->name = "standard output";
		o->fd = STDOUT_FILENO;
		return true;
	}
	err = open_file(o);
	if (err != 0) {
		gen_error("cannot open", name, err);
		return false;
	}
	err = prepare(o, bytes);
	if (err != 0) {
		no_room(name, bytes, err);
		gen_out_discard(o);
		return false;
	}
	return true;
}

int gen_out_write(const struct gen_out *o, const unsigned char *p, size_t n, uint64_t at)
{
	if (o->fd < 0)
		return 0;
	while (n > 0) {
		ssize_t done = o->regular ? pwrite(o->fd, p, n, (off_t)at) : write(o->fd, p, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done < 0 ? errno : EIO;
		p += done;
		n -= (size_t)done;
		at += (uint64_t)done;
	}
	return 0;
}

/* A new file is not safe before its folder is; a folder that may not be read, or a file system
 * without such a call, is no failure of ours. */
static int sync_folder(const char *name)
{
	const char *slash = strrchr(name, '/');
	char *folder =
		slash ? strndup(name, slash == name ? 1 : (size_t)(slash - name)) : strdup(".");
	int fd, err = 0;

	if (!folder)
		return ENOMEM;
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(folder);
	if (fd < 0)
		return errno == EACCES || errno == EPERM ? 0 : errno;
	if (fsync(fd) < 0 && errno != EINVAL && errno != EROFS)
		err = errno;
	close(fd);
	return err;
}

static int make_durable(const struct gen_out *o)
{
	struct stat st;

	if (fstat(o->fd, &st) < 0)
		return errno;
	if (!S_ISREG(st.st_mode))
		return 0;
	if (fsync(o->fd) < 0)
		return errno; /* never tried again: a second call may report a false success */
	return o->created ? sync_folder(o->name) : 0;
}

bool gen_out_finish(struct gen_out *o, bool durable)
{
	int fd = o->fd, err = 0;

	if (fd < 0)
		return true;
	if (durable && (err = make_durable(o)) != 0) {
		gen_error("cannot sync", o->name, err);
		return false;
	}
	o->fd = -1;
	/* after EINTR the descriptor is closed on Linux, and all was written before */
	if (close(fd) < 0 && errno != EINTR) {
		gen_error("cannot close", o->name, errno);
		return false;
	}
	return true;
}

static bool still_there(const struct gen_out *o)
{
	struct stat st;

	return lstat(o->name, &st) == 0 && st.st_dev == o->dev && st.st_ino == o->ino;
}

void gen_out_discard(struct gen_out *o)
{
	if (o->created && o->regular && still_there(o) && unlink(o->name) == 0)
		gen_error("removed the incomplete file", o->name, 0);
	else if (o->regular && !o->changed)
		; /* what was there before is there still */
	else if (o->regular && (o->fd >= 0 ? ftruncate(o->fd, 0) : truncate(o->name, 0)) == 0)
		gen_error("emptied the incomplete file", o->name, 0);
	else
		gen_error("incomplete output left in", o->name, 0);
	if (o->fd >= 0)
		close(o->fd);
	o->fd = -1;
}
