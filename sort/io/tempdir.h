/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A directory for temporary files that no other user can open: they have no name, so the kernel
 * frees their space however the program ends, or a name in a directory of our own. */
#ifndef HETSORT_IO_TEMPDIR_H
#define HETSORT_IO_TEMPDIR_H

#include "io_fd.h"
#include "base/mem.h"

typedef struct tempdir {
	int fd;         /* held open: later changes of its name do not matter */
	char *label;    /* "DIR/(spill file)", for messages */
	uint64_t dev;   /* its file system */
	bool in_memory; /* a tmpfs: files there take memory, not disk */
} tempdir;

/* tempdir_open - refuses (ST_REFUSED) what is missing, no directory, not writable, or writable by
 * everybody without the sticky bit. A relative path is resolved now. On failure t is empty. */
status tempdir_open(tempdir *t, const char *path, err *e);

/* tempdir_create - a file without a name (NULL), or a new one of this name, for reading and
 * writing, mode 0600; f->direct is -1 where direct I/O is not wanted or not possible.
 * tempdir_open_file - the same with the file that has this name. */
status tempdir_create(const tempdir *t, const char *name, bool direct, io_fd *f, err *e);
status tempdir_open_file(const tempdir *t, const char *name, bool direct, io_fd *f, err *e);

/* tempdir_free_bytes - space for this user on the directory's file system. */
status tempdir_free_bytes(const tempdir *t, uint64_t *bytes, err *e);

/* tempdir_close - also for one that is empty (fd -1). */
void tempdir_close(tempdir *t);

/* How fast a disk is. */

/* disk_rate_s - seconds for a byte, by writing at most most_bytes to a file without a name in the
 * directory, past the page cache where that can be, for a tenth of a second and as long as a sync
 * takes. 0 where no file can be made or it cannot be told: that is no failure. Takes 2 MiB. */
double disk_rate_s(mem *m, const char *dir, uint64_t most_bytes);

#endif
