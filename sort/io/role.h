/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a file is to a job, and how the files begin that hetsort writes next to its output. Only by
 * its content does a file prove that hetsort wrote it for a role; names prove nothing. */
#ifndef HETSORT_IO_ROLE_H
#define HETSORT_IO_ROLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"

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

/* The files that a job reads, makes, replaces or removes, each known by more than its name. They
 * are compared before the first byte is written, so no file is lost because two options name it. */

enum { REGISTRY_HOST_BYTES = 64, REGISTRY_PATH_BYTES = 128 };

/* One use of a file: of itself, or, of what is to be made, of its directory and name. */
typedef struct file_use {
	uint64_t dev, ino, mark; /* mark: a hash of the name */
	int32_t how, role, number;
	int32_t rank; /* whose it is; -1: of all */
	char host[REGISTRY_HOST_BYTES];
	char path[REGISTRY_PATH_BYTES]; /* its end, if it is longer */
} file_use;

typedef struct registry {
	file_use *use;
	size_t n, room;
	const char *workdir; /* NULL: there is none, or it does not exist yet; else */
	dev_t workdir_dev;   /* names in it that begin with prefix are hetsort's */
	ino_t workdir_ino;
	const char *prefix;
	char host[REGISTRY_HOST_BYTES];
	err e; /* the first failure: no memory, or a name that is refused */
} registry;

/* registry_workdir - the directory whose files with this prefix the job may replace or remove; both
 * texts must outlive g. To be called before registry_writes. with_files: register its files. */
void registry_workdir(registry *g, const char *path, const char *prefix, bool with_files);

/* registry_reads - register the file of this name, "-" for standard input, if it exists; devices
 * and sockets are left out, because nothing can be lost with them. registry_writes - a file that is
 * made or replaced, "-" for standard output. Refuses names that are kept for temporary files and
 * for those of the workdir. rank: whose file it is, or -1. */
void registry_reads(registry *g, file_role role, const char *path, int rank);
void registry_writes(registry *g, file_role role, const char *path, int rank);

/* registry_compare - refuse a file that one of n uses replaces or makes and another one uses, and
 * an input that is read twice. *late: whether a file was refused that rank 0 writes at the end.
 * The uses are sorted. */
status registry_compare(file_use *use, size_t n, bool *late, err *e);

/* registry_use_is_sound - is this use, which that rank has sent, possible? */
bool registry_use_is_sound(const file_use *u, int rank);

/* registry_check - the same of what is registered in g, and its first failure. */
status registry_check(registry *g, err *e);
void registry_free(registry *g);

#endif
