/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --plan=online: shares from what earlier runs have shown. At rank 0, which keeps j->history. */
#ifndef HETSORT_MODEL_HISTORY_H
#define HETSORT_MODEL_HISTORY_H

#include "rank_speeds.h"

/* history_open - what is known of runs like this one. */
status history_open(job *j, const rank_speeds *g);

/* history_shares - of the share that is read, or written; *known false: nothing is known yet, share
 * is untouched. */
status history_shares(job *j, bool before, uint64_t *share, bool *known);

void history_free(history *b);

#endif
