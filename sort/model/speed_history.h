/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The speed of this rank while it reads and sorts. */
#ifndef HETSORT_MODEL_SPEED_HISTORY_H
#define HETSORT_MODEL_SPEED_HISTORY_H

#include <stddef.h>

enum { PACE_BINS = 256 };

/* The work that is done over time, in bins of equal width. All zero: no work yet. */
typedef struct speed_history {
	/* returns the seconds for which the calling thread has had or wanted a processor */
	double (*clock_s)(void);
	double bin_s; /* width; it doubles when time runs past the last bin */
	double end_s; /* the end of the latest work */
	double work[PACE_BINS], busy_s[PACE_BINS];
} speed_history;

/* speed_history_add - add work done evenly between two moments, in seconds since the beginning, for
 * which a thread had or wanted a processor for busy_s of these seconds. Work may be added in any
 * order, and may overlap in time. p NULL: do nothing. */
void speed_history_add(speed_history *p, double from_s, double to_s, double work, double busy_s);

/* speed_history_last_s - return the busy seconds of all threads for the last part of all work, with
 * the precision of a bin. part: in (0, 1]. 0: there was no work. */
double speed_history_last_s(const speed_history *p, double part);

#endif
