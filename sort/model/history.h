/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --plan=online: shares from the times of earlier runs. At rank 0. */
#ifndef HETSORT_MODEL_HISTORY_H
#define HETSORT_MODEL_HISTORY_H

#include "rank_speeds.h"
#include "wisdom.h"

typedef struct history history;

/* history_open - what is known of runs like this one. To be freed on failure too. */
status history_open(rank_env *env, const rank_speeds *g, history **out);

/* history_shares - of so many records, for the share that is read, or written; *known false:
 * nothing is known yet, share is untouched. */
status history_shares(rank_env *env, history *b, bool before, uint64_t total, uint64_t *share,
		      bool *known);

/* history_costs - seconds of records on each rank, for shares of up to `total`; NULL: not known. To
 * be freed by rank_costs_free(). */
status history_costs(rank_env *env, history *b, bool before, uint64_t total, rank_costs **out);

/* history_add - the times of all ranks in this run, for the next one; failure is only a note. */
void history_add(history *b, const run_times *t, err *note);

void history_free(history *b);

#endif
