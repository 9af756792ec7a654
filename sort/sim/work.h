/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the work of a rank takes, in simulated time: at the places where the sorter calls its
 * kernels and moves records from and to disks. */
#ifndef HETSORT_SIM_WORK_H
#define HETSORT_SIM_WORK_H

#include "platform.h"

/* work_open - the rates of a processor of speed 1. */
void work_open(const sim_rates *r);

/* work_calibrate - the rates of one processor of this machine, measured for `seconds`. */
status work_calibrate(double seconds, sim_rates *r, err *e);

#endif
