/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The memory that one rank may use: the amount that the user allows, or a safe part of what the
 * system leaves. And the processors that the control groups allow in a long job. These functions
 * only read files of /proc and /sys. A limit that is missing or cannot be understood does not
 * limit.
 */
#ifndef HETSORT_BASE_LIMIT_H
#define HETSORT_BASE_LIMIT_H

#include "status.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	/* Without --memory, the part of the free memory to use. The rest is for other programs, the
	 * page cache and the network library. */
	LIMIT_PARTS = 3,
	LIMIT_OF_PARTS = 4,
	LIMIT_TEXT_BYTES = 400,
};

/* The memory that the user allows to all ranks of the node together: one of these, or none. */
typedef struct memory_wish {
	uint64_t bytes;        /* 0: not given */
	uint32_t micropercent; /* millionths of a percent of the node's memory; 0: not given */
} memory_wish;

/* memory_limit_parse - read a size as size_parse takes it, above zero; or a percentage above 0 up
 * to 100%, with at most 6 decimals. ST_REFUSED gives the reason. */
status memory_limit_parse(const char *text, memory_wish *w, err *e);

typedef struct memory_limit_query {
	const char *root;                   /* before each path that is read; "" except in tests */
	memory_wish wish;                   /* all 0: none */
	unsigned node_ranks, process_ranks; /* on this node, in this process; at least 1 */
	bool wish_only; /* read no limit of the system, unless the wish is a part of it */
} memory_limit_query;

typedef struct memory_limit {
	uint64_t rank_bytes;         /* UINT64_MAX if no limit is known; may be 0 */
	uint64_t most_bytes;         /* the same for the largest wish that counts */
	char text[LIMIT_TEXT_BYTES]; /* which limit decided, and how it comes to these bytes */
} memory_limit;

/* memory_limit_find - find the smallest limit. The limits are the wish, and the free part of each
 * control group of the process, of the machine's memory, of RLIMIT_AS and of RLIMIT_DATA. A wish
 * counts in full. Without one, LIMIT_PARTS of LIMIT_OF_PARTS of the others count. Ranks share a
 * limit evenly: process_ranks a limit of the process, node_ranks any other. A percentage refers to
 * the smallest of the machine's memory and the limits of its control groups, in use or not. Return
 * ST_REFUSED if neither can be found. */
status memory_limit_find(const memory_limit_query *q, memory_limit *l, err *e);

/* The tightest quota of processor time, of the process's control group and those above it. A group
 * runs at full speed until its quota is used up, and then waits for the next period. So a short
 * measurement does not show the speed of a long job. */
typedef struct quota {
	double cpus;    /* for all in the group together; 0: no quota */
	uint64_t group; /* the same for all its processes on this machine */
} quota;

/* quota_find - find the quota of the machine below root ("" for this machine). */
quota quota_find(const char *root);

/* quota_processors - return how many of `all` processors each of `ranks` that share them has in a
 * long job. */
double quota_processors(const quota *q, double all, unsigned ranks);

#endif
