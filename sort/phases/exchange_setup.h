/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What all strategies do around their exchange: open it and the output, move records, close.
 */
#ifndef HETSORT_PHASES_EXCHANGE_SETUP_H
#define HETSORT_PHASES_EXCHANGE_SETUP_H

#include "exchange/exchange.h"
#include "exchange/outgoing.h"
#include "selection.h"
#include "values.h"

/* What moves records: what it goes by, set by the caller, and what is open while they move. */
typedef struct exchange_setup {
	rank_env *env;
	const settled *k;
	const cuts *cuts;
	files *f;
	output_part *w; /* receives what was written */
	bool stores;    /* what comes is kept in memory first: no output is opened */
	/* open */
	exchange *x;
	outgoing out;
	peer_list peers; /* of the exchange */
	uint64_t *recv;  /* [peers] records from each */
	io_fd to;        /* the output as written to */
	writer to_file;
	selection selection; /* of what comes, what goes there */
} exchange_setup;

/* exchange_setup_windows - what the windows of the exchange take, by the mean share of so many
 * records and the least limit of memory of any rank: the same on all ranks, as it sets the size of
 * blocks. */
uint64_t exchange_setup_windows(const rank_env *env, uint64_t total, uint64_t least_limit_bytes);

/* exchange_setup_most - records that this rank may write: of --top what the ranks before have not,
 * or, as that shows later where keys are unique, all. */
uint64_t exchange_setup_most(const rank_env *env, const share_plan *s);

/* exchange_setup_output - collective: create the output; *to is where this rank writes. To be
 * closed on failure too. */
status exchange_setup_output(rank_env *env, const settled *k, files *f, output_part *w, io_fd *to);
void exchange_setup_output_close(const io_fd *to);

/* exchange_setup_open - collective: counts, windows and the output file; then records start to
 * move. On failure too exchange_setup_close is to be called. */
status exchange_setup_open(exchange_setup *t);

/* exchange_setup_drained - all streams are read: waits until all is sent, and notes what waiting
 * took. */
status exchange_setup_drained(exchange_setup *t);

/* exchange_setup_close - the last records are written; notes counts and times. rc is how the
 * exchange went on this rank so far; one that was not opened is fine. */
status exchange_setup_close(exchange_setup *t, status rc);

/* exchange_setup_written - notes what this rank has written. */
void exchange_setup_written(rank_env *env, const output_part *w);

#endif
