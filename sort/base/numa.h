/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The NUMA nodes that a rank runs on, and the binding of its threads to them: memory lies on the
 * node of the thread that touches it first, so a thread that stays there finds it near. Ranks that
 * may use the same processors divide their nodes by the processors that each rank is to have. Never
 * binds to less than what a node has of these, nor to a processor that the thread may not use. */
#ifndef HETSORT_BASE_NUMA_H
#define HETSORT_BASE_NUMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum numa_binding {
	NUMA_UNBOUND,
	NUMA_RANK,    /* the rank runs on some of the nodes that it may use */
	NUMA_THREADS, /* and each of its workers on one of these */
	NUMA_BINDINGS
} numa_binding;

enum { NUMA_TEXT_BYTES = 64 };

/* What becomes of a rank. */
typedef struct numa_place {
	char nodes[NUMA_TEXT_BYTES]; /* "0-1"; "" where the system does not tell */
	numa_binding binding;
} numa_place;

typedef struct numa numa;

/* numa_open - look at the machine, as far as the calling thread may use its processors. A machine
 * of one node is known by one file of the system; others take hwloc, and some milliseconds. With
 * `to_explain` also a machine that hwloc is told of, instead of this one. NULL: not enough memory.
 */
numa *numa_open(bool to_explain);
void numa_close(numa *n);

/* numa_plan - where rank `rank` of `ranks` that share these processors runs with `threads` workers;
 * not bound unless `bind`. All if n is NULL. */
numa_place numa_plan(numa *n, unsigned ranks, unsigned rank, unsigned threads, bool bind);

/* numa_bind - the calling thread, and the workers that it starts by pool_run from now on until
 * numa_close, as they were planned last; false, and nothing is bound, if the system refuses. */
bool numa_bind(numa *n);

/* numa_weights - how much of each node, of so many processors, is for the rank: in all
 * sum(cpus) / ranks processors, in units of 1/ranks. */
void numa_weights(const uint32_t *cpus, size_t nodes, unsigned ranks, unsigned rank,
		  uint64_t *weight);

/* numa_turns - the node of each worker: as many of each as its weight says, in turn, so that the
 * first of them lie on different nodes as well. `credit` is room for a number a node. */
void numa_turns(const uint64_t *weight, size_t nodes, unsigned workers, int64_t *credit,
		uint32_t *node);

#endif
