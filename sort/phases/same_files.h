/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One file under two names, and two files under one name. */
#ifndef HETSORT_PHASES_SAME_FILES_H
#define HETSORT_PHASES_SAME_FILES_H

#include "job.h"

/* inputs_find - collective: find the inputs as this rank sees them. Rank 0 decides whether there
 * are more parts than ranks, because the manifest may exist only on its host. */
status inputs_find(rank_env *env, const settings *o, input *in);

/* messages_check - call registry_check_messages for all files of a job, as far as this process can
 * see them before it knows the number of ranks (ranks: at least 1). Call it before anything is
 * printed. Costs one system call if standard error is not a file. */
status messages_check(const settings *o, int ranks, err *e);

/* files_check - check the side files (report, trace and page) and the output at rank 0, before
 * anything else. Refuse one that is also another file of the job, as far as this host can see.
 * Refuse a side file that cannot be written, or that would replace a file that hetsort did not
 * write for the same role. Without side files, check the output only if a file has its name and
 * will not be replaced. Otherwise costs one system call. */
status files_check(const settings *o, int ranks, err *e);

/* same_files_check - collective: refuse a file that is made twice, read twice as input, or read and
 * replaced, by one rank or by two. in: the input of this rank. *late, at rank 0: one of the refused
 * files is a side file, which must not be written. */
status same_files_check(rank_env *env, const input *in, bool *late);

/* same_input - collective, for files that all ranks read: refuse (ST_PEER) on ranks that see other
 * files than rank 0. sample: ranks are on several hosts, so compare contents, too. */
status same_input(rank_env *env, const input *in, bool sample);

/* same_as_stated - collective, after reading: refuse (ST_IO) a file whose records, as the ranks
 * have read them, do not have the checksum that its manifest states. Accept files that were not
 * read to the end. Reset the sums of what was read. */
status same_as_stated(rank_env *env, const input *in);

#endif
