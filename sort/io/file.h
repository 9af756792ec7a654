/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls on files that do all they are asked to, or say why not. */
#ifndef HETSORT_IO_FILE_H
#define HETSORT_IO_FILE_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* file_read_at - exactly bytes from offset; a file that ends before is an error. */
status file_read_at(int fd, void *buf, size_t bytes, uint64_t offset, const char *path, err *e);

/* file_read_some - from a stream, up to bytes; *got < bytes: the stream has ended. */
status file_read_some(int fd, void *buf, size_t bytes, size_t *got, const char *path, err *e);

/* file_write_at - all bytes at offset; with offset FILE_APPEND, at the stream's end. */
#define FILE_APPEND UINT64_MAX
status file_write_at(int fd, const void *buf, size_t bytes, uint64_t offset, const char *path,
		     err *e);

/* file_start_writeback - start writing these bytes to the disk, so that a later fsync has little
 * left to do. A hint that cannot fail. */
void file_start_writeback(int fd, uint64_t offset, uint64_t bytes);

/* file_is_in_memory - is the file, or directory, in a file system that has it nowhere else? */
bool file_is_in_memory(int fd);

/* file_reserve - disk space for bytes from offset on, so that a full disk shows before the work. On
 * file systems that cannot reserve, writing fails later. In memory, where the pages would be taken
 * here by one thread while the others wait, only whether there is room is asked. */
status file_reserve(int fd, uint64_t offset, uint64_t bytes, const char *path, err *e);

/* file_sync_dir - make names in dirfd durable. file_try_sync_dir - the same; false, with errno set,
 * if that fails. */
bool file_try_sync_dir(int dirfd);
status file_sync_dir(int dirfd, const char *path, err *e);

#endif
