/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measuring how fast this rank is, on records made for it. */
#ifndef HETSORT_CALIBRATE_H
#define HETSORT_CALIBRATE_H

#include "mem.h"
#include "rates.h"

typedef struct calibration calibration;

/* calibrate_open - make and sort sample records (2 MiB at most, but for long records), and touch
 * all memory: about 7 MiB. streams: how many the merge will have. */
status calibrate_open(calibration **out, mem *m, const layout *l, int streams, err *e);

/* calibrate_run - sort, merge and copy the sample for limit_s seconds, and longer where a single
 * round takes longer. All ranks do so at the same time, because that is how they will run. */
rates calibrate_run(calibration *c, double limit_s);

void calibrate_free(calibration *c);

#endif
