/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which ranks find the same files in the directory that each knows by the same name: all of them in
 * a shared one, those of a host on its own disk. */
#ifndef HETSORT_RESUME_GROUPS_H
#define HETSORT_RESUME_GROUPS_H

#include "comm/rank_env.h"
#include "io/target.h"

typedef struct groups {
	int32_t *of; /* [ranks] the first rank of its group, which leads it */
	int32_t own; /* the first rank of this rank's group, */
	int ranks;   /* the number of ranks in it, */
	int place;   /* and of those before this one */
} groups;

/* groups_find - collective. t: this rank's state in that directory; nothing of it is made yet. */
status groups_find(rank_env *env, target *t, groups *g);

void groups_free(mem *m, groups *g);

#endif
