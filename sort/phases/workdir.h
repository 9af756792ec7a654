/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --workdir: a directory where sorted runs outlive the program, so that --resume continues with
 * them, with as many ranks as before or another number. For each rank there are, in one directory
 * for all or on a disk of its own:
 *   hetsort-rank0.json   the state: what its runs belong to, see resume_state.h
 *   hetsort-rank0.run7   runs, see run_checkpoint.h
 * and, while a job is at it, a lock, see target.h. */
#ifndef HETSORT_PHASES_WORKDIR_H
#define HETSORT_PHASES_WORKDIR_H

#include "comm/rank_env.h"
#include "io/journal.h"
#include "io/target.h"
#include "resume/share_runs.h"
#include "spill/run_checkpoint.h"

typedef struct workdir {
	bool on;       /* this sort has one */
	bool resuming; /* with states in it: the same on all ranks */
	target file;   /* of the state */
	groups g;
	resume_state s;     /* of this rank */
	states earlier;     /* that this rank has loaded, and removes at the end */
	saved_output saved; /* a complete output of theirs */
	shared_runs shared; /* who continues with what */
	unfinished_end end; /* where the job ends before its time */
	DIR *list;          /* first rank of a group: the directory, opened before it matters */
	run_notes notes;    /* how the state is brought up to date */
	run_checkpoint_plan seal;
} workdir;

/* workdir_release - give up its lock; what is in it stays. */
void workdir_release(workdir *w);

/* workdir_clean - remove what jobs that did not end have left in this directory, as their locks and
 * states say, and the directory itself, if hetsort made it and it is empty then. Refuses if a job
 * is at it, or if the file system has no locks. */
status workdir_clean(const char *path, cleaned *n, err *e);

#endif
