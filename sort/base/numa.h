/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The NUMA nodes of a rank, and the binding of its threads to them. Memory lies on the node of the
 * thread that touches it first, so a thread that stays on this node has it near. Ranks that may use
 * the same processors divide the nodes among them, each in proportion to its processors. A thread
 * is never bound to a part of the usable processors of a node, nor to a processor that it may not
 * use.
 */
#ifndef HETSORT_BASE_NUMA_H
#define HETSORT_BASE_NUMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum numa_binding {
	NUMA_UNBOUND,
	NUMA_RANK,    /* the rank runs on some of the nodes that it may use */
	NUMA_THREADS, /* and each of its workers runs on one of these nodes */
	NUMA_BINDINGS
} numa_binding;

enum { NUMA_TEXT_BYTES = 64 };

/* Where a rank runs. */
typedef struct numa_place {
	char nodes[NUMA_TEXT_BYTES]; /* "0-1"; "" if the system names none */
	numa_binding binding;
} numa_place;

typedef struct numa numa;

/* numa_open - find the nodes of the processors that the calling thread may use. One file of the
 * system shows a machine of one node; other machines need hwloc, which takes some milliseconds.
 * With `to_explain`, hwloc may also describe another machine. Return NULL without memory. */
numa *numa_open(bool to_explain);
void numa_close(numa *n);

/* numa_plan - find where rank `rank`, of `ranks` that share these processors, runs with `threads`
 * workers. The rank stays unbound unless `bind`, or if n is NULL. */
numa_place numa_plan(numa *n, unsigned ranks, unsigned rank, unsigned threads, bool bind);

/* numa_bind - bind the calling thread by the last plan, and the workers that it starts by pool_run
 * until numa_close. Return false, with nothing bound, if the system refuses. */
bool numa_bind(numa *n);

/* A node with processors that the rank may use. */
typedef struct numa_node {
	struct hwloc_bitmap_s *set; /* these processors */
	uint32_t number, cpus;      /* of the node; of these processors */
	uint64_t weight;            /* the part for the rank, in units of 1/ranks processors */
	int64_t credit;             /* for numa_turns */
} numa_node;

/* numa_weights - find the weight of each node. The weights add up to sum(cpus). */
void numa_weights(numa_node *node, size_t nodes, unsigned ranks, unsigned rank);

/* numa_turns - find the node of each worker, in proportion to weights. Nodes take turns, so that
 * the first workers lie on different nodes, too. */
void numa_turns(numa_node *node, size_t nodes, unsigned workers, uint32_t *turn);

#endif
