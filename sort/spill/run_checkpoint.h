/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A run on disk that outlives the program. The checkpoint after its records contains all data that
 * a later job needs to use the run. It is written when the records have reached the disk. So a file
 * with a checkpoint is complete, even after a crash, without a list of complete runs. */
#ifndef HETSORT_SPILL_RUN_CHECKPOINT_H
#define HETSORT_SPILL_RUN_CHECKPOINT_H

#include "resume_state.h"
#include "spill.h"

/* The runs that earlier jobs left of a rank's share of the input. The records between them are read
 * and formed into new runs. */
typedef struct kept_runs {
	run_note *run; /* [count] in the order of the input, without overlaps, within the share */
	size_t count;
	uint64_t first, recs; /* the share */
} kept_runs;

/* A piece of the share: a kept run or a new one. */
typedef struct kept_piece {
	uint64_t first, recs; /* counted in the share */
	const run_note *run;  /* NULL: a new run */
	size_t next;          /* the first kept run after this piece */
} kept_piece;

/* kept_runs_next - set *p to the next piece; at first, *p is all zeros. New runs have at most
 * run_recs records. Return false if *p was the last piece. */
bool kept_runs_next(const kept_runs *k, uint64_t run_recs, kept_piece *p);

/* kept_runs_pieces - return the number of pieces. */
uint64_t kept_runs_pieces(const kept_runs *k, uint64_t run_recs);

/* kept_runs_stride - return the least stride that is a multiple of the stride of every kept run; 0
 * without kept runs. */
size_t kept_runs_stride(const kept_runs *k);

/* The values that all runs of one sort on one rank share. */
typedef struct run_checkpoint_plan {
	uint64_t number;  /* of the first new file */
	kept_runs kept;   /* in the rank's share */
	run_notes *notes; /* the state, in which runs are noted */
} run_checkpoint_plan;

/* The contents of a checkpoint. */
typedef struct run_checkpoint {
	run_note note;
	size_t stride; /* of the samples */
	void *sample;  /* the samples of the run, sample_bytes */
	size_t sample_bytes;
} run_checkpoint;

/* run_checkpoint_save - note the run in the state, and write its checkpoint after its records have
 * reached the disk. Any number of threads, each with its own runs. */
status run_checkpoint_save(const spill *s, size_t run, const run_checkpoint_plan *p,
			   const run_checkpoint *n, err *e);

/* run_checkpoint_look - check the file of a noted run in the directory of the state. Set *is if it
 * is complete and belongs to this sort and these records. A missing, shortened, changed or other
 * file is not an error. If the file has a checkpoint of this sort, set note->file. */
status run_checkpoint_look(const run_checkpoint_plan *p, run_note *note, mem *m, bool *is, err *e);

/* run_checkpoint_load - use the file of n->note, which run_checkpoint_look has accepted, as run
 * `run`, which was not begun and can then be read. Fill n->sample, which has room for sample_bytes,
 * with every stride-th record. ST_IO if the file has changed since. */
status run_checkpoint_load(spill *s, size_t run, const run_checkpoint_plan *p, mem *m,
			   run_checkpoint *n, err *e);

#endif
