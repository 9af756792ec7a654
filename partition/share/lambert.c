/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lambert.c - Lambert's W by the GNU Scientific Library.
 * May not touch: what it is used for. Costs 0.1 us for a value, 0.3 ms for the first of a process.
 */
#include "base/part.h"
#include "lambert.h"

hetpart_status part_lambert_open(struct lambert *l, hetpart_err *err)
{
	/* of GSL 2.8, 2.7, 2.6, 2.5 and, if it was built here, any: this call is the same in all */
	static const char *const files[] = { "libgsl.so.28", "libgsl.so.27", "libgsl.so.25",
					     "libgsl.so.23", "libgsl.so",    NULL };
	const part_loaded_call call = { "gsl_sf_lambert_W0_e", &l->w0_e };

	return part_load(&l->library, files, &call, 1,
			 "the cost n ln n needs GSL, the others do not", err);
}

void part_lambert_close(struct lambert *l)
{
	part_unload(&l->library);
}

/* GSL would end the process from 0.99996 DBL_MAX on, and has no digits left below 1e-26, where W is
 * y to the last one. */
double part_lambert(const struct lambert *l, double y)
{
	gsl_sf_result w;

	if (!(y > 1e-20))
		return max_double(y, 0);
	return l->w0_e(min_double(y, 1e308), &w) == 0 ? w.val : NAN;
}
