/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A whole sort. */
#ifndef HETSORT_JOB_H
#define HETSORT_JOB_H

#include "model/rank_result.h"

/* job_execute - collective: sort. res is filled in on rank 0, and on other ranks only if the comm
 * is broken. Prints nothing. Return the status that all ranks agreed on. */
status job_execute(comm *c, const settings *o, job_result *res);

#endif
