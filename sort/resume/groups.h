/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which ranks find the same files in the directory that each knows by the same name: all of them in
 * a shared one, those of a host on its own disk. */
#ifndef HETSORT_RESUME_GROUPS_H
#define HETSORT_RESUME_GROUPS_H

#include "base/mem.h"
#include "comm/comm.h"
#include "io/target.h"

typedef struct groups {
	int32_t *of; /* [ranks] the first rank of its group, which leads it */
	int32_t own; /* that of this rank, */
	int ranks;   /* which has so many, */
	int place;   /* of which this one is the so-many-th, from 0 on */
} groups;

/* groups_find - collective. t: a file of this rank's own in that directory, which dir names, with
 * the base name that name(rank) makes; nothing of it is made yet. */
typedef void group_name(int32_t rank, char name[48]);
status groups_find(comm *c, mem *m, target *t, const char *dir, group_name *name, groups *g,
		   err *e);

/* groups_has - is the rank of this number, if there is one, of the same group as this rank? */
static inline bool groups_has(const comm *c, const groups *g, int64_t rank)
{
	return rank >= 0 && rank < c->size && g->of[rank] == g->own;
}

void groups_free(mem *m, groups *g);

#endif
