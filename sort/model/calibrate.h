/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measure the speed of this rank, on made-up records and while it reads and sorts. */
#ifndef HETSORT_MODEL_CALIBRATE_H
#define HETSORT_MODEL_CALIBRATE_H

#include "comm/rank_env.h"
#include "job_time.h"

typedef struct calibration calibration;

/* calibrate_open - allocate a sample for each thread: at most 6 MiB except for long records, and
 * most_bytes for all threads, but at least 100 kB each. The merge has this number of streams. The
 * caller frees *out, also on failure. */
status calibrate_open(calibration **out, rank_env *env, unsigned threads, int streams,
		      uint64_t most_bytes);

/* calibrate_run - let each thread make its sample, then sort, merge and copy it until limit_s
 * seconds have passed, but at least once. Returns the rates of all threads together, and in
 * got_cpus the number of processors that they had. All ranks call it at the same time, because
 * they will also sort at the same time. */
rates calibrate_run(calibration *c, double limit_s, double *got_cpus);

void calibrate_free(calibration *c);

/* The work of a calibration, done in turn again and again. */
typedef enum kernel { KERNEL_SORT, KERNEL_MERGE, KERNEL_COPY, KERNELS } kernel;

/* calibrate_laps - find the seconds that one lap of each kernel takes, stalls included.
 * at, cpu   n + 1 moments, and the processor time of the thread until then. Lap i is of kernel
 *           i % KERNELS and lasts from at[i] to at[i + 1]. Neither ever falls.
 * n         a multiple of KERNELS, at least one of each.
 * lap       receives the seconds, 0 for all if no time passed.
 * Returns the part of the time in which the processor was ours: about 1 at most, 0 if no time
 * passed. Under a quota, or next to other processes, some laps run and others wait. Processor time
 * does not include such stalls. The slope of processor time over time is our part of the
 * processor. It is fitted by least squares, so it hardly depends on the time in a period of
 * stalls at which the first lap begins and the last one ends. */
double calibrate_laps(const double *at, const double *cpu, size_t n, double lap[KERNELS]);

/* The processors of a rank while it was measured. */
typedef struct allowance {
	double got_cpus;   /* its threads together */
	double quota_cpus; /* 0: no quota */
	uint64_t group;    /* equal for ranks that share a quota, and only for these */
	double wants_cpus; /* its threads, which it would have without a quota */
} allowance;

/* calibrate_slowdown - return how many times slower rank i of p becomes in a long job. The
 * measurement is shorter than the periods of many quotas. If a group needs more than its quota,
 * its ranks divide the quota in proportion to the processors that they had. Else 1. The result is
 * above zero and finite, whatever a contains. */
double calibrate_slowdown(const allowance *a, size_t p, size_t i);

enum { PACE_BINS = 256 };

/* Work by time, in bins of equal width. All zero: no work yet. */
typedef struct speed_history {
	double read_s, sort_s; /* the work of a record that is read, and that is sorted */
	double bin_s;          /* width; it doubles when time runs past the last bin */
	double end_s;          /* of the latest work */
	double work[PACE_BINS];
} speed_history;

/* speed_history_add - add work done evenly between two moments, in seconds since the beginning.
 * Work may come in any order, also for the same time. p NULL: do nothing. */
void speed_history_add(speed_history *p, double from_s, double to_s, double work);

/* speed_history_last_s - return the seconds that the last part of all work took, part in (0, 1], as
 * exact as a bin. 0: there was no work. */
double speed_history_last_s(const speed_history *p, double part);

#endif
