/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the times of many short laps to the speed of a long run. */
#ifndef HETSORT_ESTIMATE_H
#define HETSORT_ESTIMATE_H

#include <stddef.h>

/* The work of a calibration, done in turn again and again. */
typedef enum kernel { KERNEL_SORT, KERNEL_MERGE, KERNEL_COPY, KERNELS } kernel;

/* estimate_laps - seconds that one run of each kernel takes, stalls included.
 * at   n + 1 times: lap i, of kernel i % KERNELS, went from at[i] to at[i + 1]. Never falling.
 * n    a multiple of KERNELS, at least one of each.
 * lap  receives the seconds, 0 for all where no time passed.
 * A processor that is ours only part of the time (a quota, other processes) runs some laps at full
 * speed and lets others wait. The medians say how the kernels compare; how much of the time is ours
 * is the slope of the work done over time, fitted by least squares to the whole curve: where in a
 * period of stalls the first and the last lap fall then hardly counts. */
void estimate_laps(const double *at, size_t n, double lap[KERNELS]);

#endif
