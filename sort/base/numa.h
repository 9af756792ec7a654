/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The NUMA nodes of a rank, and the binding of its threads to them. Memory lies on the node of the
 * thread that touches it first, so a thread should stay on its node. Ranks that may use the same
 * processors divide the nodes among them, so that all get equally many processors. A thread is
 * bound to all usable processors of a node or of several nodes, and to no others. */
#ifndef HETSORT_BASE_NUMA_H
#define HETSORT_BASE_NUMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum numa_binding {
	NUMA_UNBOUND,
	NUMA_RANK,    /* the rank runs on some of the nodes that it may use */
	NUMA_THREADS, /* and also each of its workers runs on one node */
	NUMA_BINDINGS
} numa_binding;

enum { NUMA_TEXT_BYTES = 64 };

/* Where a rank runs. */
typedef struct numa_place {
	char nodes[NUMA_TEXT_BYTES]; /* such as "0-1"; "" if the system names none */
	numa_binding binding;
} numa_place;

typedef struct numa numa;

/* numa_open - find the nodes of the processors that the calling thread may use. If a file of the
 * system names only one node, this is fast. Otherwise hwloc is loaded, which takes some
 * milliseconds. With `to_explain`, hwloc may describe another machine than this one. Return NULL
 * without memory. */
numa *numa_open(bool to_explain);
void numa_close(numa *n);

/* numa_plan - find where rank `rank` runs with `threads` workers, if `ranks` ranks share these
 * processors. The rank stays unbound if `bind` is false or n is NULL. */
numa_place numa_plan(numa *n, unsigned ranks, unsigned rank, unsigned threads, bool bind);

/* numa_bind - bind the calling thread as the last numa_plan says, and also the workers that it
 * starts by pool_run before numa_close. If the system refuses, bind nothing and return false. */
bool numa_bind(numa *n);

/* A node with processors that the rank may use. */
typedef struct numa_node {
	struct hwloc_bitmap_s *set; /* the processors */
	uint32_t number, cpus;      /* number of the node; number of the processors */
	uint64_t weight;            /* processors for the rank, in units of 1/ranks */
	int64_t credit;             /* for numa_turns */
} numa_node;

/* numa_weights - set the weight of each node for this rank. The weights add up to sum(cpus). */
void numa_weights(numa_node *node, size_t nodes, unsigned ranks, unsigned rank);

/* numa_turns - set turn[w] to the node of worker w. Each node gets workers in proportion to its
 * weight. Nodes take turns, so that the first few workers are on different nodes too. */
void numa_turns(numa_node *node, size_t nodes, unsigned workers, uint32_t *turn);

#endif
