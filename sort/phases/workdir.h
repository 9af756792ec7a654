/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --workdir: a directory where sorted runs outlive the program, so that --resume goes on with them.
 * For each rank there are, in one directory for all or on a disk of its own:
 *   hetsort-rank0.json    the state: what the runs belong to, see resume_state.h
 *   hetsort-rank0.run7    runs, see run_checkpoint.h
 * and, while a job is at it, a lock, see target.h. */
#ifndef HETSORT_PHASES_WORKDIR_H
#define HETSORT_PHASES_WORKDIR_H

#include "comm/rank_env.h"
#include "io/target.h"
#include "spill/run_checkpoint.h"
#include "spill/resume_state.h"

enum { WORKDIR_NAME_BYTES = 40 };

typedef struct workdir {
	bool on;                       /* this sort has one */
	bool found;                    /* with this rank's state in it */
	bool resuming;                 /* with that of any rank: the same on all */
	target file;                   /* of the state */
	char name[WORKDIR_NAME_BYTES]; /* of the runs, without the number */
	resume_state s;
	unfinished_end end; /* where the job ends before its time */
	const char *dir;
	int rank, ranks;
	run_notes notes; /* how it is brought up to date */
	run_checkpoint_plan seal;
} workdir;

/* workdir_open - find and lock the directory where runs are kept, and load what an earlier program
 * has left there for this rank, if it is of this very sort. */
status workdir_open(rank_env *env, const input *in, workdir *w);

/* workdir_patience_s - how long --resume waits for the locks of a job that is about to end: ranks
 * live on for a while after their launcher was killed. */
double workdir_patience_s(const rank_env *env);

/* workdir_remove_runs - remove all runs of this rank; none of them is an input. */
status workdir_remove_runs(rank_env *env, const input *in, const workdir *w);

/* workdir_release - give up its lock; what is in it stays. workdir_close - and all else: until then
 * this rank looks after those that die before they have done it. */
void workdir_release(workdir *w);
void workdir_close(workdir *w);

/* workdir_clean - remove what jobs that did not end have left in this directory, *removed files.
 * Refuses if a job is at it, or if the file system cannot tell. */
status workdir_clean(const char *path, unsigned *removed, err *e);

#endif
