/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading a rank's share of the input that does not fit into memory: run after run is read, sorted
 * and written to disk. */
#ifndef HETSORT_SPOOL_H
#define HETSORT_SPOOL_H

#include "budget.h"
#include "load.h"

typedef struct spool_plan {
	load_plan load;
	const budget *b;
	const char *const *dir; /* for the runs */
	size_t dirs;
	unsigned ranks_here; /* that spill into the same directories */
} spool_plan;

/* spool_input - as load_input; out holds runs on disk. */
status spool_input(const input *in, const spool_plan *p, mem *m, loaded *out, err *e);

#endif
