/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Detects one file under two names, among all files that a job reads, makes, replaces or removes,
 * and two files under one name, if several ranks read the input. */
#ifndef HETSORT_PHASES_SAME_FILES_H
#define HETSORT_PHASES_SAME_FILES_H

#include "comm/rank_env.h"
#include "io/file.h"
#include "io/input.h"

/* side_files_check - at rank 0, before anything else: refuse a report, trace or page that cannot be
 * written, replaces a file that hetsort did not write for the same role, or is a file of any rank,
 * as this host sees them. Costs nothing without such files. */
status side_files_check(const settings *o, int ranks, err *e);

/* alias_check - collective: refuse a file that is made twice, read twice as input, or read and
 * replaced, by one rank or by two. *late, at rank 0: a side file is among them and must not be
 * written. */
status alias_check(rank_env *env, bool *late);

/* same_input - collective, for files that all ranks read: refuse (ST_PEER) on ranks that see other
 * files than rank 0. sample: ranks are on several hosts, so compare contents, too. */
status same_input(rank_env *env, const input *in, bool sample);

/* same_as_stated - collective, after reading: refuse (ST_IO) a file whose records, as the ranks
 * have read them, do not have the checksum that its manifest states. Files that were not read to
 * the end pass. Forget what was read. */
status same_as_stated(rank_env *env, const input *in);

#endif
