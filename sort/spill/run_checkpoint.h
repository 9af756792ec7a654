/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A run on disk that outlives the program: a checkpoint behind its records has all that a later
 * program needs to use it. The checkpoint is written when the records are on the disk, so a file
 * that has one is complete, whenever the program or the machine ended; no list of complete runs is
 * needed. */
#ifndef HETSORT_SPILL_RUN_CHECKPOINT_H
#define HETSORT_SPILL_RUN_CHECKPOINT_H

#include "resume_state.h"
#include "spill.h"

/* What earlier programs have left of a rank's share of the input: runs, with gaps between them that
 * are read and cut into new runs. */
typedef struct kept_runs {
	run_note *run; /* [count] in the order of the input, without overlaps, within the share */
	size_t count;
	uint64_t first, recs; /* the share */
} kept_runs;

/* A piece of the share: a run that was kept, or one to be made. */
typedef struct kept_piece {
	uint64_t first, recs; /* among the share's records */
	const run_note *run;  /* NULL: it is to be made */
	size_t next;          /* run that was kept, after this piece */
} kept_piece;

/* kept_runs_next - the piece after *p, which begins as all zeros; new runs have at most run_recs
 * records. False: there is none. */
bool kept_runs_next(const kept_runs *k, uint64_t run_recs, kept_piece *p);

/* kept_runs_pieces - how many there are. */
uint64_t kept_runs_pieces(const kept_runs *k, uint64_t run_recs);

/* kept_runs_stride - of the samples of all runs together: that of each divides it. 0: there is no
 * run. */
size_t kept_runs_stride(const kept_runs *k);

/* What the runs of one sort on one rank have in common. */
typedef struct run_checkpoint_plan {
	uint64_t job;     /* a random number that tells sorts apart */
	int32_t rank;     /* of the files of new runs, */
	uint64_t number;  /* which have numbers from here on */
	kept_runs kept;   /* what is there of the rank's share */
	run_notes *notes; /* what was read for each run */
	bool fsync;       /* wait until the disk has the data */
} run_checkpoint_plan;

/* What a run has beside its records. */
typedef struct run_checkpoint {
	run_note note;
	void *sample; /* its samples, sample_bytes */
	size_t sample_bytes;
} run_checkpoint;

/* run_checkpoint_save - note the run in the state, and write its checkpoint once its records are on
 * the disk. Any number of threads, each with runs of its own. */
status run_checkpoint_save(const spill *s, size_t run, const run_checkpoint_plan *p,
			   const run_checkpoint *n, err *e);

/* run_checkpoint_look - is the file of a noted run in this directory complete, and of this sort and
 * these records? *is false: it is missing, cut, changed or another's, which is no error. Where its
 * checkpoint is at least of this sort, note->file becomes this file. */
status run_checkpoint_look(int dirfd, run_note *note, uint64_t job, const layout *l, mem *m,
			   bool *is, err *e);

/* run_checkpoint_load - the file of run `run`, which was not begun, is that of n->note, at which
 * run_checkpoint_look was called: the run can be read, and n has its samples, each stride-th record
 * (n->sample has room for sample_bytes). ST_IO where it was changed meanwhile. */
status run_checkpoint_load(spill *s, size_t run, const run_checkpoint_plan *p, size_t stride,
			   mem *m, run_checkpoint *n, const layout *l, err *e);

#endif
