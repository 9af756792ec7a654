/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The one model of a job's time: the seconds of each stage of a rank, from its load and its rates.
 * The shares, --explain, the time left, the report and --adapt take their seconds from here, so
 * they agree. Pure: no clock, no memory, no message. */
#ifndef HETSORT_MODEL_JOB_TIME_H
#define HETSORT_MODEL_JOB_TIME_H

#include "base/settings.h"
#include "base/progress.h"

/* Seconds for the pieces of work that a sort consists of, and for bytes. */
typedef struct rates {
	double sort_s;  /* per record and unit of ln n: to make and sort its entry */
	double merge_s; /* per byte: to gather and merge it */
	double copy_s;  /* per byte: to read or write it, with its checksum */
	double link_s;  /* per byte: to send it while another is received; 0: not known */
	double disk_s;  /* per byte: to move it from or to the disk; 0: not known */
} rates;

/* rates_scale - let the work in memory take `times` as long. */
void rates_scale(rates *r, double times);

/* rates_join - add the rates of a thread or rank that works at the same time. *all is zero before
 * the first one. */
void rates_join(rates *all, const rates *r);

/* job_time_nominal - return the rates of a rank of this speed, with its files in memory. */
rates job_time_nominal(double speed);

/* job_time_byte_s - return the seconds of a byte at a rate in MB/s. */
double job_time_byte_s(double mb_per_s);

/* The work of a rank, and the resources that it has for it. */
typedef struct job_load {
	uint64_t in, out;      /* records that it reads and writes */
	size_t ranks;          /* of the job */
	double cpus;           /* that share the work, if the rates are of one */
	bool cold;             /* the input is on the disk, not in memory */
	bool spills;           /* runs go to disk, except for the part `held` */
	bool durable;          /* the output must reach the disk before the end */
	double disk_s;         /* to move a byte from or to the disk; 0: as on a nominal one */
	unsigned disk_ranks;   /* that share a nominal disk */
	double fresh_bytes;    /* memory used for the first time, without the records read */
	double lookup_bytes;   /* of runs on disk, read one by one to find where they are cut */
	bool spreads;          /* sends records when read; sorts received ones, which spill */
	double held;           /* part of the records of runs that stays in memory, 0 to 1 */
	double far;            /* part of all records that other hosts have, 0 to 1 */
	bool rereads;          /* reads the output again to verify it */
	bool sends_separately; /* count the link for records received, not for those sent */
} job_load;

/* Seconds of each stage, in the order of the stages, and their sum. The rank waits for no other. */
typedef struct job_time {
	stage_plan stage[STAGES];
	double total_s;
} job_time;

job_time job_time_of(const rates *r, const settings *o, const job_load *l);

/* job_time_equal_s - return the predicted seconds of a rank that reads and writes n records, one of
 * p ranks on hosts of their own. cpus processors share the work, if the rates are of one. */
double job_time_equal_s(const rates *r, const settings *o, uint64_t n, size_t p, double cpus);

/* The resource that is busy for longest. */
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

/* job_time_sorts_reading - return whether records in memory are sorted while they are read, by this
 * strategy; else after the exchange. */
bool job_time_sorts_reading(const settings *o);

/* The next three functions return the seconds of a part of the work in memory, for one processor.
 * They compare ranks with each other and with measured times. */

/* job_time_before_s - return the seconds for n records until all are read. */
double job_time_before_s(const rates *r, const settings *o, uint64_t n);

/* job_time_after_s - return the seconds to write n records, after the exchange. */
double job_time_after_s(const rates *r, const settings *o, uint64_t n);

/* job_time_send_s - return the seconds to gather and hand over the records that leave a rank after
 * it has read n, if all of p ranks write the same share. */
double job_time_send_s(const rates *r, const settings *o, uint64_t n, size_t p);

/* job_time_link_s - return the seconds of the link for n records, sent or received, if 1 / p of
 * them stay. 0 if its rate is not known. */
double job_time_link_s(const rates *r, const settings *o, uint64_t n, size_t p);

/* job_time_disk_s - return the seconds of the disk. 0 if its rate is not known. */
double job_time_disk_s(const rates *r, const settings *o, uint64_t n);

#endif
