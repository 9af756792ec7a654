/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --workdir: the states and runs that outlive a job. */
#ifndef HETSORT_PHASES_WORKDIR_H
#define HETSORT_PHASES_WORKDIR_H

#include "job.h"

/* workdir_check - with --explain, check that the workdir can be used, or made. */
job_step workdir_check;

/* workdir_open - make the workdir if it is missing, lock this rank's state in it, and load the
 * states of earlier jobs if they belong to this sort. */
job_step workdir_open;

/* workdir_close - release everything. Until then this rank cleans up after ranks that die. */
void workdir_close(job *j);

/* workdir_patience_s - return how long --resume waits for the locks of a job that is about to end:
 * ranks outlive their killed launcher for a while. */
double workdir_patience_s(const rank_env *env);

/* workdir_first - return the number of this rank's first record in the input. */
uint64_t workdir_first(const job *j, const uint64_t *share_in);

/* workdir_place - return the position of this rank when ranks are ordered by their records in the
 * input. Equal keys are written in this order of ranks. */
uint32_t workdir_place(const job *j);

/* workdir_clean - remove the files that killed jobs have left in this directory, if their locks and
 * states name them. Remove the directory, too, if hetsort made it and it is empty. Refuse if a job
 * uses it, or if the file system has no locks. */
status workdir_clean(const char *path, cleaned *n, err *e);

/* output_note_stays - note for the user that a file of this name next to the output is not
 * removed. */
void output_note_stays(job *j, const char *name);

#endif
