/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The result of a job, for people and for programs. Called at rank 0. report_json.c makes
 * documents, report_rows.c tables and sums, report_text.c the lines around them, and trace_file.c
 * the trace. */
#ifndef HETSORT_CLI_REPORT_H
#define HETSORT_CLI_REPORT_H

#include "base/trace.h"
#include "model/rank_result.h"

#include <stdio.h>

/* report_write - write the JSON report to o->report, and its page to o->html, unless they are NULL.
 * An earlier report or page is replaced, but no other file. Fills the two errs if that fails. */
void report_write(const job_result *r, const settings *o, int argc, char *const *argv, bool sync,
		  err *report, err *page);

/* report_table - print plan, phases and ranks as tables. */
void report_table(const job_result *r, const settings *o, FILE *f);

/* report_balance - return the time of the busiest rank over the mean; 1 is perfect. 0: no work. */
double report_balance(const job_result *r);

/* report_use_of - add up the resources that the ranks used. Members that are not known are 0,
 * energy is below 0. */
typedef struct report_use {
	double core_s, core_s_per_gb; /* processor time of all ranks; per 1e9 bytes of input */
	double processors, busy;      /* that the ranks may use; the part of their time used */
	uint64_t faults;              /* page faults of fresh memory */
	double fault_s;               /* processor time for them */
	double joules, joules_per_gb; /* of all hosts */
	const char *bound; /* "disk", "memory", "network", "processor"; "": there is no rank */
} report_use;

report_use report_use_of(const job_result *r, const settings *o);

/* report_rows - print a table of at most 80 columns with a row for each rank. More than REPORT_ROWS
 * ranks are grouped. Each host has a row with the medians of its ranks, unless there are too many
 * hosts. Then follow the least, median and most of all ranks, and the rank that worked longest. */
enum { REPORT_ROWS = 16 };
#define REPORT_LONG 1e9 /* longer times, of slow ranks that a user names, have an exponent */
typedef enum report_table_kind {
	REPORT_PLAN,
	REPORT_RESULT,
	REPORT_PHASES,
	REPORT_RATES,
	REPORT_TABLES
} report_table_kind;
void report_rows(const job_result *r, report_table_kind which, FILE *f);

/* report_build - return how this program was compiled. */
const char *report_build(void);

/* report_summary - print the result in one line. */
void report_summary(const job_result *r, const settings *o, FILE *f);

/* report_plan - print shares and predicted times, for --explain. */
void report_plan(const job_result *r, const settings *o, FILE *f);

/* report_errors - print one line for each failure. Failures of several ranks that differ only in
 * names and numbers share one line with their count. A line names rank, host and phase; a line
 * about a refusal does not, unless only some ranks of several processes refuse. */
void report_errors(const job_result *r, FILE *f);

/* The file of --trace: Chrome's trace events, which Perfetto and chrome://tracing show. Each rank
 * is shown as a process. */

/* The trace of all ranks. The caller frees row. */
typedef struct traces {
	int size;       /* ranks */
	unsigned each;  /* rows per rank */
	trace_row *row; /* NULL: no rows are known */
} traces;

/* trace_rows_of_rank - return the rows per rank, so that all ranks fit into the file. */
unsigned trace_rows_of_rank(int ranks);

/* traces_gather - collective: gather the rows of all ranks at rank 0. */
status traces_gather(comm *c, traces *all, err *e);

/* trace_write - write the trace to path, and replace an earlier one. If `all` has no rows, because
 * ranks cannot be asked, it receives the rows of the ranks in this process. The names of hosts are
 * from r, if it has any ranks. */
status trace_write(traces *all, const job_result *r, const char *path, bool sync, err *e);

#endif
