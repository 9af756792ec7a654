/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hetplan.h - the command line, batches, comparisons, and the files that hetplan reads and writes.
 */
#ifndef HETPLAN_H
#define HETPLAN_H

#include <sys/types.h>
#include <time.h>

#include "hetplan/display/display.h"

/* -------------------------------------------------------------------------------- command line */

typedef enum hp_verdict {
	HP_VERB,
	HP_BATCH,
	HP_HELP,
	HP_VERSION,
	HP_USAGE,
	HP_REFUSED,
	HP_FAILED
} hp_verdict;
typedef enum hp_format { HP_TABLE, HP_JSON, HP_CSV } hp_format;
typedef enum hp_chart { HP_CHART_AUTO, HP_CHART_YES, HP_CHART_NO } hp_chart;

/* A file that this job uses, identified by more than its name. */
typedef struct hp_file {
	const char *used_by;
	dev_t dev;
	ino_t ino;
} hp_file;

typedef struct hp_args {
	const char *verb, *op, *input, *svg, *html, *title;
	hp_format format;
	hp_chart gantt;
	bool compare;
	uint64_t width;     /* columns of a text chart; 0: by the environment */
	uint64_t max_steps; /* of a method in a comparison */
	double batch_s;     /* time of a whole batch; 0: no limit */
	json_t *set;        /* members of the request that options give */
	hp_file file[5];    /* which hp_outputs_check() found */
	size_t nfiles;
} hp_args;

/* Parse the command line, and print a message about a mistake. The caller frees a->set, on failure
 * too. */
hp_verdict hp_args_parse(int argc, char **argv, hp_args *a);

/* Return the options that give a member of the request, for a message; NULL if none does. */
const char *hp_option_of(const char *key);

/* Return a new JSON value for the word of the option that gives a member of the request; NULL and a
 * reason in why if it is invalid. */
json_t *hp_option_value(const char *key, const char *word, char why[HP_TEXT_BYTES]);

/* --------------------------------------------------------------------------------------- verbs */

/* Perform a verb. Return the exit status. */
int hp_verb(const hp_args *a);

/* Return the seconds of a clock that only moves forward. */
static inline double hp_now_s(void)
{
	struct timespec t = { 0 };
	clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail: the clock always exists */
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Return a new answer to one request line; NULL if out of memory. *ok receives whether the request
 * succeeded. */
json_t *hp_answer(const char *line, size_t bytes, size_t number, const hp_limits *limits, bool *ok);

/* Answer all lines of in on out; name is for messages. After time_s seconds (0: no limit) lines are
 * refused; until then, a plan takes at most the time that is left. Return the exit status: 0, or 1
 * if any line failed. */
int hp_batch(FILE *in, const char *name, FILE *out, const hp_limits *limits, double time_s);

/* Perform the operation by every method, and put the results next to each other in job->out. */
bool hp_compare(hp_job *job, uint64_t max_steps);
bool hp_print_comparison(FILE *f, const json_t *out, bool csv);

/* ---------------------------------------------------------------------------------- files read */

/* Read a file, or standard input for '-', up to one byte over the limit of a request. The text has
 * room for one more byte. The caller frees it, on failure too. */
bool hp_read_file(hp_job *job, const char *path, char **text, size_t *bytes);

/* Make a new object of a file of speeds: "speeds", and "names", "latency", "bandwidth" if the file
 * has them. Return NULL after hp_fail(). text and one byte after it change. */
json_t *hp_speeds_table(hp_job *job, char *text, size_t bytes);

/* Read the file that --speeds names, if any, and put its contents into the request instead. */
bool hp_read_speeds(hp_job *job, const hp_args *a);

/* ------------------------------------------------------------------------------- files written */

typedef enum hp_role { HP_SVG, HP_HTML } hp_role;

/* A file that is being written under a temporary name. */
typedef struct hp_output {
	FILE *f;
	hp_job *job;
	const hp_args *args;
	hp_role role;
	const char *path; /* as the option names it */
	char *name;       /* without links */
	char *temp;       /* NULL for a pipe or a device, which is written directly */
} hp_output;

/* Record the files that the job reads. Refuse to write over them, or over a file that hetplan did
 * not write for the same option; print the reason. */
bool hp_outputs_check(hp_args *a);

/* Open and close the file of --svg or --html, which is written to o->f in between; ok means that
 * writing worked. Closing checks again and gives the file its name. Both are false after hp_fail().
 */
bool hp_output_open(hp_output *o, hp_job *job, const hp_args *a, hp_role role);
bool hp_output_close(hp_output *o, bool ok);

#endif
