/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Run formation: read, sort and write a rank's share that does not fit into memory, run by run. */
#ifndef HETSORT_SPILL_RUN_FORMATION_H
#define HETSORT_SPILL_RUN_FORMATION_H

#include "sort_plan.h"
#include "read_runs.h"
#include "io/reader.h"
#include "run_checkpoint.h"

#include <stdatomic.h>

typedef struct run_formation_plan {
	read_runs_plan load;
	const sort_plan *b;
	const char *const *dir; /* for the runs */
	size_t dirs;
	unsigned ranks_here;             /* that spill into the same directories */
	const run_checkpoint_plan *keep; /* use kept runs, and keep the new ones; NULL: do not */
	const atomic_bool *stop;         /* set: begin no more runs; NULL: never set */
	const char *full; /* for a stream: the reason why it may have at most load.n records */
} run_formation_plan;

/* run_formation_input - form runs of a share of the input, like read_runs_input. out->runs_kept and
 * recs_kept count the runs that earlier programs left, and their records. */
status run_formation_input(const input *in, const run_formation_plan *p, mem *m, read_runs *out,
			   err *e);

/* run_formation_stream - form at most b->runs runs of a stream of at most load.n records, taken by
 * one thread at a time. held: the first records, unsorted in memory, at most b->workers runs; it is
 * freed. out->sum is 0: the source of the stream has their checksum. */
status run_formation_stream(record_take *take, void *from, read_runs *held,
			    const run_formation_plan *p, mem *m, read_runs *out, err *e);

#endif
