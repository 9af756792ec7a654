/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How fast the ranks are: by their nominal rates, by what the user says, or measured. */
#ifndef HETSORT_MODEL_RANK_SPEEDS_H
#define HETSORT_MODEL_RANK_SPEEDS_H

#include "calibrate.h"
#include "shares.h"
#include "wisdom.h"

/* Where a rank runs. Ranks with the same host and processors are moved about by the same scheduler:
 * what one of them lacks another has, so they are taken to be alike. */
typedef struct placement {
	char host[HOST_BYTES];
	uint64_t cpus;          /* a hash of the set of processors that it may use */
	uint32_t count, online; /* how many they are, and how many the machine has */
} placement;

/* What rank 0 plans by; at the others no rank is in it. */
typedef struct rank_speeds {
	size_t p;
	placement *placement; /* each rank's */
	allowance *had;       /* of the processors, each while it was measured */
	double *before;       /* speeds for the share that is read, */
	double *after;        /* and for the one that is written */
	double cpus; /* that a rank has in the mean, where rates are those of one; else 1 */
} rank_speeds;

/* rank_speeds_find - collective: fills g at rank 0, and s->speed and s->rate there, links and disks
 * with it where they are given. s->records is set; threads of this rank are what is measured. To be
 * freed on failure too. */
status rank_speeds_find(rank_env *env, unsigned threads, share_plan *s, rank_speeds *g);

void rank_speeds_free(rank_env *env, rank_speeds *g);

/* rank_numbers_load - at rank 0: a number for each rank from arg, as of --speeds; what: its column
 * in a file that names its columns, and for messages. */
status rank_numbers_load(rank_env *env, const rank_speeds *g, const char *arg, const char *what,
			 double *number);

/* rank_speeds_name - at rank 0: tell wisdom the names of the ranks, and how many processors each
 * has.
 */
status rank_speeds_name(rank_env *env, const rank_speeds *g, wisdom *w);

#endif
