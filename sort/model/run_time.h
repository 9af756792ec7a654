/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How long a rank's part of a sort will take: its work, and what its disk has to move meanwhile. */
#ifndef HETSORT_MODEL_RUN_TIME_H
#define HETSORT_MODEL_RUN_TIME_H

#include "comm/stages.h"
#include "rates.h"

/* What a rank has to do. */
typedef struct run_load {
	uint64_t in, out; /* records that it reads, and writes */
	size_t ranks;
	double cpus;         /* that share the work, where the rates are those of one */
	bool cold;           /* the input is on the disk, not in memory */
	bool spills;         /* runs, all of which go to disk but for the part `held` */
	bool durable;        /* the output has to reach the disk before the end */
	double disk_s;       /* to move a byte from or to the disk; 0: as on a nominal one */
	unsigned disk_ranks; /* that share a nominal disk */
	double fresh_bytes;  /* of memory, used for the first time, beside what the input takes */
	double lookup_bytes; /* of runs on disk, read one after the other to find where they are cut
			      */
	bool spreads;        /* it sends what it reads, and sorts what comes in runs that spill */
	double held;
	double far; /* part of all records that other hosts have, 0 to 1 */
} run_load;

/* How long it takes, in the order in which it is done. */
typedef struct run_parts {
	stage_plan read;    /* until all is read, and sorted in runs */
	stage_plan split;   /* to find where others' records begin */
	stage_plan receive; /* and send what is sorted when all of it is there; else 0 */
	stage_plan sort;    /* to sort that; else 0 */
	stage_plan write;   /* all else */
} run_parts;

run_parts run_time_parts(const rates *r, const settings *o, const run_load *l);

/* run_time_s - seconds until the rank has written what it is to write, the sum of these; it waits
 * for no other. run_time_reread_s - beside it, to read the output again. */
double run_time_s(const rates *r, const settings *o, const run_load *l);
double run_time_reread_s(const rates *r, const settings *o, const run_load *l);

#endif
