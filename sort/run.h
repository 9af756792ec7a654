/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A whole sort, seen from outside. */
#ifndef HETSORT_RUN_H
#define HETSORT_RUN_H

#include "model/rank_result.h"

/* job_run - sort; collective. res is filled on rank 0 and ignored elsewhere. Prints
 * nothing. Returns the status that all ranks agreed on. */
status job_run(comm *c, const settings *o, job_result *res);

#endif
