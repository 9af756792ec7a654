/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measuring what the links between hosts carry, all at the same time. */
#ifndef HETSORT_MODEL_LINK_RATES_H
#define HETSORT_MODEL_LINK_RATES_H

#include "rank_speeds.h"

/* Of its messages, and the next one: they stand for themselves, while a block of records may stand
 * for more (sim/). */
enum { TAG_LINK_RATES = 60 };

/* link_rates_measure - collective: each rank sends to a rank of another host, and receives from
 * one, for at least a hundredth of a second; a few times with other partners, where the first ones
 * may have been slower than the rank itself.
 * g       at rank 0: where ranks are
 * link_s  receives at rank 0 seconds of a byte for each rank, of those that it sends to all ranks
 *         alike, its own host among them; 0 where all are on one host. */
status link_rates_measure(rank_env *env, const rank_speeds *g, double *link_s);

#endif
