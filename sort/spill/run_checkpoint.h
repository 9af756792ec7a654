/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A run on disk that outlives the program: a checkpoint behind its records has all that a later
 * program needs to use it. The checkpoint is written when the records are on the disk, so a file
 * that has one is complete, whenever the program or the machine ended; no list of complete runs is
 * needed. */
#ifndef HETSORT_SPILL_RUN_CHECKPOINT_H
#define HETSORT_SPILL_RUN_CHECKPOINT_H

#include "kernel/checksum.h"
#include "resume_state.h"
#include "spill.h"

/* What the runs of one sort on one rank have in common. */
typedef struct run_checkpoint_plan {
	uint64_t job; /* a random number that tells sorts apart */
	int32_t rank;
	uint64_t first;   /* of the rank's records in the input */
	run_notes *notes; /* what was read for each run */
	const char *name; /* as in spill_plan */
	bool fsync;       /* wait until the disk has the data */
} run_checkpoint_plan;

/* What a run has beside its records. */
typedef struct run_checkpoint {
	uint64_t first; /* of its records among the rank's */
	checksum sum;   /* of its records, as they were read */
	void *sample;   /* its samples, sample_bytes */
	size_t sample_bytes;
} run_checkpoint;

/* run_checkpoint_save - note the checksum in the state, and write the complete run's checkpoint
 * once its records are on the disk. Any number of threads, each with runs of its own. */
status run_checkpoint_save(const spill *s, size_t run, const run_checkpoint_plan *p,
			   const run_checkpoint *n, err *e);

/* run_checkpoint_load - if the file of run `run`, which was not begun, is the complete run of recs
 * records from n->first on of this sort and rank, with the checksum that the state has noted for
 * it, *taken is true, the run can be read, and n is filled (sample has room for sample_bytes). A
 * file that is missing, cut, changed or another's is not taken, and no error. */
status run_checkpoint_load(spill *s, size_t run, uint64_t recs, const run_checkpoint_plan *p,
			   mem *m, run_checkpoint *n, bool *taken, err *e);

#endif
