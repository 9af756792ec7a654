/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --check: are the records of all inputs in order, as one sequence? */
#ifndef HETSORT_CLI_ORDER_CHECK_H
#define HETSORT_CLI_ORDER_CHECK_H

#include "base/settings.h"
#include "comm/comm.h"

/* order_check - collective: check that the records are in order. Each rank looks at its part. Rank
 * 0 prints where they are not in order, unless --check-silent was asked for, and writes the report.
 * ST_INVALID: they are not. If the comm is broken nothing is printed, and the caller ends the job.
 */
status order_check(comm *c, const settings *o);

#endif
