/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How fast the ranks are: by their nominal rates, by what the user says, or measured. */
#ifndef HETSORT_GAUGE_H
#define HETSORT_GAUGE_H

#include "phases/job.h"
#include "quota.h"

/* Where a rank runs. Ranks with the same host and processors are moved about by the same scheduler:
 * what one of them lacks another has, so they are taken to be alike. */
typedef struct seat {
	char host[HOST_BYTES];
	uint64_t cpus;          /* a hash of the set of processors that it may use */
	uint32_t count, online; /* how many they are, and how many the machine has */
} seat;

/* What rank 0 plans by; at the others no rank is in it. */
typedef struct gauge {
	size_t p;
	seat *seat;     /* each rank's */
	allowance *had; /* of the processors, each while it was measured */
	double *before; /* speeds for the share that is read, */
	double *after;  /* and for the one that is written */
} gauge;

/* gauge_ranks - collective: fills g at rank 0, and j->speed and j->rate there. */
status gauge_ranks(job *j, gauge *g);

void gauge_free(job *j, gauge *g);

/* seat_same - may they use the same processors? seat_hash - the same for those that may. */
bool seat_same(const seat *a, const seat *b);
uint64_t seat_hash(const seat *s);

#endif
