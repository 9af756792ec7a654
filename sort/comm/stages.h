/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How far a rank is: the steps of its job that move all of its data, how long the plan says that
 * they take, and how much of them is done. From this follows the time that is left, which is the
 * planned one as long as nothing is known, and more and more what was seen. */
#ifndef HETSORT_COMM_STAGES_H
#define HETSORT_COMM_STAGES_H

#include "base/clock.h"
#include "base/progress.h"

#include <pthread.h>
#include <stdbool.h>

typedef enum stage_kind {
	STAGE_NONE,
	STAGE_READ,    /* the input, into sorted runs */
	STAGE_SPLIT,   /* finding where the records of other ranks begin: no bytes */
	STAGE_RECEIVE, /* what is sorted when all of it is there */
	STAGE_SORT,    /* that: no bytes */
	STAGE_WRITE,   /* the output */
	STAGE_CHECK,   /* the output, read again */
	STAGES
} stage_kind;

/* How long one takes. Where the disk does not decide, so much of it goes into the system's work for
 * files and other hosts, and into memory that is used for the first time: the system clears it
 * then, and where the host of a virtual machine has to find it, that takes some times longer than
 * planned. ahead_s: what of it is done before a record counts, as it is read again and sent
 * first. */
typedef struct stage_plan {
	double all_s, files_s, fresh_s, ahead_s;
} stage_plan;

typedef struct stage {
	stage_plan planned;
	uint64_t bytes;                         /* 0: not known */
	uint64_t base, kept_base, written_base; /* what had been counted when it began */
	moment begun, taken;                    /* taken: in all, once it has ended */
	bool ended;
} stage;

typedef struct stages {
	progress_count count;
	pthread_mutex_t lock; /* for what follows */
	stage stage[STAGES];
	stage_kind at;             /* the last that has begun */
	uint64_t sends, sent_base; /* bytes to other ranks; 0: not known; sent before */
	double spilled; /* the part of what is read that is written, too, before its stage ends */
} stages;

/* What others hear of it; fixed size, sent as bytes. */
typedef struct stages_seen {
	uint64_t done, all;      /* bytes of the stage; all 0: that is not known */
	double worked_s, work_s; /* of the planned time of all stages: done, and all */
	double left_s;           /* until the rank is through; below 0: not known */
	int32_t stage;           /* the last that has begun, a stage_kind */
	int32_t open;            /* it has not ended, and has bytes */
} stages_seen;

/* Called by the rank's main thread. stages_init - of a comm. stages_plan - it will take so long.
 * stages_begin - one after the other. stages_end - the one that has begun; it may have ended
 * before. stages_send - while it writes it sends so many bytes. */
void stages_init(stages *s);
void stages_plan(stages *s, stage_kind k, stage_plan p);
void stages_begin(stages *s, stage_kind k, uint64_t bytes, moment now);
void stages_end(stages *s, moment now);
void stages_send(stages *s, uint64_t bytes);

/* stages_look - by any thread. */
stages_seen stages_look(stages *s, moment now);

/* Of each stage: planned, and taken; fixed size, sent as bytes. stages_times - by any thread.
 * stage_name - one word. */
typedef struct stage_times {
	double planned_s[STAGES], taken_s[STAGES];
} stage_times;

stage_times stages_times(stages *s);
const char *stage_name(stage_kind k);

#endif
