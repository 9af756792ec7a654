/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The memory that one rank may use: the amount that the user allows, or a safe part of the free
 * memory. Also the processors that control groups allow in a long job. These functions only read
 * files of /proc and /sys. A limit that is missing or cannot be parsed is ignored. */
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

/* The memory that the user allows to all ranks of the node together. At most one member is set. */
typedef struct memory_wish {
	uint64_t bytes;        /* 0: not given */
	uint32_t micropercent; /* millionths of a percent of the node's memory; 0: not given */
} memory_wish;

/* memory_limit_parse - read a size above zero, as size_parse does, or a percentage above 0 and up
 * to 100%, with at most 6 decimals. ST_REFUSED if the text is neither. */
status memory_limit_parse(const char *text, memory_wish *w, err *e);

typedef struct memory_limit_query {
	const char *root; /* prefix of each path that is read; "" except in tests */
	memory_wish wish; /* all 0: none */
	unsigned node_ranks, process_ranks; /* on this node, in this process; at least 1 */
	bool wish_only; /* read no limit of the system, unless the wish is a percentage */
} memory_limit_query;

typedef struct memory_limit {
	uint64_t rank_bytes;         /* UINT64_MAX if no limit is known; may be 0 */
	uint64_t most_bytes;         /* rank_bytes for the largest useful wish */
	char text[LIMIT_TEXT_BYTES]; /* the limit that decided, and how rank_bytes follows */
	/* Memory and swap space that is left for the rank and for its files on a file system in
	 * memory: more is never possible. UINT64_MAX if it is not known. The limits of processes
	 * and the wish do not count here. */
	uint64_t left_bytes;
	char left_text[LIMIT_TEXT_BYTES]; /* the limit that decided */
} memory_limit;

/* memory_limit_find - find the smallest limit. The limits are the wish and the free parts of the
 * machine's memory, of the control groups, of RLIMIT_AS and of RLIMIT_DATA. Without a wish, only
 * LIMIT_PARTS / LIMIT_OF_PARTS of each free part counts. Ranks share a limit evenly: process_ranks
 * ranks the limits of the process, node_ranks ranks all others. A percentage refers to the
 * machine's memory or a lower limit of a control group, and includes memory in use. ST_REFUSED if
 * the wish is a percentage and no such amount is known. */
status memory_limit_find(const memory_limit_query *q, memory_limit *l, err *e);

/* The tightest quota of processor time, among the process's control group and the groups above it.
 * A group runs at full speed until its quota is used up, and then waits for the next period. So a
 * short measurement does not show the speed of a long job. */
typedef struct quota {
	double cpus;     /* for all processes of the group together; 0: no quota */
	uint64_t group;  /* identifies the group on this machine */
	double period_s; /* the quota is refilled after this time */
} quota;

/* quota_find - find the quota of the machine below root ("" for this machine). */
quota quota_find(const char *root);

/* quota_processors - return the number of processors that each of `ranks` ranks has in a long job,
 * if they share `all` processors within this quota. */
double quota_processors(const quota *q, double all, unsigned ranks);

#endif
