/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorts a rank's share of the input into runs on disk. */
#ifndef HETSORT_SPILL_RUN_FORMATION_H
#define HETSORT_SPILL_RUN_FORMATION_H

#include "memory_share.h"
#include "sort_plan.h"

#include <stdatomic.h>

typedef struct run_formation_plan {
	load_plan load;
	const sort_plan *b;
	const char *const *dir; /* for the runs */
	size_t dirs;
	unsigned ranks_here;             /* ranks that spill into the same directories */
	const run_checkpoint_plan *keep; /* use kept runs, and keep the new ones; NULL: do not */
	bool folds; /* fold records with equal keys; out->n then counts those that are left */
	const atomic_bool *stop; /* set: begin no more runs; NULL: never set */
	const char *full; /* for a stream: the reason why it may have at most load.n records */
} run_formation_plan;

/* run_formation_input - form runs of a share of the input, like memory_share_input. out->disk.kept
 * and kept_recs count the runs that earlier jobs left, and their records. */
status run_formation_input(const input *in, const run_formation_plan *p, mem *m, sorted_share *out,
			   err *e);

/* run_formation_stream - form at most b->runs runs of a stream of at most load.n records. One
 * thread at a time takes records. *out contains the first records, unsorted in memory, at most
 * b->workers runs; or it is all zeros. Its checksum becomes 0, because the source has the
 * checksum. */
status run_formation_stream(record_take *take, void *from, const run_formation_plan *p, mem *m,
			    sorted_share *out, err *e);

#endif
