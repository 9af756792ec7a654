/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command line of valsort: the grammar of the Sort Benchmark's validator, with long options,
 * clusters and detached values besides. Reports a usage error itself; exits never. */
#ifndef VAL_ARGS_H
#define VAL_ARGS_H

#include <stdbool.h>

enum { VAL_MAX_THREADS = 1024 };

struct val_args {
	bool fold;        /* compare keys without regard to case */
	bool quiet;       /* print failures only */
	bool summaries;   /* the input is summaries, not records */
	unsigned threads; /* 0: as many as processors */
	const char *save; /* where to write the summary, or NULL */
	const char *file; /* "-" is standard input */
};

enum val_verdict { VAL_RUN, VAL_HELP, VAL_VERSION, VAL_USAGE };

/* val_args_parse - what to do; on VAL_USAGE the reason has been printed. */
enum val_verdict val_args_parse(int argc, char **argv, struct val_args *a);

#endif
