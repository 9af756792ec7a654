/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The files that a job reads, makes, replaces or removes, identified by device and inode. Uses of
 * files are compared before the first byte is written, so no file is lost if two options name
 * it. */
#ifndef HETSORT_IO_REGISTRY_H
#define HETSORT_IO_REGISTRY_H

#include "target.h"

enum { REGISTRY_PATH_BYTES = 128 };

/* One use of a file, identified by device and inode of the file, or, if it does not exist, of its
 * directory. */
typedef struct file_use {
	uint64_t dev, ino, mark;   /* mark: a hash of the name */
	int32_t how, role, number; /* enum how of registry.c; a file_role; order of registration */
	int32_t rank;              /* the rank that uses the file; -1: all ranks */
	uint64_t host;             /* 0, or the number of the rank's host, set before comparing */
	char path[REGISTRY_PATH_BYTES]; /* the end of a longer path */
} file_use;

typedef struct registry {
	file_use *use;
	size_t n, room;
	const char *workdir; /* NULL: no workdir, or it does not exist yet */
	dev_t workdir_dev;
	ino_t workdir_ino;
	const char *prefix; /* names in the workdir that begin with it belong to hetsort */
	err e;              /* the first failure: no memory, or a name that is refused */
} registry;

/* registry_workdir - set the directory whose files with this prefix the job may replace or remove;
 * both texts must outlive g. Call it before registry_writes. with_files: register its files. */
void registry_workdir(registry *g, const char *path, const char *prefix, bool with_files);

/* registry_reads - register an existing file that the job reads, standard input for "-". Ignore
 * devices and sockets, because they cannot be overwritten. registry_writes - register a file that
 * is made or replaced, standard output for "-". Refuse names that are reserved for temporary files
 * and files of the workdir. rank: the rank that uses the file, or -1. */
void registry_reads(registry *g, file_role role, const char *path, int rank);
void registry_writes(registry *g, file_role role, const char *path, int rank);

/* registry_compare - refuse a file that one of n uses makes or replaces and another use names.
 * Refuse an input that is read twice. *late: whether rank 0 writes one of the refused files at the
 * end of the job. Sorts the uses. */
status registry_compare(file_use *use, size_t n, bool *late, err *e);

/* registry_use_is_sound - return whether a use that this rank has sent has possible values. */
bool registry_use_is_sound(const file_use *u, int rank);

/* registry_check_messages - refuse a regular file that g names and that standard error is, too:
 * messages would be written among its data. The report that hetsim prints is a text for people, so
 * messages may be in it. Then let messages of this process go to its terminal,
 * or nowhere if it has none, so that the refusal is not written to the file either. */
status registry_check_messages(const registry *g, err *e);

/* registry_check - return the first failure of a registration, or compare all uses in g. */
status registry_check(registry *g, err *e);
void registry_free(registry *g);

#endif
