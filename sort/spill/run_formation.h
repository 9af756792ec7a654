/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Run formation: a rank's share of the input that does not fit into memory is read, sorted and
 * written to disk, run by run. */
#ifndef HETSORT_SPILL_RUN_FORMATION_H
#define HETSORT_SPILL_RUN_FORMATION_H

#include "budget.h"
#include "read_runs.h"
#include "io/reader.h"
#include "run_checkpoint.h"

#include <stdatomic.h>

typedef struct run_formation_plan {
	read_runs_plan load;
	const budget *b;
	const char *const *dir; /* for the runs */
	size_t dirs;
	unsigned ranks_here;             /* that spill into the same directories */
	const run_checkpoint_plan *keep; /* runs outlive the program, and those that earlier ones
				  left are used; NULL: they do not */
	const atomic_bool *stop;         /* set: begin no more runs; NULL: never */
	const char *full; /* of a stream of unknown length: why it may not have more than load.n
			     records */
} run_formation_plan;

/* run_formation_input - as read_runs_input; out has runs on disk, and says how many of them, and of
 * the records, earlier programs left. */
status run_formation_input(const input *in, const run_formation_plan *p, mem *m, read_runs *out,
			   err *e);

/* run_formation_stream - the same for at most load.n records that come one after the other, from
 * one thread at a time, in at most b->runs runs. held: those that came before, in memory and
 * unsorted, at most the records of b->workers runs; it is freed. out->sum is 0: who gives the
 * records has seen them first. */
status run_formation_stream(record_take *take, void *from, read_runs *held,
			    const run_formation_plan *p, mem *m, read_runs *out, err *e);

#endif
