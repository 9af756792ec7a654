/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a job went, for people and for programs. Called at rank 0. */
#ifndef HETSORT_CLI_REPORT_H
#define HETSORT_CLI_REPORT_H

#include "model/rank_result.h"

#include <stdio.h>

/* report_write - the JSON report to o->report. report_page - the same as a page to o->html. An
 * earlier one is replaced, no other file. */
status report_write(const job_result *r, const settings *o, int argc, char *const *argv, err *e);
status report_page(const job_result *r, const settings *o, int argc, char *const *argv, err *e);

/* report_table - plan, phases and ranks as a table. */
void report_table(const job_result *r, const settings *o, FILE *f);

/* report_build - how this program was compiled. */
const char *report_build(void);

/* report_summary - in one line. */
void report_summary(const job_result *r, const settings *o, FILE *f);

/* report_plan - what --explain shows: shares and predicted times. */
void report_plan(const job_result *r, const settings *o, FILE *f);

/* report_errors - print one line for each failure. Failures of several ranks that differ only in
 * names and numbers are one line with their count. A line says rank, host and what the rank was
 * doing; a refusal does not, unless only some ranks of several processes refuse. */
void report_errors(const job_result *r, FILE *f);

#endif
