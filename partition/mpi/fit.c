/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fit.c - the affine cost that comes nearest to measured points, each error counted relative to its
 * time, so that one item weighs as much as a million.
 * May not touch: MPI, clocks. Costs one pass. */
#include "hm.h"

/* Weighted sums; the weight of a point is 1/time^2, times the number of runs behind it. */
struct sums {
	double w, x, t, xx, xt;
};

static struct sums add_up(const hetpart_point *points, const double *runs, size_t npoints)
{
	struct sums s = { 0, 0, 0, 0, 0 };

	for (size_t i = 0; i < npoints; i++) {
		const double x = points[i].items, t = points[i].time_s;
		const double w = (runs ? runs[i] : 1) / (t * t);

		s.w += w;
		s.x += w * x;
		s.t += w * t;
		s.xx += w * x * x;
		s.xt += w * x * t;
	}
	return s;
}

hetpart_mpi_affine hm_fit(const hetpart_point *points, const double *runs, size_t npoints)
{
	const struct sums s = add_up(points, runs, npoints);
	const double det = s.w * s.xx - s.x * s.x;
	hetpart_mpi_affine fit = { 0, s.xt / s.xx };

	if (npoints < 2 || !(det > 1e-12 * s.w * s.xx))
		return fit;
	const double slope = (s.w * s.xt - s.x * s.t) / det;
	const double startup = (s.xx * s.t - s.x * s.xt) / det;
	if (slope < 0)
		return (hetpart_mpi_affine){ s.t / s.w, 0 };
	if (startup < 0)
		return fit;
	return (hetpart_mpi_affine){ startup, slope };
}
