/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls on files that either do all the work or report why not. */
#ifndef HETSORT_IO_FILE_H
#define HETSORT_IO_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/status.h"

/* file_read_at - read exactly `bytes` from offset; a file that ends before is an error. */
status file_read_at(int fd, void *buf, size_t bytes, uint64_t offset, const char *path, err *e);

/* file_read_some - read up to `bytes` from a stream; *got < bytes: the stream has ended. */
status file_read_some(int fd, void *buf, size_t bytes, size_t *got, const char *path, err *e);

/* file_write_at - write all bytes at offset; with offset FILE_APPEND, at the stream's end. */
#define FILE_APPEND UINT64_MAX
status file_write_at(int fd, const void *buf, size_t bytes, uint64_t offset, const char *path,
		     err *e);

/* file_start_writeback - start writing these bytes to the disk, so that a later fsync has little
 * left to do. A hint that cannot fail. */
void file_start_writeback(int fd, uint64_t offset, uint64_t bytes);

/* file_is_in_memory - return whether the file system of this file or directory exists only in
 * memory. */
bool file_is_in_memory(int fd);

/* file_free_bytes - return the free bytes for this user in the file system of fd; UINT64_MAX: no
 * limit. False, with errno and UINT64_MAX: unknown. */
bool file_free_bytes(int fd, uint64_t *bytes);

/* file_reserve - reserve disk space for `bytes` from offset on, so that a full disk is reported
 * before the work. If the file system cannot reserve, writing fails later. In memory, where one
 * thread would allocate all pages here while the others wait, only check the free space. */
status file_reserve(int fd, uint64_t offset, uint64_t bytes, const char *path, err *e);

/* file_sync_dir - make the names in dirfd durable, if its file system can sync a directory. */
status file_sync_dir(int dirfd, const char *path, err *e);

/* The identity of a file in a known directory, noted by the program that created it. Inode numbers
 * are reused, so the time of birth is part of it if the file system has one. The device is not: a
 * file is on the file system of its directory, and device numbers differ between hosts and change
 * at a restart. inode 0: the name was noted, but the file was not created yet. */
typedef struct file_id {
	uint64_t inode;
	int64_t born_s, born_ns; /* 0: unknown */
} file_id;

/* file_id_of - set *id for an open file. file_id_at - set *id for the regular file of this name; do
 * not follow links. False, with a zero id: no such file, or its identity is unknown. */
bool file_id_of(int fd, file_id *id);
bool file_id_at(int dirfd, const char *name, file_id *id);

/* file_is - return whether the file of this name is the noted one. If only the name was noted, this
 * means an empty file. */
bool file_is(int dirfd, const char *name, const file_id *id);

/* file_remove - remove the file only if file_is returns true; *removed, unless NULL, is increased
 * then. False, with errno: the file exists and cannot be removed. */
bool file_remove(int dirfd, const char *name, const file_id *id, unsigned *removed);

/* file_rename_new - rename a file in its directory without replacing another. Returns 0, or -1 and
 * errno. */
int file_rename_new(int dirfd, const char *from, const char *to);

/* The files that a job reads, on all its ranks. */
typedef struct file_number {
	uint64_t dev, ino;
} file_number;

typedef struct file_set {
	file_number *file; /* [files] */
	size_t files;
} file_set;

/* file_base - return the part of the path after the last slash. */
static inline const char *file_base(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* File names that contain the rank: %r, %3r with leading zeros, %% for a percent sign. */

/* name_is_per_rank - return whether the pattern contains %r. */
bool name_is_per_rank(const char *pattern);

/* name_expand - return a new string with the rank, or the word "manifest" for RANK_MANIFEST, for
 * each %r. NULL with e filled: % is followed by anything else, or no memory. */
enum { RANK_MANIFEST = -1 };
char *name_expand(const char *pattern, int rank, err *e);

/* The role of a file in a job, and the begin of the files that hetsort writes in addition to its
 * output. Only its content proves that hetsort wrote a file for a role; a name proves nothing. */

typedef enum file_role {
	ROLE_ANY,
	ROLE_INPUT, /* the first roles are only read */
	ROLE_SOURCE_MANIFEST,
	ROLE_PLATFORM, /* of hetsim */
	ROLE_SPEEDS,
	ROLE_LINKS,
	ROLE_DISKS,
	ROLE_SOURCE_REPORT, /* of hetsort-report */
	ROLE_WORKDIR,       /* a state or a run */
	ROLE_STDOUT,
	ROLE_OUTPUT,
	ROLE_MANIFEST,
	ROLE_WISDOM,
	ROLE_REPORT, /* this and the next roles: written by rank 0 at the end of the job */
	ROLE_TRACE,
	ROLE_PAGE,
	ROLE_SIM_REPORT, /* of hetsim */
	FILE_ROLES
} file_role;

/* The begin of a page and of a report of hetsim. */
#define ROLE_PAGE_MARK       "<!-- hetsort: page of a report -->\n"
#define ROLE_SIM_REPORT_MARK "hetsim report\n"

/* role_name - return the role for messages: "report". role_writer - return the command that writes
 * such files: "hetsort --report". */
const char *role_name(file_role r);
const char *role_writer(file_role r);

/* role_begins - return whether a text begins like files of this role. role_begins_file - the same
 * for a regular file. role_wrote - the same for a name that is not a symbolic link; also true for
 * an empty file, because replacing it loses nothing. */
bool role_begins(file_role r, const char *text, size_t bytes);
bool role_begins_file(file_role r, const char *path);
bool role_wrote(file_role r, int dirfd, const char *name);

#endif
