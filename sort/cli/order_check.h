/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --check: are the records of all inputs in order, as one sequence? */
#ifndef HETSORT_CLI_ORDER_CHECK_H
#define HETSORT_CLI_ORDER_CHECK_H

#include "comm/comm.h"

/* order_check - collective: a rank_main, arg is the settings. Each rank looks at its part; rank 0
 * prints where they are not in order, unless --check-silent was asked for, and writes the report.
 * ST_INVALID: they are not. Where the comm is broken nothing is said, and the job is to be ended.
 */
status order_check(comm *c, void *settings);

#endif
