/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The work that a rank has done so far, and the time that it has left. The monitor, the progress
 * line, the report and the trace read them.
 *
 * Code that has moved a block, read or written a part of a file or sorted a run counts this work. A
 * thread counts for the rank that it belongs to (pool.h), so functions do not pass a rank down.
 * Counting some hundred KiB of work takes two relaxed atomic additions. For bytes of files and
 * messages it also takes a look at the clock and an uncontended lock.
 *
 * Stages are the steps of a job that move all data of a rank. job_time.h predicts the time of each.
 * At first the time left follows from this plan, and then more and more from measured times. */
#ifndef HETSORT_BASE_PROGRESS_H
#define HETSORT_BASE_PROGRESS_H

#include "clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum progress_kind {
	PROGRESS_READ,     /* bytes from files, with runs on disk */
	PROGRESS_WRITTEN,  /* bytes to files, with runs on disk */
	PROGRESS_SENT,     /* records to other ranks */
	PROGRESS_IN,       /* records of the input that the rank has */
	PROGRESS_KEPT,     /* of these, records that an earlier job has left in runs */
	PROGRESS_RECEIVED, /* records that were received and are in their place */
	PROGRESS_OUT,      /* records of the output that are written */
	PROGRESS_KINDS
} progress_kind;

/* Bytes of the first kinds that a rank has moved in each step of time. If a job lasts longer than
 * all steps, two steps become one. Fixed size, sent as bytes. */
enum { ACTIVITY_KINDS = PROGRESS_SENT + 1, ACTIVITY_STEPS = 60 };

typedef struct activity {
	double step_s; /* 0: nothing is recorded */
	uint64_t bytes[ACTIVITY_KINDS][ACTIVITY_STEPS];
} activity;

typedef enum stage_kind {
	STAGE_NONE,
	STAGE_READ,    /* the input, into sorted runs */
	STAGE_SPLIT,   /* find where the records of other ranks begin: no bytes */
	STAGE_RECEIVE, /* records that are sorted when all have arrived */
	STAGE_SORT,    /* these records: no bytes */
	STAGE_WRITE,   /* the output */
	STAGE_CHECK,   /* the output, read again */
	STAGES
} stage_kind;

/* Seconds that a stage takes. The parts are 0 if the disk decides. */
typedef struct stage_plan {
	double all_s;
	double files_s; /* the system's work for files and other hosts */
	double fresh_s; /* first use of memory, which the system clears; several times longer if the
			 * host of a virtual machine has to find it */
	double ahead_s; /* reading and sending again, before a record counts */
} stage_plan;

typedef struct stage {
	stage_plan planned;
	uint64_t bytes;                         /* 0: not known */
	uint64_t base, kept_base, written_base; /* counts when it began */
	moment begun, taken;                    /* taken: by the whole stage, once it has ended */
	bool ended;
} stage;

/* One rank. */
typedef struct rank_progress {
	atomic_uint_fast64_t bytes[PROGRESS_KINDS];
	atomic_uint_fast64_t held_bytes; /* of memory, now */
	pthread_mutex_t counting;        /* for the next two */
	double begun_s;
	activity activity;
	pthread_mutex_t lock; /* for what follows */
	stage stage[STAGES];
	stage_kind at;             /* the last that has begun */
	uint64_t sends, sent_base; /* bytes to other ranks; 0: not known; sent before */
	double spilled; /* part of the records read that is also written before READ ends */
} rank_progress;

/* progress_init - set all counts to 0. progress_join - let the calling thread, and the threads that
 * it starts by thread_start, count in p, which outlives them; NULL: count for no rank.
 * progress_mine - return p, or a dummy, never NULL. */
void progress_init(rank_progress *p);
void progress_join(rank_progress *p);
rank_progress *progress_mine(void);

/* progress_add - count more bytes or records. progress_hold - set the memory that is held now.
 * progress_ticks - return how often the process has called progress_add. */
void progress_add(progress_kind kind, uint64_t bytes);
void progress_hold(size_t bytes);
uint64_t progress_ticks(void);

static inline uint64_t progress_bytes(rank_progress *p, progress_kind kind)
{
	return atomic_load_explicit(&p->bytes[kind], memory_order_relaxed);
}

/* progress_record - record activity from this time on. progress_move - add bytes that any thread
 * has moved at a time of the same clock; progress_add calls it. progress_activity - return the
 * record. */
void progress_record(rank_progress *p, double now);
void progress_move(rank_progress *p, progress_kind kind, uint64_t bytes, double now);
activity progress_activity(rank_progress *p);

/* The main thread of the rank calls these functions. progress_plan - set how long a stage will
 * take. progress_begin - begin the next stage. progress_end - end it, unless it has ended before.
 * progress_sends - set the bytes that the rank sends while it writes. */
void progress_plan(rank_progress *p, stage_kind k, stage_plan plan);
void progress_begin(rank_progress *p, stage_kind k, uint64_t bytes, moment now);
void progress_end(rank_progress *p, moment now);
void progress_sends(rank_progress *p, uint64_t bytes);

/* How far a rank is; fixed size, sent as bytes. */
typedef struct progress_seen {
	uint64_t done, all;      /* bytes of the stage; all 0: not known */
	double worked_s, work_s; /* planned time of all stages: done, and all */
	double left_s;           /* until the rank has finished; below 0: not known */
	int32_t stage;           /* the last that has begun, a stage_kind */
	int32_t open;            /* it has not ended, and has bytes */
} progress_seen;

/* Seconds of each stage, planned and taken; fixed size, sent as bytes. */
typedef struct stage_times {
	double planned_s[STAGES], taken_s[STAGES];
} stage_times;

/* progress_look - return how far a rank is. progress_times - return the times of its stages. Any
 * thread may call both. stage_name - return one word. */
progress_seen progress_look(rank_progress *p, moment now);
stage_times progress_times(rank_progress *p);
const char *stage_name(stage_kind k);

#endif
