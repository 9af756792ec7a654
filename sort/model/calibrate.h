/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measuring how fast this rank is: on records made for it, and while it reads and sorts. */
#ifndef HETSORT_MODEL_CALIBRATE_H
#define HETSORT_MODEL_CALIBRATE_H

#include "base/mem.h"
#include "job_time.h"

typedef struct calibration calibration;

/* calibrate_open - allocate the samples of some threads: at most 6 MiB each except for long
 * records, and most_bytes together, but at least 100 kB each. streams: of the merge. To be freed on
 * failure too. */
status calibrate_open(calibration **out, mem *m, const layout *l, unsigned threads, int streams,
		      uint64_t most_bytes, err *e);

/* calibrate_run - let each thread make its sample, and sort, merge and copy it for limit_s seconds,
 * or longer if a single round takes longer. Returns the rates of all threads together, and in
 * got_cpus how many processors they had. All ranks call it at the same time, as they will run. */
rates calibrate_run(calibration *c, double limit_s, double *got_cpus);

void calibrate_free(calibration *c);

/* The work of a calibration, done in turn again and again. */
typedef enum kernel { KERNEL_SORT, KERNEL_MERGE, KERNEL_COPY, KERNELS } kernel;

/* calibrate_laps - find the seconds that one run of each kernel takes, stalls included.
 * at, cpu   n + 1 moments, and the processor time that the thread had until then: lap i, of kernel
 *           i % KERNELS, went from at[i] to at[i + 1]. Neither ever falls.
 * n         a multiple of KERNELS, at least one of each.
 * lap       receives the seconds, 0 for all where no time passed.
 * Returns which part of the time the processor was ours: about 1 at most, 0 where no time passed.
 * A processor that is ours only part of the time (a quota, other processes) runs some laps and lets
 * others wait. Processor time says how long kernels take without that; how much of the time is ours
 * is its slope over time, fitted by least squares to the whole curve: where in a period of stalls
 * the first and the last lap fall then hardly counts. */
double calibrate_laps(const double *at, const double *cpu, size_t n, double lap[KERNELS]);

/* What a rank had of the processors while it was measured. */
typedef struct allowance {
	double got_cpus;   /* its threads together */
	double quota_cpus; /* 0: none */
	uint64_t group;    /* whose quota: the same for those, and only those, who share it */
	uint64_t waits;    /* in how many periods the group had to wait meanwhile */
} allowance;

/* calibrate_slowdown - return by how much rank i of p is slower in a long run than while all were
 * measured: where its group had to wait, or had more than its quota, that quota is what there is,
 * and its ranks get it in the parts that they had; else 1. Above zero and finite, whatever a holds.
 */
double calibrate_slowdown(const allowance *a, size_t p, size_t i);

enum { PACE_BINS = 256 };

/* Work by time, in bins of equal width. All zero: nothing was done yet. */
typedef struct speed_history {
	double read_s, sort_s; /* what a record counts for that is read, and that is sorted */
	double bin_s;          /* wide; it doubles when time runs past the last bin */
	double end_s;          /* of the latest work */
	double work[PACE_BINS];
} speed_history;

/* speed_history_add - add work done evenly between two moments, in seconds since the beginning; in
 * any order, also at the same time as other work. p NULL: not wanted. */
void speed_history_add(speed_history *p, double from_s, double to_s, double work);

/* speed_history_last_s - return how long the last part of all work took, part in (0, 1]: exact but
 * for what a bin hides. 0: there was no work. */
double speed_history_last_s(const speed_history *p, double part);

#endif
