/* SPDX-License-Identifier: GPL-3.0-or-later */
/* File calls that do the whole of what they are asked, or say why not. */
#ifndef HETSORT_IO_FILE_H
#define HETSORT_IO_FILE_H

#include "base/status.h"
#include "unfinished.h"

#include <stdint.h>

/* file_read_at - exactly bytes from offset; a file that ends before is an error. */
status file_read_at(int fd, void *buf, size_t bytes, uint64_t offset, const char *path, err *e);

/* file_read_some - from a stream: as much as comes up to bytes, *got 0 at its end. */
status file_read_some(int fd, void *buf, size_t bytes, size_t *got, const char *path, err *e);

/* file_write_at - all bytes at offset; with offset FILE_APPEND, at the stream's end. */
#define FILE_APPEND UINT64_MAX
status file_write_at(int fd, const void *buf, size_t bytes, uint64_t offset, const char *path,
		     err *e);

/* file_start_writeback - let the disk begin with these bytes now, so that a later fsync finds
 * little left to do. A hint: nothing is promised, nothing fails. */
void file_start_writeback(int fd, uint64_t offset, uint64_t bytes);

/* file_reserve - blocks for bytes from offset on, so that a full disk is found before the work.
 * File systems that cannot are left to fail at writing. */
status file_reserve(int fd, uint64_t offset, uint64_t bytes, const char *path, err *e);

/* file_sync_dir - make names in dirfd durable. */
status file_sync_dir(int dirfd, const char *path, err *e);

/* A file on its way: written under a name of its own beside the target, then renamed onto it. */
typedef struct target {
	int dirfd;       /* the target's directory */
	char *base;      /* its name in there */
	char *path;      /* as the user gave it, for messages */
	uint64_t mark;   /* of base: what its temporary names have in common */
	uint64_t id;     /* of its temporary file */
	bool named;      /* it has its final name already */
	unfinished temp; /* the name until it is complete */
	unfinished lock; /* see lock.h */
	int lock_fd;     /* -1: not locked */
} target;

/* target_open - find the directory of path, which is copied. Refuses a path that ends in a slash or
 * whose directory cannot be opened. */
status target_open(target *t, const char *path, err *e);

/* target_check - may it be made? Refuses a directory, a symbolic link, anything but a regular file,
 * and, without force, a file that exists. */
status target_check(const target *t, bool force, err *e);

/* target_create - create the temporary file named after id, mode 0666 less the umask. */
status target_create(target *t, uint64_t id, int *fd, err *e);

/* target_attach - open the temporary file that another rank has created for the same id. */
status target_attach(target *t, uint64_t id, int *fd, err *e);

/* target_keep - the temporary file outlives the program, unless it is committed. target_find - open
 * the one of this id for reading, or what has the final name, *fd -1: there is neither. target_drop
 * - remove the one that was kept. */
void target_keep(target *t);
void target_find(target *t, uint64_t id, int *fd);
void target_drop(const target *t);

/* target_temp_name - of the temporary file. */
void target_temp_name(const target *t, char name[UNFINISHED_NAME_BYTES]);

/* target_commit - rename onto the final name; without force never over a file that came meanwhile.
 */
status target_commit(target *t, bool force, err *e);

/* target_sync_name - make that name durable. On failure the file is there and complete, which the
 * message says: nothing but a loss of power can take the name away. */
status target_sync_name(const target *t, err *e);

/* target_discard - remove the temporary file if there is one, let go of lock and directory. */
void target_discard(target *t);

#endif
