/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The speed of this rank while it reads and sorts. Threads end their tasks in any order and at any
 * time. So the work of a task is spread evenly over the time that the task took. */
#include "speed_history.h"

#include <math.h>
#include <stdbool.h>

static const double FIRST_BIN_S = 1e-3;

/* Return the bin of a moment. */
static size_t speed_history_bin(const speed_history *p, double at_s)
{
	const double i = floor(at_s / p->bin_s);
	return i < PACE_BINS - 1 ? (size_t)i : PACE_BINS - 1;
}

void speed_history_add(speed_history *p, double from_s, double to_s, double work, double busy_s)
{
	if (!p || !(from_s >= 0 && to_s >= from_s) || !isfinite(to_s))
		return;
	if (!(p->bin_s > 0))
		p->bin_s = FIRST_BIN_S;
	for (; to_s > PACE_BINS * p->bin_s; p->bin_s *= 2) /* join pairs of bins */
		for (size_t i = 0; i < PACE_BINS; i++) {
			const bool any = i < PACE_BINS / 2;
			p->work[i] = any ? p->work[2 * i] + p->work[2 * i + 1] : 0;
			p->busy_s[i] = any ? p->busy_s[2 * i] + p->busy_s[2 * i + 1] : 0;
		}
	p->end_s = fmax(p->end_s, to_s);
	const size_t first = speed_history_bin(p, from_s), last = speed_history_bin(p, to_s);
	for (size_t i = first; i <= last; i++) {
		const double lo = fmax(from_s, (double)i * p->bin_s);
		const double hi = fmin(to_s, (double)(i + 1) * p->bin_s);
		const double part = first == last ? 1 : (hi - lo) / (to_s - from_s);
		p->work[i] += work * part;
		p->busy_s[i] += busy_s * part;
	}
}

double speed_history_last_s(const speed_history *p, double part)
{
	double left = 0, busy_s = 0;
	for (size_t i = 0; i < PACE_BINS; i++)
		left += p->work[i];
	left *= part;
	for (size_t i = PACE_BINS; i-- > 0 && left > 0;) {
		const double used = fmin(p->work[i], left);
		if (p->work[i] > 0)
			busy_s += p->busy_s[i] * (used / p->work[i]);
		left -= used;
	}
	return busy_s;
}
