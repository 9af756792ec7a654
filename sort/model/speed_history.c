/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads end their tasks in any order and at any time, so a task counts evenly over the time that
 * it took: what is half done when the last part begins counts by half. */
#include "speed_history.h"

#include <math.h>
#include <stddef.h>

static const double FIRST_BIN_S = 1e-3;

static void double_bins(speed_history *p)
{
	for (size_t i = 0; i < PACE_BINS / 2; i++)
		p->work[i] = p->work[2 * i] + p->work[2 * i + 1];
	for (size_t i = PACE_BINS / 2; i < PACE_BINS; i++)
		p->work[i] = 0;
	p->bin_s *= 2;
}

static size_t bin_of(const speed_history *p, double at_s)
{
	const double i = floor(at_s / p->bin_s);
	return i < PACE_BINS - 1 ? (size_t)i : PACE_BINS - 1;
}

void speed_history_add(speed_history *p, double from_s, double to_s, double work)
{
	if (!p || !(from_s >= 0 && to_s >= from_s) || !isfinite(to_s))
		return;
	if (!(p->bin_s > 0))
		p->bin_s = FIRST_BIN_S;
	while (to_s > PACE_BINS * p->bin_s)
		double_bins(p);
	p->end_s = fmax(p->end_s, to_s);
	const size_t first = bin_of(p, from_s), last = bin_of(p, to_s);
	if (first == last) {
		p->work[first] += work;
		return;
	}
	for (size_t i = first; i <= last; i++) {
		const double lo = fmax(from_s, (double)i * p->bin_s);
		const double hi = fmin(to_s, (double)(i + 1) * p->bin_s);
		p->work[i] += work * ((hi - lo) / (to_s - from_s));
	}
}

double speed_history_last_s(const speed_history *p, double part)
{
	double left = 0;
	for (size_t i = 0; i < PACE_BINS; i++)
		left += p->work[i];
	if (!(left > 0))
		return 0;
	left *= part;
	double hi = p->end_s;
	for (size_t i = bin_of(p, p->end_s) + 1; i-- > 0;) {
		const double lo = (double)i * p->bin_s;
		if (p->work[i] >= left)
			return p->end_s - (hi - (hi - lo) * (left / p->work[i]));
		left -= p->work[i];
		hi = lo;
	}
	return p->end_s;
}
