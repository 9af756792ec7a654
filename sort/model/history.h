/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --plan=online: shares from what earlier runs have shown. At rank 0, which keeps j->book. */
#ifndef HETSORT_ONLINE_H
#define HETSORT_ONLINE_H

#include "rank_speeds.h"

/* online_open - what is known of runs like this one. */
status online_open(job *j, const gauge *g);

/* online_shares - of the share that is read, or written; *known false: nothing is known yet, share
 * is untouched. */
status online_shares(job *j, bool before, uint64_t *share, bool *known);

void online_free(book *b);

#endif
