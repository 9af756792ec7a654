/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Removing files from the directory that runs are kept in. */
#ifndef HETSORT_RESUME_REMOVE_H
#define HETSORT_RESUME_REMOVE_H

#include "io/input.h"

/* remove_spares_inputs - refuses a run's name that leads to an input: that is not to be lost. */
status remove_spares_inputs(int dirfd, const char *name, const input *in, err *e);

/* remove_files - those that goes() is true for; none of them is one of in (NULL: no matter).
 * *removed counts; path is for messages. */
typedef bool remove_goes(const char *name, const void *arg);
status remove_files(int dirfd, remove_goes *goes, const void *arg, const char *path,
		    const input *in, unsigned *removed, err *e);

/* remove_is_of - is it a file of this kind, ".run" or ".json", of which rank, and what comes behind
 * the kind? */
bool remove_is_of(const char *name, const char *kind, int64_t *rank, const char **rest);

#endif
