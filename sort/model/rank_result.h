/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The phases of a job, and the results that each rank reports to rank 0. */
#ifndef HETSORT_MODEL_RANK_RESULT_H
#define HETSORT_MODEL_RANK_RESULT_H

#include "base/progress.h"
#include "base/limit.h"
#include "base/numa.h"
#include "base/usage.h"
#include "comm/rank_env.h"
#include "kernel/inspect.h"
#include "job_time.h"

#include <stdlib.h>

typedef enum phase {
	PH_DESCRIBE,
	PH_PLAN,
	PH_READ,
	PH_SORT,
	PH_SAMPLE,
	PH_SPLIT,
	PH_EXCHANGE,
	PH_MERGE,
	PH_WRITE,
	PH_SYNC,
	PH_COMMIT,
	PHASES
} phase;

/* phase_name - return the name of a phase, one word. */
const char *phase_name(phase p);

/* phase_doing - return a verb for a phase, for messages: "reading". */
const char *phase_doing(phase p);

/* The result of --adapt; the same on all ranks. */
typedef enum adapt_state {
	ADAPT_OFF,
	ADAPT_KEPT,    /* the gain was too small */
	ADAPT_NO_ROOM, /* a rank has too little memory or disk for more records */
	ADAPT_CHANGED,
} adapt_state;

/* The origin of the rate of a link or disk. */
typedef enum rate_origin { RATE_NOMINAL, RATE_GIVEN, RATE_MEASURED, RATE_ORIGINS } rate_origin;

/* The origin of the shares, if speeds were to be measured. */
typedef enum shares_origin {
	SHARES_BY_OPTIONS,      /* speeds were not to be measured */
	SHARES_BY_SPEEDS,       /* measured */
	SHARES_BY_EQUAL_SPEEDS, /* measured: the difference is less than the error */
	SHARES_BY_DOUBT,        /* equal: others gain less than the errors can cost */
	SHARES_BY_HASTE,        /* equal: the job is too short for measuring */
	SHARES_BY_PROCESSORS,   /* likewise, but the numbers of processors promise a gain */
	SHARES_ORIGINS
} shares_origin;

enum {
	LEFT_OUT_TEXT_BYTES = 256,
	BOUND_TEXT_BYTES = 12,
	PROCESSORS_BYTES = 64,
	CPU_MODEL_BYTES = 64,
	SPANS = 16,
	PEERS = 64 /* the first ranks: bytes sent to each are counted separately */
};

/* The time from the beginning of a phase until all ranks had ended it, in seconds since the job
 * began. A phase that other phases interrupt has several spans. wait_s is the part in which the
 * rank waited for other ranks: for blocks, in collectives, and at the end for the slowest rank. */
typedef struct phase_span {
	int32_t phase;
	double begin_s, end_s, wait_s;
} phase_span;

/* The report of a rank to rank 0 at the end of a job; fixed size, sent as bytes. */
enum { LANES_TEXT_BYTES = 48 };

typedef struct rank_result {
	int32_t rank;
	char host[HOST_BYTES];
	uint64_t host_id;
	double phase_s[PHASES]; /* without waiting, which is in PH_EXCHANGE and wait_s */
	double shifted_s;   /* seconds of the current phase that were counted for another phase */
	double wait_s;      /* in collective calls, and at the ends of phases */
	double verify_s;    /* part of phase_s: checksums and order */
	double move_s;      /* part of phase_s: blocks moved, unless threads move them */
	double predicted_s; /* by the plan, with `rate`, which is nominal or measured */
	rates rate;
	double speed;
	double link_s; /* per byte from rank 0, if rank 0 scatters the input; else 0 */
	uint64_t planned_in, planned_out; /* records */
	uint64_t planned_out_before; /* by the first plan; not set if adapt_state is ADAPT_OFF */
	double speed_error;          /* of a measured speed: the part by which it may be wrong */
	int32_t shares_by;           /* a shares_origin; only on rank 0 */
	int32_t links_by, disk_by;   /* rate_origins */
	double both_s[2];  /* predicted for the shares, and for equal ones; the same on all ranks */
	double speed_seen; /* while reading and sorting, on the scale of speed; 0: not measured */
	double adapt_gain; /* predicted, as a part of the time that was left */
	int32_t adapt_state;             /* an adapt_state */
	char bound_by[BOUND_TEXT_BYTES]; /* the plan's bottleneck */
	uint64_t in, out;
	uint64_t read_bytes, written_bytes, sent_bytes, received_bytes;
	uint64_t sent_to_bytes[PEERS]; /* to the first ranks */
	activity activity;
	uint64_t mem_peak_bytes;                 /* held by this rank's own arrays; UINT64_MAX: not
						    known, as planned_bytes */
	uint64_t limit_bytes, planned_bytes;     /* of memory; UINT64_MAX: no limit */
	uint64_t spill_bytes, spill_runs;        /* 0: all in memory */
	uint64_t out_file_bytes, run_file_bytes; /* of these and the output: files in memory */
	uint64_t runs_again;                /* runs written a second time, to another directory */
	char left_out[LEFT_OUT_TEXT_BYTES]; /* directories with too little space for runs, or "" */
	uint64_t kept_bytes, kept_runs;     /* the part of these that an earlier job made */
	int32_t merge_kept;                 /* the output of the earlier job was complete, too */
	uint64_t wanted_bytes; /* --memory that would be enough, if the limit is too small */
	char limit_text[LIMIT_TEXT_BYTES]; /* the source of the limit */
	int32_t spans;
	phase_span span[SPANS];
	stage_times stages;
	int32_t threads, lanes;
	char lanes_why[LANES_TEXT_BYTES];  /* what limits the lanes, or "" */
	char processors[PROCESSORS_BYTES]; /* that the rank's threads may use: "0-3,8" */
	char cpu_model[CPU_MODEL_BYTES];
	char numa_nodes[NUMA_TEXT_BYTES]; /* of these processors; "": not known */
	int32_t binding;                  /* a numa_binding */
	uint64_t rss_peak_bytes;          /* of the process, which may have several ranks */
	uint64_t huge_bytes; /* huge pages of the process after reading; 0: few, or not counted */
	int32_t pid;
	double cpus;        /* processors that this rank may use, at most one per thread */
	usage used;         /* by the process, which may have several ranks, and by the host */
	unsigned leftovers; /* removed temporary files of dead jobs */
	uint64_t dropped;
	checksum sum_in, sum_out, sum_dropped;
	int32_t partial; /* 1: only rank, host ("": unknown), status, phase and text are known */
	int32_t status, phase; /* where the rank failed, if it did */
	char text[ERR_TEXT_BYTES];
} rank_result;

/* result_shift - count s seconds of the current phase for another phase. result_phase_end subtracts
 * them from the current phase, so that no phase is ever negative. */
static inline void result_shift(rank_result *r, phase to, double s)
{
	r->phase_s[to] += s;
	r->shifted_s += s;
}

/* result_phase_end - end a phase that took s seconds, including those counted for other phases. */
static inline void result_phase_end(rank_result *r, phase p, double s)
{
	r->phase_s[p] += s > r->shifted_s ? s - r->shifted_s : 0; /* or a rounding error */
	r->shifted_s = 0;
}

/* result_sent - count bytes sent to another rank. */
static inline void result_sent(rank_result *r, int to, uint64_t bytes)
{
	r->sent_bytes += bytes;
	if (to < PEERS)
		r->sent_to_bytes[to] += bytes;
}

/* result_span - extend the last span if it has the step's phase, otherwise begin a new span. */
void result_span(rank_result *r, const phase_span *step);

/* How the whole job ended, at rank 0. */
typedef struct job_result {
	status status;
	uint64_t records, out;      /* read, and written */
	double total_s, all_read_s; /* until the end, and until all ranks had read, or 0 */
	checksum sum, sum_out;
	int size;                 /* entries of rank, 0 without memory */
	int job_ranks, processes; /* of the whole job, even if only one rank is reported */
	const char *comm_kind;
	double scale; /* of a simulated job: records for which each sorted one stands; 0: real */
	bool rates_measured; /* else they are nominal or given */
	bool late_refused;   /* a report, trace or page is also another file: none is written */
	char note[ERR_TEXT_BYTES]; /* "", or a note in addition to the ranks' errors */
	rank_result *rank;         /* size entries, or NULL; job_result_free frees */
	rank_result own; /* its only entry without memory, or if ranks cannot be reached */
} job_result;

static inline void job_result_free(job_result *r)
{
	if (r->rank != &r->own)
		free(r->rank);
	r->rank = NULL;
}

#endif
