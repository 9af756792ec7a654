/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The estimator of the calibration. Pure: no clock, no memory but a few hundred bytes. */
#include "estimate.h"

#include <math.h>

/* How many laps of kernel k took less than s, and how many no more than that. */
static void rank_of(const double *at, size_t n, size_t k, double s, size_t *below, size_t *within)
{
	*below = *within = 0;
	for (size_t i = k; i < n; i += KERNELS) {
		*below += at[i + 1] - at[i] < s;
		*within += at[i + 1] - at[i] <= s;
	}
}

/* The lower median of the laps of kernel k: quadratic, for a thousand laps at most. */
static double median(const double *at, size_t n, size_t k)
{
	const size_t middle = (n / KERNELS - 1) / 2;
	for (size_t i = k; i < n; i += KERNELS) {
		size_t below, within;
		rank_of(at, n, k, at[i + 1] - at[i], &below, &within);
		if (below <= middle && middle < within)
			return at[i + 1] - at[i];
	}
	return 0;
}

/* Least squares on y(t), the straight lines between the ends of laps: its slope is
 * 12 / W^3 times the integral of (t - middle) y(t) over the W seconds. */
static double slope(const double *at, size_t n, const double work[KERNELS])
{
	const double whole = at[n] - at[0], middle = at[0] + whole / 2;
	double y = 0, sum = 0;
	for (size_t i = 0; i < n; i++) {
		const double h = at[i + 1] - at[i], dy = work[i % KERNELS];
		const double t = (at[i] + at[i + 1]) / 2 - middle;
		sum += h * (t * (y + dy / 2) + h * dy / 12);
		y += dy;
	}
	return 12 * sum / (whole * whole * whole);
}

void estimate_laps(const double *at, size_t n, double lap[KERNELS])
{
	double work[KERNELS], all = 0;
	for (size_t k = 0; k < KERNELS; k++)
		all += work[k] = median(at, n, k);
	const double share = all > 0 ? slope(at, n, work) : 0;
	for (size_t k = 0; k < KERNELS; k++)
		lap[k] = share > 0 ? work[k] / share : 0;
}
