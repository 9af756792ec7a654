/* SPDX-License-Identifier: GPL-3.0-or-later */
/* File calls that do the whole of what they are asked, or say why not. */
#ifndef HETSORT_IO_FILE_H
#define HETSORT_IO_FILE_H

#include "base/status.h"

#include <stdbool.h>
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

/* file_sync_dir - make names in dirfd durable. file_try_sync_dir - the same, with errno in place
 * of a sentence. */
bool file_try_sync_dir(int dirfd);
status file_sync_dir(int dirfd, const char *path, err *e);

#endif
