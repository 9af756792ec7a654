/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How many records each rank gets, by the planner library. */
#ifndef HETSORT_SHARES_H
#define HETSORT_SHARES_H

#include "status.h"

#include <stdint.h>

/* shares_divide - records among n ranks of these speeds (finite, > 0), so that all take the same
 * time: n ln n each if by_nlogn, else in proportion. share receives n numbers of sum records. */
status shares_divide(uint64_t records, const double *speed, size_t n, bool by_nlogn,
		     uint64_t *share, err *e);

#endif
