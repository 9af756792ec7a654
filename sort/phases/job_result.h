/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The results of all ranks, or of this rank if the ranks can no longer agree. */
#ifndef HETSORT_PHASES_JOB_RESULT_H
#define HETSORT_PHASES_JOB_RESULT_H

#include "comm/monitor.h"
#include "job.h"

/* job_result_collect - collective: collect the results of all ranks at rank 0. Without memory for
 * them, report a failure as rank 0 knows it, and no ranks after a success. job_result_own - report
 * only what this rank knows, because the ranks can no longer agree; return its status. */
void job_result_collect(job *j, status rc, job_result *res);
status job_result_own(job *j, status rc, job_result *res);

/* The result of a job that ends on rank 0 without the others, for the report. job_result_keep - on
 * rank 0, before each step: keep what is known; NULL: the job has ended. job_result_kept - on any
 * thread of this process: fill res with what was kept, as of now. It has no ranks if the job has
 * not begun. job_result_widen - add ranks that are not in res, on rank 0: what the monitor knows of
 * them, without any message. look: monitor_look or monitor_look_locked. A rank that made no
 * progress for most of timeout_s, and did not wait, has failed. Return whether there is one.
 * Without memory, res stays as it is. */
void job_result_keep(job *j);
void job_result_kept(job_result *res);
bool job_result_widen(job_result *res, int (*look)(monitor_take *take, void *to), double timeout_s);

#endif
