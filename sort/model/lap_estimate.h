/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From many short laps to the speed of a long run. */
#ifndef HETSORT_MODEL_LAP_ESTIMATE_H
#define HETSORT_MODEL_LAP_ESTIMATE_H

#include <stddef.h>

/* The work of a calibration, done in turn again and again. */
typedef enum kernel { KERNEL_SORT, KERNEL_MERGE, KERNEL_COPY, KERNELS } kernel;

/* lap_estimate - seconds that one run of each kernel takes, stalls included.
 * at, cpu   n + 1 moments, and the processor time that the thread had until then: lap i, of kernel
 *           i % KERNELS, went from at[i] to at[i + 1]. Neither ever falls.
 * n         a multiple of KERNELS, at least one of each.
 * lap       receives the seconds, 0 for all where no time passed.
 * Returns which part of the time the processor was ours: about 1 at most, 0 where no time passed.
 * A processor that is ours only part of the time (a quota, other processes) runs some laps and lets
 * others wait. Processor time says how long kernels take without that; how much of the time is ours
 * is its slope over time, fitted by least squares to the whole curve: where in a period of stalls
 * the first and the last lap fall then hardly counts. */
double lap_estimate(const double *at, const double *cpu, size_t n, double lap[KERNELS]);

#endif
