/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The one model of a job's time: the seconds of each stage of a rank, from its load and its rates.
 * The shares, --explain, the time left, the report and --adapt all use this model, so they agree.
 * Pure: it reads no clock, allocates no memory and sends no message. */
#ifndef HETSORT_MODEL_JOB_TIME_H
#define HETSORT_MODEL_JOB_TIME_H

#include "base/settings.h"
#include "base/progress.h"

/* The seconds that each kind of work takes on a rank. */
typedef struct rates {
	double cpus;    /* the processors that do the work in memory together; 0: one */
	double sort_s;  /* per record and unit of ln n: to make and sort the record's entry */
	double merge_s; /* per byte: to gather and merge records */
	double copy_s;  /* per byte: to read or write records, with the checksum */
	double link_s;  /* per byte: to send while another byte is received; 0: not known */
	double disk_s;  /* per byte moved from or to the disk; 0: not known */
	double input_s; /* per byte read from the input's disk; 0: the input is in memory */
} rates;

/* rates_scale - multiply the seconds of the work in memory by `times`, as if there were fewer
 * processors. */
void rates_scale(rates *r, double times);

/* rates_join - add a thread or rank that works at the same time: set *all to the rates of both
 * together. *all is zero before the first call. */
void rates_join(rates *all, const rates *r);

/* rates_copy_work - copy the seconds of the work in memory. */
void rates_copy_work(rates *to, const rates *from);

/* job_time_nominal - return the nominal rates of a rank of this speed, with its files in memory. */
rates job_time_nominal(double speed);

/* job_time_nominal_disk_s - return the seconds per byte of a nominal disk that n ranks share. */
double job_time_nominal_disk_s(double n);

/* job_time_byte_s - return the seconds per byte of a rate in MB/s. */
double job_time_byte_s(double mb_per_s);

/* The work of a rank, and the resources of the rank for this work. */
typedef struct job_load {
	uint64_t in, out;      /* records that it reads and writes */
	size_t ranks;          /* of the job */
	double cpus;           /* the rates are of one of `cpus` equal parts of the rank */
	bool cold;             /* the input is on the disk, not in memory */
	bool spills;           /* runs go to disk, except for the part `held` */
	bool durable;          /* the output must reach the disk before the end */
	double disk_s;         /* per byte moved from or to the disk; 0: a nominal disk */
	double disk_ranks;     /* ranks that share a nominal disk */
	double fresh_bytes;    /* memory used for the first time, except for the input records */
	double lookup_bytes;   /* read from runs on disk by the search for splitters */
	double lanes;          /* of the exchange; 0: one for two processors */
	double held;           /* the part of the records that stays in memory, 0 to 1 */
	double far;            /* the part of all ranks that other hosts have, 0 to 1 */
	bool rereads;          /* reads the output again to verify it */
	bool in_place;         /* records stay in the page cache until they are gathered */
	bool sends_separately; /* for the link, count received records, not sent ones */
} job_load;

/* The seconds of each stage, and their sum. */
typedef struct job_time {
	stage_plan stage[STAGES];
	double total_s;
} job_time;

/* job_time_of - predict the seconds of a rank that never waits for other ranks. */
job_time job_time_of(const rates *r, const settings *o, const job_load *l);

/* job_time_equal_s - predict the seconds of a rank that reads and writes n records, as one of p
 * ranks on p hosts. cpus: as in job_load. */
double job_time_equal_s(const rates *r, const settings *o, uint64_t n, size_t p, double cpus);

/* The resource of a rank that is busy for the longest time. */
typedef enum bottleneck {
	BOUND_BY_PROCESSOR,
	BOUND_BY_LINK,
	BOUND_BY_DISK,
	BOTTLENECKS
} bottleneck;

/* job_time_bound_by - find the bottleneck of a rank with this load. */
bottleneck job_time_bound_by(const rates *r, const settings *o, const job_load *l);

/* job_time_bound_name - return the name of a bottleneck, one word. */
const char *job_time_bound_name(bottleneck b);

/* The next three functions predict the seconds that processors with these rates need for a part of
 * the work in memory. The results are compared between ranks, and with measured times. */

/* job_time_before_s - return the seconds to read n records, and to sort them if the strategy sorts
 * before the exchange. */
double job_time_before_s(const rates *r, const settings *o, uint64_t n);

/* job_time_after_s - return the seconds to merge and write n records, and to sort them if the
 * strategy sorts after the exchange. */
double job_time_after_s(const rates *r, const settings *o, uint64_t n);

/* job_time_send_s - return the seconds to gather and send the records that leave a rank which has
 * read n records, if all p ranks write equal shares. */
double job_time_send_s(const rates *r, const settings *o, uint64_t n, size_t p);

/* job_time_link_s - return the seconds that the link needs for n records, sent or received, if one
 * p-th of them stays on the rank. 0 if the rate of the link is not known. */
double job_time_link_s(const rates *r, const settings *o, uint64_t n, size_t p);

/* job_time_disk_s - return the seconds of the disk for n records. 0 if its rate is not known. */
double job_time_disk_s(const rates *r, const settings *o, uint64_t n);

#endif
