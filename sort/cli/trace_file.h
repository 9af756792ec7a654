/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The file of --trace: Chrome's trace events, which Perfetto and chrome://tracing show. Each rank
 * is shown as a process. */
#ifndef HETSORT_CLI_TRACE_FILE_H
#define HETSORT_CLI_TRACE_FILE_H

#include "base/trace.h"
#include "model/rank_result.h"

/* What ranks have recorded. The caller frees row. */
typedef struct traces {
	int size;       /* ranks */
	unsigned each;  /* rows per rank */
	trace_row *row; /* NULL: nothing is known */
} traces;

/* trace_rows_of_rank - return the rows per rank, so that all ranks fit into the file. */
unsigned trace_rows_of_rank(int ranks);

/* traces_gather - collective: gather the rows of all ranks at rank 0. */
status traces_gather(comm *c, traces *all, err *e);

/* trace_write - write the trace to path, and replace an earlier one. Without rows, because ranks
 * cannot be asked, all becomes the rows of the ranks in this process. r gives the hosts, if it has
 * any ranks. */
status trace_write(traces *all, const job_result *r, const char *path, bool sync, err *e);

#endif
