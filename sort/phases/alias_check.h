/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One file under two names, among all that a job reads, makes, replaces or removes. */
#ifndef HETSORT_PHASES_ALIAS_CHECK_H
#define HETSORT_PHASES_ALIAS_CHECK_H

#include "comm/rank_env.h"
#include "io/file.h"

/* A file that rank 0 writes when the job has ended. */
typedef struct side_file {
	file_role role;
	const char *path; /* NULL: it is not wanted */
} side_file;

enum { SIDE_FILES = 4 };

/* side_file_of - the i-th of them. */
side_file side_file_of(const settings *o, int i);

/* side_files_check - at rank 0, before anything else: refuse a report, a trace or a page that could
 * not be written, would replace a file that hetsort did not write for the same role, or is a file
 * of any of the ranks, as this host sees them. Costs nothing where none is wanted. */
status side_files_check(const settings *o, int ranks, err *e);

/* alias_check - collective: refuse a file that is made twice, or read twice as input, or read and
 * replaced, by one rank or by two. Touches nothing. *late, at rank 0: one of the side files is
 * among them, so it must not be written. */
status alias_check(rank_env *env, bool *late);

#endif
