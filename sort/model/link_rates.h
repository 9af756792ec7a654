/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measuring the links between hosts, all at the same time. */
#ifndef HETSORT_MODEL_LINK_RATES_H
#define HETSORT_MODEL_LINK_RATES_H

#include "rank_speeds.h"

/* The tag of its messages, with the next one. A simulation (sim/) scales blocks of records, but not
 * these. */
enum { TAG_LINK_RATES = 60 };

/* link_rates_measure - let each rank send to a rank of another host, and receive from one, for at
 * least a hundredth of a second. Repeat it with other partners if the first ones may have been
 * slower than the rank itself. Collective.
 * g       at rank 0: where ranks are
 * link_s  receives at rank 0 the seconds of a byte for each rank, if it sends to all ranks alike,
 *         including its own host; 0 if all are on one host. */
status link_rates_measure(rank_env *env, const rank_speeds *g, double *link_s);

#endif
