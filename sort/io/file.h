/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions on files that either do all of their work or report why not. Also file names with %r,
 * and the roles of files in a job. */
#ifndef HETSORT_IO_FILE_H
#define HETSORT_IO_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/status.h"

/* file_read_at - read exactly `bytes` from offset; a file that ends earlier is an error. */
status file_read_at(int fd, void *buf, size_t bytes, uint64_t offset, const char *path, err *e);

/* file_read_some - read up to `bytes` from a stream; *got < bytes: the stream has ended. */
status file_read_some(int fd, void *buf, size_t bytes, size_t *got, const char *path, err *e);

/* file_write_at - write all bytes at offset, or at the end of a stream with offset FILE_APPEND. */
#define FILE_APPEND UINT64_MAX
status file_write_at(int fd, const void *buf, size_t bytes, uint64_t offset, const char *path,
		     err *e);

/* file_start_writeback - start writing these bytes to the disk, so that a later fsync has little
 * left to do. A hint that cannot fail. */
void file_start_writeback(int fd, uint64_t offset, uint64_t bytes);

/* file_is_in_memory - return whether the file system of a file or directory exists only in
 * memory. */
bool file_is_in_memory(int fd);

/* file_takes_memory - return whether bytes written to a file or directory take memory of the
 * machine: its file system is in memory, or an overlay whose upper directory is. Of an overlay this
 * is unknown, and false, if this process does not see the upper directory, as in a container. */
bool file_takes_memory(int fd);

/* file_is_written - return whether some process has the file open for writing, or may have. Through
 * a mapping it can change pages that it has written before, and the times of the file stay the
 * same. fd is open for reading only. False on file systems whose other machines are not known. */
bool file_is_written(int fd);

/* file_free_bytes - set *bytes to the free space for this user in the file system of fd, UINT64_MAX
 * if it has no limit. If it is unknown, return false, with errno and UINT64_MAX. */
bool file_free_bytes(int fd, uint64_t *bytes);

/* file_reserve - reserve disk space for the first `bytes`, so that a full disk is reported before
 * the work. If the file system cannot reserve space, writing fails later. In a file system in
 * memory, only check the free space: one thread would allocate all pages, while others wait. */
status file_reserve(int fd, uint64_t bytes, const char *path, err *e);

/* file_sync_dir - make the names in dirfd durable, if its file system can sync a directory. */
status file_sync_dir(int dirfd, const char *path, err *e);

/* The identity of a file in a known directory, noted when hetsort creates the file. Inode numbers
 * are reused, so the identity includes the time of birth if the file system has one. It does not
 * include the device, because device numbers differ between hosts and change at a restart; the
 * directory determines the file system. If inode is 0, the name was noted, but the file was not
 * created yet. */
typedef struct file_id {
	uint64_t inode;
	int64_t born_s, born_ns; /* 0: unknown */
} file_id;

/* file_id_of - set *id for an open file. file_id_at - set *id for the regular file of this name; do
 * not follow links. Return false and set a zero id if the file is missing or unknown. */
bool file_id_of(int fd, file_id *id);
bool file_id_at(int dirfd, const char *name, file_id *id);

/* file_exists - return whether a file or a symbolic link has this name. If the system does not
 * answer, return true, so that nothing is created, replaced or forgotten by mistake. */
bool file_exists(int dirfd, const char *name);

/* file_is - return whether the file of this name has the identity *id. If id->inode is 0, return
 * whether the file is empty. */
bool file_is(int dirfd, const char *name, const file_id *id);

/* file_remove - remove the file if file_is returns true, and then increase *removed, unless removed
 * is NULL. Return false, with errno, if the file cannot be removed. */
bool file_remove(int dirfd, const char *name, const file_id *id, unsigned *removed);

/* file_rename_new - rename a file in its directory without replacing another file. Return 0, or -1
 * and errno. */
int file_rename_new(int dirfd, const char *from, const char *to);

/* The files that the ranks of a job read, by device and inode. */
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

/* name_expand - return a new string in which the rank replaces each %r; for RANK_MANIFEST, the word
 * "manifest" does. Return NULL, with e filled, without memory or if anything else follows %. */
enum { RANK_MANIFEST = -1 };
char *name_expand(const char *pattern, int rank, err *e);

/* The roles of files in a job. The files that hetsort writes in addition to its output begin with a
 * fixed text for each role. Only this text proves that hetsort wrote a file; a name proves
 * nothing. */

typedef enum file_role {
	ROLE_ANY,
	ROLE_INPUT, /* this and the roles up to SOURCE_REPORT: only read */
	ROLE_SOURCE_MANIFEST,
	ROLE_PLATFORM, /* of hetsim */
	ROLE_LIST,     /* of inputs */
	ROLE_SPEEDS,
	ROLE_ORDER,
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

/* The first text of a page, and of a report of hetsim. */
#define ROLE_PAGE_MARK       "<!-- hetsort: page of a report -->\n"
#define ROLE_SIM_REPORT_MARK "hetsim report\n"

/* role_name - return the name of the role for messages, such as "report". role_writer - return the
 * command that writes such files, such as "hetsort --report". */
const char *role_name(file_role r);
const char *role_writer(file_role r);

/* role_begins - return whether a text begins like files of this role. role_begins_file - do the
 * same for a regular file. role_wrote - do the same for a name in dirfd, but return false for a
 * symbolic link. Return true for an empty file, because replacing it loses nothing. */
bool role_begins(file_role r, const char *text, size_t bytes);
bool role_begins_file(file_role r, const char *path);
bool role_wrote(file_role r, int dirfd, const char *name);

#endif
