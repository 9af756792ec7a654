/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading for valsort: short reads are completed, interrupted ones repeated, and the end is
 * where a read returns nothing. A directory counts as empty, as it does for the benchmark's
 * own validator. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "val_in.h"

/* Files of /proc and the like are regular, of size 0, and full: those are read in order. */
static int inspect(struct val_in *in)
{
	struct stat st;

	if (fstat(in->fd, &st) < 0)
		return errno;
	in->size = st.st_size;
	in->regular = S_ISREG(st.st_mode) && st.st_size > 0;
	if (!in->regular)
		return 0;
	in->base = lseek(in->fd, 0, SEEK_CUR); /* standard input may be half read */
	posix_fadvise(in->fd, in->base, 0, POSIX_FADV_SEQUENTIAL);
	return in->base < 0 ? errno : 0;
}

int val_in_open(struct val_in *in, const char *name, size_t block_bytes)
{
	int err;

	*in = (struct val_in){ .name = name, .block_bytes = block_bytes };
	in->fd = strcmp(name, "-") == 0 ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC);
	if (in->fd < 0)
		return errno;
	err = inspect(in);
	if (err != 0) {
		close(in->fd);
		return err;
	}
	pthread_mutex_init(&in->lock, NULL);
	return 0;
}

static int fill(const struct val_in *in, unsigned char *buf, off_t at, size_t *got)
{
	for (*got = 0; *got < in->block_bytes;) {
		size_t left = in->block_bytes - *got;
		ssize_t n = in->regular ? pread(in->fd, buf + *got, left, at + (off_t)*got)
					: read(in->fd, buf + *got, left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EISDIR)
			return errno;
		if (n <= 0)
			break;
		*got += (size_t)n;
	}
	return 0;
}

/* The lock is held by the caller, and given back while reading if that is allowed. */
static int read_block(struct val_in *in, unsigned char *buf, uint64_t number, size_t *got)
{
	off_t skip;
	int err;

	if (!in->regular)
		return fill(in, buf, 0, got);
	if (__builtin_mul_overflow((off_t)number, (off_t)in->block_bytes, &skip) ||
	    __builtin_add_overflow(skip, in->base, &skip))
		return EOVERFLOW;
	pthread_mutex_unlock(&in->lock);
	err = fill(in, buf, skip, got);
	pthread_mutex_lock(&in->lock);
	return err;
}

bool val_in_take(struct val_in *in, unsigned char *buf, uint64_t *number, size_t *got, int *err)
{
	bool ended;

	*got = 0;
	*err = 0;
	pthread_mutex_lock(&in->lock);
	ended = in->ended;
	if (!ended) {
		*number = in->next++;
		*err = read_block(in, buf, *number, got);
		if (*err != 0 || *got < in->block_bytes)
			in->ended = true;
	}
	pthread_mutex_unlock(&in->lock);
	return !ended;
}

bool val_in_changed(const struct val_in *in, uint64_t bytes)
{
	struct stat st;

	if (!in->regular)
		return false;
	if (fstat(in->fd, &st) < 0 || st.st_size != in->size)
		return true;
	return bytes != (in->size > in->base ? (uint64_t)(in->size - in->base) : 0);
}

void val_in_close(struct val_in *in)
{
	close(in->fd); /* only read from: nothing can be lost any more */
	pthread_mutex_destroy(&in->lock);
}
