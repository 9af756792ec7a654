/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records in memory that are sorted on demand, as a sorted sequence of one run. */
#ifndef HETSORT_SPILL_SORTED_DEMAND_H
#define HETSORT_SPILL_SORTED_DEMAND_H

#include "sorted.h"

#include <pthread.h>

typedef struct sorted_demand {
	sorted s;
	records recs;
	demand *order;
	demand_room *look;    /* scratch for single places, and for streams */
	pthread_mutex_t lock; /* for look */
} sorted_demand;

/* sorted_demand_make - of s->order, for which demand_end was called; start[0] is 0, start[1] how
 * many records there are. start outlives s. */
status sorted_demand_make(sorted_demand *s, const records *r, const uint64_t *start, err *e);

/* sorted_demand_close - frees s->order as well, also one of which no sequence was made. */
void sorted_demand_close(sorted_demand *s);

#endif
