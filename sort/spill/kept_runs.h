/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What earlier programs have left of a rank's share of the input: runs, with gaps between them that
 * are read and cut into new runs. Pure. */
#ifndef HETSORT_SPILL_KEPT_RUNS_H
#define HETSORT_SPILL_KEPT_RUNS_H

#include "resume_state.h"

typedef struct kept_runs {
	run_note *run; /* [count] in the order of the input, without overlaps, within the share */
	size_t count;
	uint64_t first, recs; /* the share */
} kept_runs;

/* A piece of the share: a run that was kept, or one to be made. */
typedef struct kept_piece {
	uint64_t first, recs; /* among the share's records */
	const run_note *run;  /* NULL: it is to be made */
} kept_piece;

/* kept_runs_next - the piece after *p, which begins as all zeros; new runs have at most run_recs
 * records. False: there is none. */
bool kept_runs_next(const kept_runs *k, uint64_t run_recs, kept_piece *p);

/* kept_runs_pieces - how many there are. */
uint64_t kept_runs_pieces(const kept_runs *k, uint64_t run_recs);

/* kept_runs_stride - of the samples of all runs together: that of each divides it. 0: there is no
 * run. */
size_t kept_runs_stride(const kept_runs *k);

#endif
