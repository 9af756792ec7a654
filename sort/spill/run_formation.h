/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading a rank's share of the input that does not fit into memory: run after run is read, sorted
 * and written to disk. */
#ifndef HETSORT_SPILL_RUN_FORMATION_H
#define HETSORT_SPILL_RUN_FORMATION_H

#include "budget.h"
#include "read_runs.h"
#include "io/reader.h"
#include "run_checkpoint.h"

#include <stdatomic.h>

enum { SPOOL_BATCH_BYTES = 1 << 20 }; /* gathered at a time, by each worker */

typedef struct run_formation_plan {
	read_runs_plan load;
	const budget *b;
	const char *const *dir; /* for the runs */
	size_t dirs;
	unsigned ranks_here;             /* that spill into the same directories */
	const run_checkpoint_plan *keep; /* runs outlive the program, and those of an earlier one
				  are taken over; NULL: they do not */
	const atomic_bool *stop; /* set: begin no more runs, leave the rest undone; NULL: never */
	const char *full; /* of a stream whose length nobody knows: why load.n is all it may have */
} run_formation_plan;

/* run_formation_input - as read_runs_input; out holds runs on disk, and says how many of them, and
 * of the records, were there already. */
status run_formation_input(const input *in, const run_formation_plan *p, mem *m, loaded_runs *out,
			   err *e);

/* run_formation_stream - the same for at most load.n records that come one after the other, from
 * one thread at a time, in at most b->runs runs. held: those that came before, in memory and
 * unsorted, at most what b->workers runs have; their room is given back. */
status run_formation_stream(record_take *take, void *from, loaded_runs *held,
			    const run_formation_plan *p, mem *m, loaded_runs *out, err *e);

#endif
