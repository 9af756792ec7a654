/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a job went, for people and for programs. Called at rank 0. report_json.c makes documents,
 * report_rows.c tables, report_text.c the lines around them. */
#ifndef HETSORT_CLI_REPORT_H
#define HETSORT_CLI_REPORT_H

#include "model/rank_result.h"

#include <stdio.h>

/* report_write - the JSON report to o->report. report_page - the same as a page to o->html. An
 * earlier one is replaced, no other file. */
status report_write(const job_result *r, const settings *o, int argc, char *const *argv, bool sync,
		    err *e);
status report_page(const job_result *r, const settings *o, int argc, char *const *argv, bool sync,
		   err *e);

/* report_table - plan, phases and ranks as a table. */
void report_table(const job_result *r, const settings *o, FILE *f);

/* report_balance - return the time of the busiest rank over the mean; 1 is perfect, 0 means that
 * nothing was done. */
double report_balance(const job_result *r);

/* report_rows - print a table of at most 80 columns with a row for each rank. More than REPORT_ROWS
 * ranks are grouped: a row for each host with the medians of its ranks, unless there are too many
 * hosts; then least, median and most of all ranks, and the rank that worked longest. */
enum { REPORT_ROWS = 16 };
typedef enum report_table_kind {
	REPORT_PLAN,
	REPORT_RESULT,
	REPORT_PHASES,
	REPORT_RATES,
	REPORT_TABLES
} report_table_kind;
void report_rows(const job_result *r, report_table_kind which, FILE *f);

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
