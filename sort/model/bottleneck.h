/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a rank's time is bound by: its processors, its link to the other hosts, or its disk; and
 * shares with which ranks whose links and disks are known end together. Pure. */
#ifndef HETSORT_MODEL_BOTTLENECK_H
#define HETSORT_MODEL_BOTTLENECK_H

#include "run_time.h"

#include <hetpart.h>

typedef enum bottleneck {
	BOUND_BY_PROCESSOR,
	BOUND_BY_LINK,
	BOUND_BY_DISK,
	BOTTLENECKS
} bottleneck;

/* bottleneck_name - one word. */
const char *bottleneck_name(bottleneck b);

/* bottleneck_of - which of them is busy for longest, of a rank with this to do. */
bottleneck bottleneck_of(const rates *r, const settings *o, const run_load *l);

/* bottleneck_link_s - what the link adds to the time of run_time_s(): sending and receiving go on
 * while a rank merges what comes; where it sorts last, before that. 0: the link is not known, or
 * fast enough. */
double bottleneck_link_s(const rates *r, const settings *o, const run_load *l);

/* The ranks of a job, one by one, or in groups of those that are alike, which have their shares
 * together. */
typedef struct bound_ranks {
	const settings *o;
	size_t ranks;                        /* of all groups */
	size_t p;                            /* groups */
	const uint64_t *count;               /* [p] ranks of each; NULL: 1 */
	const rates *rate;                   /* [p] */
	double cpus;                         /* that share the work of a rank, at these rates */
	const hetpart_cost *const *before_s; /* [p] seconds of the work for what a rank reads, */
	const hetpart_cost *const *after_s;  /* and writes; NULL: by the rates */
	bool in_fixed;                       /* what each reads is not to be changed */
} bound_ranks;

/* bound_ranks_known - is there a rank whose link or disk is known? */
bool bound_ranks_known(const rates *rate, size_t p);

/* bound_makespan_s - until the last rank has read and sorted, and from then until the last has
 * written. */
double bound_makespan_s(const bound_ranks *b, const uint64_t *in, const uint64_t *out);

/* bound_shares - shares of which the makespan is the least that was found.
 * b         its ranks are put in groups here.
 * in, out   [p], hold the shares by speed alone, and keep them where no link and no disk takes
 *           longer than the slowest rank's work; the makespan never becomes larger. */
status bound_shares(const bound_ranks *b, uint64_t *in, uint64_t *out, err *e);

#endif
