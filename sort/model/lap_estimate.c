/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The estimator of the calibration. Pure: no clock, no memory. */
#include "lap_estimate.h"

/* Least squares on cpu(at), the straight lines between the ends of laps: its slope is
 * 12 / W^3 times the integral of (t - middle) cpu(t) over the W seconds. */
static double slope(const double *at, const double *cpu, size_t n)
{
	const double whole = at[n] - at[0], middle = at[0] + whole / 2;
	double sum = 0;
	for (size_t i = 0; i < n; i++) {
		const double h = at[i + 1] - at[i], y = cpu[i] - cpu[0], dy = cpu[i + 1] - cpu[i];
		const double t = (at[i] + at[i + 1]) / 2 - middle;
		sum += h * (t * (y + dy / 2) + h * dy / 12);
	}
	return whole > 0 ? 12 * sum / (whole * whole * whole) : 0;
}

double lap_estimate(const double *at, const double *cpu, size_t n, double lap[KERNELS])
{
	const double share = slope(at, cpu, n), rounds = (double)(n / KERNELS);
	for (size_t k = 0; k < KERNELS; k++) {
		double sum = 0;
		for (size_t i = k; i < n; i += KERNELS)
			sum += cpu[i + 1] - cpu[i];
		lap[k] = share > 0 ? sum / rounds / share : 0;
	}
	return share;
}
