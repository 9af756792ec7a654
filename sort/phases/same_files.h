/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One file under two names, among all that a job reads, makes, replaces or removes; and two files
 * under one name, where several ranks read the input. */
#ifndef HETSORT_PHASES_SAME_FILES_H
#define HETSORT_PHASES_SAME_FILES_H

#include "comm/rank_env.h"
#include "io/file.h"
#include "io/input.h"

/* side_files_check - at rank 0, before anything else: refuse a report, a trace or a page that could
 * not be written, would replace a file that hetsort did not write for the same role, or is a file
 * of any of the ranks, as this host sees them. Costs nothing where none is wanted. */
status side_files_check(const settings *o, int ranks, err *e);

/* alias_check - collective: refuse a file that is made twice, or read twice as input, or read and
 * replaced, by one rank or by two. Touches nothing. *late, at rank 0: one of the side files is
 * among them, so it must not be written. */
status alias_check(rank_env *env, bool *late);

/* same_input - collective, for files that all ranks read: refuses (ST_PEER) on ranks that see other
 * files than rank 0. sample: not all ranks are on one host, so contents are compared as well. */
status same_input(rank_env *env, const input *in, bool sample);

/* same_as_stated - collective, when all is read: refuses (ST_IO) a file whose records, as the ranks
 * have read them, do not have the checksum that its manifest states. Files that were not read to
 * the end are not judged. What was read is forgotten. */
status same_as_stated(rank_env *env, const input *in);

#endif
