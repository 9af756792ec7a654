/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A directory for temporary files, which no other user can open. Most have no name, so that the
 * kernel frees their space however the program ends. Others, in a workdir, have names. */
#ifndef HETSORT_IO_TEMPDIR_H
#define HETSORT_IO_TEMPDIR_H

#include "io_fd.h"
#include "base/mem.h"

typedef struct tempdir {
	int fd;         /* kept open: later changes of its name do not matter */
	char *label;    /* "DIR/(spill file)", for messages */
	uint64_t dev;   /* its file system */
	bool in_memory; /* a tmpfs: its files take memory, not disk */
} tempdir;

/* tempdir_open - open a directory. ST_REFUSED: it is missing, not a directory, not writable, or
 * writable by everybody without the sticky bit. A relative path is resolved now. On failure t is
 * empty. */
status tempdir_open(tempdir *t, const char *path, err *e);

/* tempdir_create - create a file for reading and writing, mode 0600, without a name if name is
 * NULL. f->direct is -1 if direct I/O is not requested or not possible. tempdir_open_file - open
 * the existing file of this name in the same way. */
status tempdir_create(const tempdir *t, const char *name, bool direct, io_fd *f, err *e);
status tempdir_open_file(const tempdir *t, const char *name, bool direct, io_fd *f, err *e);

/* tempdir_free_bytes - set *bytes to the free space for this user on the directory's file system.
 */
status tempdir_free_bytes(const tempdir *t, uint64_t *bytes, err *e);

/* tempdir_close - close a directory, which may be empty (fd -1). */
void tempdir_close(tempdir *t);

/* disk_exists - return whether files in a directory are on a disk, not in memory. */
bool disk_exists(const char *dir);

/* disk_rate_s - measure the seconds per byte of a disk, before a job writes `bytes` to it: write a
 * small part of them, at most 32 MiB, to a file without a name in the directory, by direct I/O if
 * possible. This takes at most a tenth of a second plus a sync. Return 0 if there are too few
 * bytes, or if the rate cannot be measured; this is not a failure. Takes 2 MiB of memory. */
double disk_rate_s(mem *m, const char *dir, uint64_t bytes);

/* disk_buffer_bytes - return about how many bytes of files the system keeps in memory before it
 * lets writers wait for the disk. */
double disk_buffer_bytes(void);

#endif
