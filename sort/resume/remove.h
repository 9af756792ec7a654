/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Removing files from the directory that runs are kept in: only those that a state notes. */
#ifndef HETSORT_RESUME_REMOVE_H
#define HETSORT_RESUME_REMOVE_H

#include "states.h"

#include <dirent.h>

/* remove_run - the file of a run of this rank, if it is the one that was noted. remove_state - all
 * files that the state notes, then it, if it is still the file that s was loaded from or written
 * to. False, with errno set: one of them cannot be removed. No file is opened. */
bool remove_run(int dirfd, int32_t rank, const file_note *n, unsigned *removed);
bool remove_state(int dirfd, const resume_state *s, unsigned *removed);

/* remove_all_but - the files that the states note, but for those of the runs that are used, which
 * become sorted. remove_spares - is the file of this run one that is used? */
status remove_all_but(int dirfd, const states *found, run_list *used, const char *dir,
		      unsigned *removed, err *e);
bool remove_spares(const run_list *used, int32_t rank, uint64_t number);

/* remove_count_strangers - the number of names in d that a state or a run may have, except of files
 * that the job of t reads (NULL: no matter); first: one of them, unless there is none. */
unsigned remove_count_strangers(DIR *d, const target *t, char *first, size_t bytes);

#endif
