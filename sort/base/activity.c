/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An uncontended lock for each block of records. Memory: 1.5 KB a rank. */
#include "activity.h"

#include <string.h>

static const double FIRST_STEP_S = 0.01;

void activity_begin(activity_log *log, double now)
{
	pthread_mutex_lock(&log->lock);
	log->begun_s = now;
	log->seen = (activity){ .step_s = FIRST_STEP_S };
	pthread_mutex_unlock(&log->lock);
}

static void halve(activity *a)
{
	enum { HALF = ACTIVITY_STEPS / 2 };
	for (int k = 0; k < ACTIVITY_KINDS; k++) {
		uint64_t *b = a->bytes[k];
		for (int i = 0; i < HALF; i++)
			b[i] = b[2 * i] + b[2 * i + 1];
		memset(b + HALF, 0, HALF * sizeof *b);
	}
	a->step_s *= 2;
}

void activity_add(activity_log *log, activity_kind kind, uint64_t bytes, double now)
{
	pthread_mutex_lock(&log->lock);
	activity *a = &log->seen;
	if (a->step_s > 0) {
		while (now - log->begun_s >= ACTIVITY_STEPS * a->step_s)
			halve(a);
		const double at = (now - log->begun_s) / a->step_s;
		a->bytes[kind][at > 0 ? (int)at : 0] += bytes;
	}
	pthread_mutex_unlock(&log->lock);
}

activity activity_look(activity_log *log)
{
	pthread_mutex_lock(&log->lock);
	const activity seen = log->seen;
	pthread_mutex_unlock(&log->lock);
	return seen;
}
