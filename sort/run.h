/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A whole sort. */
#ifndef HETSORT_RUN_H
#define HETSORT_RUN_H

#include "model/rank_result.h"

/* job_run - collective: sort. res is filled in on rank 0 and ignored on the others. Prints nothing.
 * Return the status that all ranks agreed on. */
status job_run(comm *c, const settings *o, job_result *res);

#endif
