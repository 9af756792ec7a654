/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ranks that a rank exchanges blocks with, itself among them: all, or those of a list. A peer
 * is known by its place among them. Of two ranks each is a peer of the other, or neither is. */
#ifndef HETSORT_COMM_PEERS_H
#define HETSORT_COMM_PEERS_H

#include "comm.h"

typedef struct peer_list {
	const int *rank; /* [count] ascending; NULL: all ranks */
	int count;
	int own; /* the place of this rank */
} peer_list;

static inline peer_list peers_all(const comm *c)
{
	return (peer_list){ NULL, c->size, c->rank };
}

static inline int peers_rank(const peer_list *p, int place)
{
	return p->rank ? p->rank[place] : place;
}

#endif
