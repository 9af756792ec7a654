/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --workdir: a directory where sorted runs outlive the program, so that --resume continues with
 * them, with any number of ranks. Each rank has these files, in one directory for all or on a disk
 * of its own, and a lock (target.h) while a job uses them:
 *   hetsort-rank0.json   the state: the sort that its runs belong to, see resume_state.h
 *   hetsort-rank0.run7   runs, see run_checkpoint.h */
#ifndef HETSORT_PHASES_WORKDIR_H
#define HETSORT_PHASES_WORKDIR_H

#include "comm/rank_env.h"
#include "io/journal.h"
#include "io/target.h"
#include "resume/share_runs.h"
#include "spill/run_checkpoint.h"

typedef struct workdir {
	bool on;       /* this sort has a workdir */
	bool resuming; /* it has states; the same on all ranks */
	target file;   /* the state */
	groups g;
	resume_state s;     /* the state of this rank */
	states earlier;     /* the states that this rank has loaded, and removes at the end */
	saved_output saved; /* a complete output of these states */
	shared_runs shared; /* the assignment of runs to ranks */
	unfinished_end end; /* what to do if the job ends early */
	DIR *list;          /* first rank of a group: the directory, opened before it is needed */
	run_notes notes;    /* how to update the state */
	run_checkpoint_plan seal;
} workdir;

/* workdir_clean - remove what ended jobs have left in this directory, according to their locks and
 * states. Remove the directory, too, if hetsort made it and it is empty. Refuse if a job uses it,
 * or if the file system has no locks. */
status workdir_clean(const char *path, cleaned *n, err *e);

#endif
