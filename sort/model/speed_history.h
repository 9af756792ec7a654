/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When a rank's work was done: how fast it was of late, as opposed to all the time. Pure; the
 * caller looks at the clock, and keeps threads apart. */
#ifndef HETSORT_MODEL_SPEED_HISTORY_H
#define HETSORT_MODEL_SPEED_HISTORY_H

enum { PACE_BINS = 256 };

/* Work by time, in bins of equal width. All zero: nothing was done yet. */
typedef struct speed_history {
	double read_s, sort_s; /* what a record counts for that is read, and that is sorted */
	double bin_s;          /* wide; it doubles when time runs past the last bin */
	double end_s;          /* of the latest work */
	double work[PACE_BINS];
} speed_history;

/* speed_history_add - work done evenly between two moments, in seconds since the beginning; in any
 * order, also at the same time as other work. p NULL: not wanted. */
void speed_history_add(speed_history *p, double from_s, double to_s, double work);

/* speed_history_last_s - how long the last part of all work took, part in (0, 1]: exact but for
 * what a bin hides. 0: there was no work. */
double speed_history_last_s(const speed_history *p, double part);

#endif
