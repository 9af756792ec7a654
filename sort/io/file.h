/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls on files that do all they are asked to, or say why not. */
#ifndef HETSORT_IO_FILE_H
#define HETSORT_IO_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/status.h"

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

/* file_free_bytes - room for this user in the file system of fd; UINT64_MAX: no limit, or unknown,
 * then false with errno. */
bool file_free_bytes(int fd, uint64_t *bytes);

/* file_reserve - disk space for bytes from offset on, so that a full disk shows before the work. On
 * file systems that cannot reserve, writing fails later. In memory, where the pages would be taken
 * here by one thread while the others wait, only whether there is room is asked. */
status file_reserve(int fd, uint64_t offset, uint64_t bytes, const char *path, err *e);

/* file_sync_dir - make names in dirfd durable. file_try_sync_dir - the same; false, with errno set,
 * if that fails. */
bool file_try_sync_dir(int dirfd);
status file_sync_dir(int dirfd, const char *path, err *e);

/* Which file it is that has a name in a directory, as whoever made it has noted it. Numbers of
 * inodes are used again, so the time of birth is part of it where the file system has one. The
 * device is not: a name leads to a file of its directory's file system, and the number of a device
 * changes with the host and the next start. inode 0: the name was noted, but not yet the file. */
typedef struct file_id {
	uint64_t inode;
	int64_t born_s, born_ns; /* 0: unknown */
} file_id;

/* file_id_of - which file is open; file_id_at - which regular file has the name, no link followed.
 * False, with a zero id: unknown, or there is none. */
bool file_id_of(int fd, file_id *id);
bool file_id_at(int dirfd, const char *name, file_id *id);

/* file_is - is this file, as it was noted, what has the name? Where only the name was noted, an
 * empty file is. */
bool file_is(int dirfd, const char *name, const file_id *id);

/* file_remove - remove it only if file_is says so. False: it is there and cannot be removed, with
 * errno set. */
bool file_remove(int dirfd, const char *name, const file_id *id, unsigned *removed);

/* file_rename_new - rename a file in its directory, and replace no other. Returns 0, or -1 and
 * errno. */
int file_rename_new(int dirfd, const char *from, const char *to);

/* Files that a job reads, on all its ranks. */
typedef struct file_number {
	uint64_t dev, ino;
} file_number;

typedef struct file_set {
	file_number *file; /* [files] */
	size_t files;
} file_set;

/* file_base - the name in its directory. */
static inline const char *file_base(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* File names with the rank in them: %r, %3r with leading zeros, %% for a percent sign. */

/* name_is_per_rank - does the pattern hold a %r? */
bool name_is_per_rank(const char *pattern);

/* name_expand - the pattern with `rank` (a number, or any text: then without zeros) for each %r, a
 * fresh string; NULL with e filled where % is followed by anything else, or without memory. */
char *name_expand(const char *pattern, int rank, err *e);
char *name_expand_text(const char *pattern, const char *text, err *e);

/* What a file is to a job, and how the files begin that hetsort writes next to its output. Only by
 * its content does a file prove that hetsort wrote it for a role; names prove nothing. */

typedef enum file_role {
	ROLE_ANY,
	ROLE_INPUT, /* the first ones are only read */
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
	ROLE_REPORT, /* from here on: written by rank 0 when the job has ended */
	ROLE_TRACE,
	ROLE_PAGE,
	ROLE_SIM_REPORT, /* of hetsim */
	FILE_ROLES
} file_role;

/* How a page and a report of hetsim begin. */
#define ROLE_PAGE_MARK       "<!-- hetsort: page of a report -->\n"
#define ROLE_SIM_REPORT_MARK "hetsim report\n"

/* role_name - for messages: "report". role_writer - who writes such files, "hetsort --report". */
const char *role_name(file_role r);
const char *role_writer(file_role r);

/* role_begins - does a text begin as files of this role do? role_begins_file - does a regular file?
 * role_wrote - the same of a name that is no symbolic link; true also of an empty file, because
 * nothing is lost with it. */
bool role_begins(file_role r, const char *text, size_t bytes);
bool role_begins_file(file_role r, const char *path);
bool role_wrote(file_role r, int dirfd, const char *name);

#endif
