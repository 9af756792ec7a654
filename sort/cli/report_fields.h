/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is told of a job and its ranks: one row a member of the JSON report, and one row a column of
 * the tables for people. */
#ifndef HETSORT_CLI_REPORT_FIELDS_H
#define HETSORT_CLI_REPORT_FIELDS_H

#include "model/rank_result.h"
#include "io/json.h"

/* What a report is made from. */
typedef struct report_source {
	const job_result *result;
	const settings *o;
	int argc;
	char *const *argv;
} report_source;

typedef enum field_kind {
	FIELD_INT32,
	FIELD_UINT64, /* null above INT64_MAX, as JSON's integers are signed here */
	FIELD_REAL,
	FIELD_TEXT,   /* char[] */
	FIELD_CHOICE, /* int32_t, an index of words */
	FIELD_OBJECT, /* a struct at that place, with members of its own */
	FIELD_SAYS,   /* the text itself */
	FIELD_MADE,   /* by a function */
} field_kind;

typedef struct report_field {
	const char *name; /* NULL ends a list */
	field_kind kind;
	size_t at; /* in the struct that the list is of */
	union {
		const char *const *words;           /* FIELD_CHOICE */
		const struct report_field *members; /* FIELD_OBJECT */
		const char *text;                   /* FIELD_SAYS */
		json_t *(*make)(const void *of, const report_source *s);
	} by;
	bool (*when)(const void *of, const report_source *s); /* NULL: always there */
	bool or_null;                                         /* where it is not, there is null */
} report_field;

/* report_fields - of job_result. */
extern const report_field report_fields[];

/* report_object - the members of a struct. NULL: no memory, or a text that is no UTF-8. */
json_t *report_object(const report_field *list, const void *of, const report_source *s);

/* report_busy_s - what a rank worked, without waiting for others. */
double report_busy_s(const rank_result *r);

/* report_balance - the busiest rank over the mean, 1 is perfect; 0 where nothing was done. */
double report_balance(const job_result *r);

/* A column of a table with a line for each rank. */
typedef struct report_column {
	const char *heading; /* NULL ends a list */
	field_kind kind;     /* INT32, UINT64, REAL or TEXT */
	size_t at;           /* in rank_result */
	int width;           /* below 0: to the left; a text is cut there */
	int digits;          /* of a real */
	bool fixed;          /* digits are those behind the point, of less than 10 */
	double (*make)(const rank_result *r); /* NULL: what is at that place */
} report_column;

extern const report_column report_plan_columns[], report_result_columns[], report_phase_columns[],
	report_rate_columns[];

#endif
