/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The results of all ranks, or of this rank if the ranks can no longer agree. */
#ifndef HETSORT_PHASES_JOB_RESULT_H
#define HETSORT_PHASES_JOB_RESULT_H

#include "job.h"

/* job_result_collect - collective: collect the results of all ranks at rank 0. Without memory for
 * them, report a failure as rank 0 knows it, and no ranks after a success. job_result_own - report
 * only what this rank knows, because the ranks can no longer agree; return its status. */
void job_result_collect(job *j, status rc, job_result *res);
status job_result_own(job *j, status rc, job_result *res);

#endif
