/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The report of a simulation, as text and as JSON, and a platform for SimGrid. */
#ifndef HETSORT_SIM_SIM_REPORT_H
#define HETSORT_SIM_SIM_REPORT_H

#include "model/rank_result.h"
#include "platform.h"

#include <stdio.h>

/* What is reported: the result of the sort, from its ranks. */
typedef struct sim_outcome {
	double scale;
	int hosts; /* not 0: with what each host has used */
	int status;
	bool planned; /* only, with --explain */
	bool known;   /* the members below: the sort ended well */
	uint64_t records;
	double phase_s[PHASES]; /* of the rank that took longest for it */
	double wait_s;          /* at borders, of the rank that waited longest */
	uint64_t mem_bytes;     /* of the rank that held most */
} sim_outcome;

/* sim_report_take - from what rank 0 has collected. */
void sim_report_take(sim_outcome *o, const job_result *res);

/* sim_report_write - a sentence and tables. Equal simulations have equal reports. A job that was
 * refused has a sentence only, one that failed has no tables. */
void sim_report_write(FILE *f, const sim_outcome *o);

/* sim_report_json - the same as one JSON object. ST_RESOURCE: no memory, or f cannot be written. */
status sim_report_json(FILE *f, const sim_outcome *o);

/* sim_report_xml - a platform as SimGrid reads it: hosts h0, h1, ..., each with a link to one
 * switch. ST_REFUSED if something changes during the simulation. */
status sim_report_xml(FILE *f, const platform *p, err *e);

#endif
