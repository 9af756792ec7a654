/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of ranks, of at most 80 columns. */
#ifndef HETSORT_CLI_REPORT_ROWS_H
#define HETSORT_CLI_REPORT_ROWS_H

#include "report_fields.h"

#include <stdio.h>

enum { REPORT_ROWS = 16 }; /* of ranks; more are grouped */

/* report_rows - a row for each rank; for more than REPORT_ROWS one for each host, with the medians
 * of its ranks, where the hosts are no more than that, and least, median and most of all ranks and
 * the rank that worked longest. */
void report_rows(const job_result *r, const report_column *columns, FILE *f);

#endif
