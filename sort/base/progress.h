/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The work that a rank has done so far, and the time that it needs for the rest. Readers are the
 * monitor, the progress line, the report and the trace.
 *
 * Code that has moved a block, read or written a part of a file or sorted a run counts this work. A
 * thread counts for the rank that it belongs to (pool.h), so functions need no argument for the
 * rank. One count, of some hundred KiB of work, takes two relaxed atomic additions. For bytes of
 * files and messages it also takes a look at the clock and an uncontended lock.
 *
 * Stages are the steps of a job that move all data of a rank. job_time.h predicts the time of each.
 * The time left is computed from this prediction at first, and later more and more from measured
 * times. */
#ifndef HETSORT_BASE_PROGRESS_H
#define HETSORT_BASE_PROGRESS_H

#include "clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kinds of work, counted in bytes. */
typedef enum progress_kind {
	PROGRESS_READ,     /* from files, including runs on disk */
	PROGRESS_WRITTEN,  /* to files, including runs on disk */
	PROGRESS_SENT,     /* records to other ranks */
	PROGRESS_IN,       /* records of the input that the rank has */
	PROGRESS_KEPT,     /* of IN, records that an earlier job has left in runs */
	PROGRESS_RECEIVED, /* records received that are in their places */
	PROGRESS_OUT,      /* records of the output that are written */
	PROGRESS_KINDS
} progress_kind;

/* Bytes READ, WRITTEN and SENT by a rank in each step of time. When a job lasts longer than all
 * steps, each two steps are merged into one. Fixed size, sent as bytes. */
enum { ACTIVITY_KINDS = PROGRESS_SENT + 1, ACTIVITY_STEPS = 60 };

typedef struct activity {
	double step_s; /* 0: nothing is recorded */
	uint64_t bytes[ACTIVITY_KINDS][ACTIVITY_STEPS];
} activity;

typedef enum stage_kind {
	STAGE_NONE,
	STAGE_READ,    /* the input, into sorted runs */
	STAGE_SPLIT,   /* find the borders between ranks; moves no bytes */
	STAGE_RECEIVE, /* records that are sorted only after all have arrived */
	STAGE_SORT,    /* sort these records; moves no bytes */
	STAGE_WRITE,   /* the output */
	STAGE_CHECK,   /* the output, read again */
	STAGES
} stage_kind;

/* Predicted seconds of a stage. The parts of all_s are 0 if the disk determines the time. */
typedef struct stage_plan {
	double all_s;
	double files_s; /* the system's work for files and other hosts */
	double fresh_s; /* first use of memory, which the system clears. In a virtual machine, whose
			   host must provide the memory, it may take several times longer */
	double ahead_s; /* sending, and reading from runs: work before a record counts as written */
} stage_plan;

typedef struct stage {
	stage_plan planned;
	uint64_t bytes;                         /* 0: not known */
	uint64_t base, kept_base, written_base; /* counts when the stage began */
	moment begun, taken; /* taken: time of the whole stage without waiting, set when it ends */
	bool ended;
} stage;

/* The progress of one rank. */
typedef struct rank_progress {
	atomic_uint_fast64_t bytes[PROGRESS_KINDS];
	atomic_uint_fast64_t held_bytes; /* of memory, now */
	pthread_mutex_t counting;        /* guards the next two members */
	double begun_s;
	activity activity;
	pthread_mutex_t lock; /* guards the members below */
	stage stage[STAGES];
	stage_kind at;             /* the last stage that has begun */
	uint64_t sends, sent_base; /* bytes to send in WRITE, 0: not known; bytes sent before */
	double spilled; /* part of the records read that is also written to runs in READ */
} rank_progress;

/* progress_init - set all counts to 0. progress_join - let the calling thread, and the threads that
 * it starts by thread_start, count in p, which outlives them; NULL: count for no rank.
 * progress_mine - return the p of the calling thread, or a dummy, never NULL. */
void progress_init(rank_progress *p);
void progress_join(rank_progress *p);
rank_progress *progress_mine(void);

/* progress_add - count more bytes. progress_hold - set the bytes of memory that are held now.
 * progress_ticks - return how often the process has called progress_add. */
void progress_add(progress_kind kind, uint64_t bytes);
void progress_hold(size_t bytes);
uint64_t progress_ticks(void);

static inline uint64_t progress_bytes(rank_progress *p, progress_kind kind)
{
	return atomic_load_explicit(&p->bytes[kind], memory_order_relaxed);
}

/* progress_record - record activity from this time on. progress_move - record bytes that were moved
 * at time `now`; any thread may call it, and progress_add does. progress_activity - return the
 * record. */
void progress_record(rank_progress *p, double now);
void progress_move(rank_progress *p, progress_kind kind, uint64_t bytes, double now);
activity progress_activity(rank_progress *p);

/* The main thread of the rank calls these functions. progress_plan - set how long a stage will
 * take. progress_begin - begin the next stage. progress_end - end this stage, unless it has ended.
 * progress_sends - set the bytes that the rank sends in STAGE_WRITE. */
void progress_plan(rank_progress *p, stage_kind k, stage_plan plan);
void progress_begin(rank_progress *p, stage_kind k, uint64_t bytes, moment now);
void progress_end(rank_progress *p, moment now);
void progress_sends(rank_progress *p, uint64_t bytes);

/* How far a rank is; fixed size, sent as bytes. */
typedef struct progress_seen {
	uint64_t done, all;      /* bytes of the stage; all 0: not known */
	double worked_s, work_s; /* planned time of all stages: done, and all */
	double left_s;           /* until the rank ends; below 0: not known */
	int32_t stage;           /* the last stage that has begun, a stage_kind */
	int32_t open;            /* 1: this stage has not ended, and moves bytes */
} progress_seen;

/* Seconds of each stage, planned and taken, without waiting; fixed size, sent as bytes. */
typedef struct stage_times {
	double planned_s[STAGES], taken_s[STAGES];
} stage_times;

/* progress_look - return how far a rank is. progress_times - return the times of its stages. Any
 * thread may call these two. stage_name - return one word. */
progress_seen progress_look(rank_progress *p, moment now);
stage_times progress_times(rank_progress *p);
const char *stage_name(stage_kind k);

#endif
