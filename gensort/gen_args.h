/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command line of gensort: the grammar of the Sort Benchmark's generator, with long options,
 * clusters and detached numbers besides, and every number checked to its end.
 * Reports a usage error itself; exits never. */
#ifndef GEN_ARGS_H
#define GEN_ARGS_H

#include "gen_record.h"

enum { GEN_MAX_THREADS = 1024 };

struct gen_args {
	struct gen_kind kind;
	u128 start;       /* number of the first record */
	uint64_t recs;    /* how many */
	bool checksum;    /* print it */
	bool fsync;       /* make a regular file durable */
	unsigned threads; /* 0: as many as processors */
	const char *file; /* "-" is standard output */
};

enum gen_verdict { GEN_RUN, GEN_HELP, GEN_VERSION, GEN_USAGE };

/* gen_args_parse - what to do; on GEN_USAGE the reason has been printed. */
enum gen_verdict gen_args_parse(int argc, char **argv, struct gen_args *a);

#endif
