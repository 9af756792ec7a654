/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Making all records with several threads: blocks are handed out in order, made independently,
 * and written at their offsets or in turn. The last block is written after all others, so a
 * file reaches its full size only when it is complete. */
#ifndef GEN_RUN_H
#define GEN_RUN_H

#include "gen_args.h"
#include "gen_out.h"

struct gen_result {
	u128 checksum; /* 0 unless it was asked for */
	int err;       /* errno of the first failure, 0 if there was none */
	int signal;    /* that asked to stop, 0 if none did */
};

/* gen_run - make the records of `a` and write them to `out`. */
struct gen_result gen_run(const struct gen_args *a, const struct gen_out *out);

/* gen_stop - ask a run to stop at the next block; may be called by a signal handler. */
void gen_stop(int signal);

#endif
