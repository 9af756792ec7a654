/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The files that a job reads, makes, replaces or removes, each known by more than its name. They
 * are compared before the first byte is written, so no file is lost because two options name it. */
#ifndef HETSORT_IO_REGISTRY_H
#define HETSORT_IO_REGISTRY_H

#include "target.h"

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
