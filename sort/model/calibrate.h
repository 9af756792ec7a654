/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measuring how fast this rank is, on records made for it. */
#ifndef HETSORT_MODEL_CALIBRATE_H
#define HETSORT_MODEL_CALIBRATE_H

#include "base/mem.h"
#include "job_time.h"

typedef struct calibration calibration;

/* calibrate_open - memory for the samples of so many threads, at most 6 MiB each but for long
 * records, and most_bytes together, but for 100 kB each. streams: how many the merge will have. To
 * be freed on failure too. */
status calibrate_open(calibration **out, mem *m, const layout *l, unsigned threads, int streams,
		      uint64_t most_bytes, err *e);

/* calibrate_run - each thread makes its sample, and sorts, merges and copies it for limit_s
 * seconds, and longer where a single round takes longer. Returns the rates of all threads
 * together, and in got_cpus how many processors they had. All ranks do so at the same time, because
 * that is how they will run. */
rates calibrate_run(calibration *c, double limit_s, double *got_cpus);

void calibrate_free(calibration *c);

#endif
