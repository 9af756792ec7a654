/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measure the speed of this rank on generated records. */
#ifndef HETSORT_MODEL_CALIBRATE_H
#define HETSORT_MODEL_CALIBRATE_H

#include "comm/rank_env.h"
#include "job_time.h"

typedef struct calibration calibration;

/* calibrate_open - allocate a sample for each thread: at most 1.5 MiB, unless records are long. All
 * samples together take at most most_bytes, but at least 100 kB each. streams: the number of
 * streams that a sample is merged from. The caller frees *out, also on failure. */
status calibrate_open(calibration **out, rank_env *env, unsigned threads, int streams,
		      uint64_t most_bytes);

/* A measurement of the speed. An error is the part of the speed by which it may be wrong. */
typedef struct calibrated {
	rates rate;         /* of all threads together; rate.cpus: the processors that they had */
	double lap_error;   /* because laps take different times */
	double share_error; /* because the threads have the processors now and then */
} calibrated;

/* calibrate_run - let each thread make its sample, then sort, merge and copy it until limit_s
 * seconds have passed, but at least once. All ranks call it at the same time, because they will
 * also sort at the same time. */
calibrated calibrate_run(calibration *c, double limit_s);

void calibrate_free(calibration *c);

/* The kinds of work of a calibration, which a thread repeats in turn. */
typedef enum kernel { KERNEL_SORT, KERNEL_MERGE, KERNEL_COPY, KERNEL_FILE, KERNELS } kernel;

/* The times of a thread's laps. Without any time all are 0, and the errors 1. */
typedef struct lap_times {
	double lap_s[KERNELS]; /* stalls included */
	double share;          /* the part of the time in which the thread had the processor */
	double lap_error, share_error; /* as in calibrated; of the program's kernels */
} lap_times;

/* calibrate_laps - find the seconds that one lap of each kernel takes.
 * at   n + 1 moments, which never decrease. Lap i runs kernel i % KERNELS from at[i] to at[i + 1].
 * cpu  the processor time of the thread until each moment.
 * n    the number of laps: a multiple of KERNELS, at least KERNELS.
 * Under a quota, or next to other processes, the thread has to wait during some laps. Processor
 * time does not include these stalls, so its slope over time is the share. The slope is fitted by
 * least squares: it hardly depends on where in a period of stalls the first lap begins and the last
 * one ends. Its error is half the range of the shares in three equal parts of the time. */
lap_times calibrate_laps(const double *at, const double *cpu, size_t n);

/* The processors of a rank while it was measured. */
typedef struct allowance {
	double got_cpus;   /* that all its threads had together */
	double quota_cpus; /* 0: no quota */
	uint64_t group;    /* equal for ranks that share a quota, and only for these */
	double wants_cpus; /* its threads: the processors that it would have without a quota */
	double error;      /* the part of its speed by which it may be wrong */
} allowance;

/* calibrate_slowdown - return the factor by which the work of rank i of p takes longer in a long
 * job than in the measurement. The measurement is shorter than the periods of many quotas. If the
 * ranks of a group want more processors than their quota, they divide the quota in proportion to
 * the processors that they had. Otherwise the factor is 1. It is always above zero and finite. */
double calibrate_slowdown(const allowance *a, size_t p, size_t i);

#endif
