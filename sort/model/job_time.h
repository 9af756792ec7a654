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
	double copy_s;  /* per byte: to copy records, with the checksum, in a cache */
	double file_s;  /* per byte: the system's work to write a file */
	double link_s;  /* per byte: to send while another byte is received; 0: never the slowest */
	double disk_s;  /* per byte moved from or to the output's disk; 0: files in memory */
	double input_s; /* per byte read from the input's disk; 0: the input is in memory */
} rates;

/* Costs of a byte relative to writing it to a file, on the same machine: all of them are the work
 * of the system and of memory. */
typedef struct cost_ratios {
	double read;  /* the system's work to read a file, which includes clearing memory */
	double net;   /* to send or receive by TCP */
	double fresh; /* to clear memory before its first use */
	double far;   /* to wait for memory, because other rates are measured in caches */
	double each;  /* not a cost: the records that a record stands for, 1 unless simulated */
} cost_ratios;

/* The part of ln n that puts a key into a bucket, in units of sort_s. It is ln 256. */
#define JOB_TIME_PASS_LN 5.545

/* cost_ratios_find - return the ratios of this machine. They are not measured, because they differ
 * little between machines. */
const cost_ratios *cost_ratios_find(void);

/* rates_scale - multiply the seconds of the work in memory by `times`, as if there were fewer
 * processors. */
void rates_scale(rates *r, double times);

/* rates_join - add a thread or rank that works at the same time: set *all to the rates of both
 * together. *all is zero before the first call. */
void rates_join(rates *all, const rates *r);

/* rates_copy_work - copy the seconds of the work in memory. */
void rates_copy_work(rates *to, const rates *from);

/* job_time_nominal - return the nominal rates of a rank that has `cpus` processors of this speed,
 * with its files in memory and a link that is never the slowest. */
rates job_time_nominal(double speed, double cpus);

/* Nominal rates of a disk, and of a link of 10 Gbit/s, in MB/s. */
enum { NOMINAL_DISK_MB = 1250, NOMINAL_LINK_MB = 1250 };

/* job_time_byte_s - return the seconds per byte of a rate in MB/s. */
double job_time_byte_s(double mb_per_s);

/* The work of a rank, and what it needs in addition to its rates. */
typedef struct job_load {
	uint64_t in, out;    /* records that it reads and writes */
	uint64_t all;        /* records of all ranks; 0: the ranks have equal shares */
	uint64_t own_out;    /* records that it is taken to write when it sends; 0: out */
	size_t ranks;        /* of the job */
	bool spills;         /* runs go to disk, except for the part `held` */
	double buffer_bytes; /* of the output, which the system keeps and the job does not wait for
			      */
	double fresh_bytes;  /* memory used for the first time, except for the input records */
	double lookup_bytes; /* read from runs on disk by the search for splitters */
	double lanes;        /* of the exchange; 0: the usual number */
	double held;         /* the part of the records that stays in memory, 0 to 1 */
	double far;          /* the part of the other ranks that are on other hosts, 0 to 1 */
	bool rereads;        /* reads the output again to verify it */
	bool in_place;       /* records stay in the page cache until they are gathered */
} job_load;

/* The seconds of each stage, and their sum. */
typedef struct job_time {
	stage_plan stage[STAGES];
	double total_s;
} job_time;

/* job_time_of - predict the seconds of a rank that never waits for other ranks. */
job_time job_time_of(const rates *r, const settings *o, const job_load *l);

/* job_time_equal_s - predict the seconds of a rank that reads and writes n records, as one of p
 * ranks on p hosts. */
double job_time_equal_s(const rates *r, const settings *o, uint64_t n, size_t p);

/* job_time_thread_s - return the seconds of the busiest kind of thread of an exchange of sorted
 * records, on one processor. Divided among lanes, it must not delay the stage. */
double job_time_thread_s(const rates *r, const settings *o, const job_load *l);

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

/* The next two functions predict the seconds that processors with these rates need for a part of
 * the work in memory. The results are compared between ranks, and with measured times. */

/* job_time_before_s - return the seconds to read n records, and to sort them if the strategy sorts
 * before the exchange. */
double job_time_before_s(const rates *r, const settings *o, uint64_t n);

/* job_time_after_s - return the seconds to merge and write n records, and to sort them if the
 * strategy sorts after the exchange. */
double job_time_after_s(const rates *r, const settings *o, uint64_t n);

/* job_time_link_s - return the seconds that the link needs for the records sent or received. */
double job_time_link_s(const rates *r, const settings *o, const job_load *l);

#endif
