/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How many bytes a rank has moved when: in steps of time, of which there is a fixed number. Where a
 * job lasts longer, two become one, and steps are twice as long from then on. */
#ifndef HETSORT_BASE_ACTIVITY_H
#define HETSORT_BASE_ACTIVITY_H

#include <pthread.h>
#include <stdint.h>

typedef enum activity_kind {
	ACTIVITY_READ,
	ACTIVITY_WRITTEN,
	ACTIVITY_SENT,
	ACTIVITY_KINDS
} activity_kind;

enum { ACTIVITY_STEPS = 60 };

/* Fixed size, sent as bytes. */
typedef struct activity {
	double step_s; /* 0: nothing is recorded */
	uint64_t bytes[ACTIVITY_KINDS][ACTIVITY_STEPS];
} activity;

typedef struct activity_log {
	pthread_mutex_t lock; /* for what follows */
	double begun_s;
	activity seen;
} activity_log;

/* activity_begin - times count from now on. activity_add - by any thread, at a time of the same
 * clock. activity_look - what is known. */
void activity_begin(activity_log *log, double now);
void activity_add(activity_log *log, activity_kind kind, uint64_t bytes, double now);
activity activity_look(activity_log *log);

#endif
