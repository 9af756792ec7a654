/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measuring the links between hosts, all at the same time, as far as they may matter for the shares
 * of a job. */
#ifndef HETSORT_MODEL_LINK_RATES_H
#define HETSORT_MODEL_LINK_RATES_H

#include "rank_speeds.h"

/* The tag of its messages, with the next one. A simulation (sim/) scales blocks of records, but not
 * these. */
enum { TAG_LINK_RATES = 60 };

/* link_rates_measure - let each rank send to a rank of another host, and receive from one. Unless
 * all links are fast enough to be hidden by the other work, repeat it with other partners, because
 * the first ones may have been slower than the rank itself. After two messages of each rank, or
 * nine if --links=auto asks to measure, takes about 2 % of the predicted time of the job at most.
 * Collective.
 * g       at rank 0: where ranks are
 * s       at rank 0: how many records are sorted, and the rates of the ranks
 * link_s  [p] of zeros at rank 0, receives the seconds of a byte for each rank, if it sends to all
 *         ranks alike, including its own host; 0 if all are on one host. */
status link_rates_measure(rank_env *env, const rank_speeds *g, const share_plan *s, double *link_s);

#endif
