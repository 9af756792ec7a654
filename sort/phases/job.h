/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A whole sort, seen from outside. */
#ifndef HETSORT_PHASES_JOB_H
#define HETSORT_PHASES_JOB_H

#include "model/rank_result.h"

/* How the whole job ended, at rank 0. */
typedef struct job_result {
	status status;
	uint64_t records;
	double total_s, all_read_s; /* since the beginning; 0: not all had read and sorted */
	checksum sum;
	int size;
	const char *comm_kind;
	char note[ERR_TEXT_BYTES]; /* "", or what is worth telling beside the ranks' errors */
	rank_result *rank;         /* size entries, NULL if there was no memory; caller frees */
} job_result;

/* job_run - sort as told; collective. res is filled on rank 0 and ignored elsewhere. Prints
 * nothing. Returns the status that all ranks agreed on. */
status job_run(comm *c, const settings *o, job_result *res);

#endif
