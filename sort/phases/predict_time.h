/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Part of the third phase: how long this rank will take. */
#ifndef HETSORT_PHASES_PREDICT_TIME_H
#define HETSORT_PHASES_PREDICT_TIME_H

#include "values.h"

/* predict_time - run_dir: where runs go, if it spills. Adds to what the plan has noted of it. The
 * budget is made. Looks whether the input is in memory; where speeds are measured, and there is
 * much to write, it tries the disk. */
void predict_time(rank_env *env, const settled *k, const char *run_dir);

#endif
