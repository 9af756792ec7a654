/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The file of --trace: Chrome's trace events, which Perfetto and chrome://tracing show. A rank is a
 * process there. */
#ifndef HETSORT_CLI_TRACE_FILE_H
#define HETSORT_CLI_TRACE_FILE_H

#include "base/trace.h"
#include "model/rank_result.h"

/* What ranks have recorded. */
typedef struct traces {
	int size;       /* ranks */
	unsigned each;  /* rows of each */
	trace_row *row; /* NULL: nothing is known */
} traces;

/* trace_rows_of_rank - so that all ranks fit the file. */
unsigned trace_rows_of_rank(int ranks);

/* traces_gather - collective: rank 0 gets those of all ranks; it frees row. traces_here - those of
 * ranks in this process, where others cannot be asked. */
status traces_gather(comm *c, traces *all, err *e);
void traces_here(traces *all);

/* trace_write - to path, replacing what is there. r tells the hosts, and may know of none. */
status trace_write(const traces *all, const job_result *r, const char *path, bool sync, err *e);

#endif
