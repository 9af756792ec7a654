/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The report of a simulation, as text. */
#ifndef HETSORT_SIM_SIM_REPORT_H
#define HETSORT_SIM_SIM_REPORT_H

#include "model/rank_result.h"
#include "platform.h"

#include <stdio.h>

/* What the sort told of itself. */
typedef struct sim_outcome {
	int status;
	uint64_t records;
	double phase_s[PHASES]; /* of the rank that took longest for it */
	double wait_s;          /* at borders, of the rank that waited longest */
	uint64_t mem_bytes;     /* of the rank that held most */
} sim_outcome;

/* sim_report_take - from what rank 0 has collected. */
void sim_report_take(sim_outcome *o, const job_result *res);

/* sim_report_write - the same text for the same simulation. hosts: with a line for each. */
void sim_report_write(FILE *f, const platform *p, double scale, const sim_outcome *o, bool hosts);

#endif
