/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How much memory one rank may use: what the user allows or, of what the system leaves, a part that
 * is safe. Reads files of /proc and /sys, changes and keeps nothing; once a run. */
#ifndef HETSORT_BASE_MEMORY_LIMIT_H
#define HETSORT_BASE_MEMORY_LIMIT_H

#include "status.h"

#include <stdint.h>

enum {
	/* Without a wish, this part of what is left: other programs, the page cache, and what the
	 * network library takes, live from the rest. */
	LIMIT_PARTS = 3,
	LIMIT_OF_PARTS = 4,
	LIMIT_TEXT_BYTES = 400,
};

/* What the user wants all ranks of the node to use together: one of these, or none. */
typedef struct memory_wish {
	uint64_t bytes;        /* 0: not said so */
	uint32_t micropercent; /* millionths of a percent of the node's memory; 0: not said so */
} memory_wish;

/* memory_limit_parse - a size as size_parse takes it, above zero; or a percentage above 0 up to
 * 100%, with at most 6 decimals. ST_REFUSED tells why. */
status memory_limit_parse(const char *text, memory_wish *w, err *e);

typedef struct memory_limit_query {
	const char *root;                   /* before each path that is read: "" but in tests */
	memory_wish wish;                   /* all 0: none */
	unsigned node_ranks, process_ranks; /* on this node, in this process; at least 1 */
} memory_limit_query;

typedef struct memory_limit {
	uint64_t rank_bytes;         /* UINT64_MAX if nothing is known to limit; may be 0 */
	uint64_t most_bytes;         /* the same for the largest wish that counts */
	char text[LIMIT_TEXT_BYTES]; /* which limit decided, and how it comes to these bytes */
} memory_limit;

/* memory_limit_find - the smallest of: the wish; what is left in each control group of the process
 * (cgroup.h); of the machine's memory; of the process's RLIMIT_AS and RLIMIT_DATA. A wish is
 * taken as it is; without one, LIMIT_PARTS of LIMIT_OF_PARTS of the others. Divided by the ranks it
 * is for: a limit of the process by process_ranks, else by node_ranks. A percentage is one of the
 * smallest of the machine's memory and the limits of its control groups, in use or not; ST_REFUSED
 * if neither can be found. */
status memory_limit_find(const memory_limit_query *q, memory_limit *l, err *e);

#endif
