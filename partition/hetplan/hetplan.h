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

/* A file that this job uses, identified by device and inode, as it may have several names. */
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
	uint64_t width;     /* columns of a text chart; 0: use COLUMNS */
	uint64_t max_steps; /* a comparison skips methods that need more */
	double batch_s;     /* time of a whole batch; 0: no limit */
	json_t *set;        /* members of the request from options */
	hp_file file[5];    /* files that hp_outputs_check() found */
	size_t nfiles;
} hp_args;

/* Parse the command line; if it has a mistake, print a message. The caller frees a->set, on failure
 * too. */
hp_verdict hp_args_parse(int argc, char **argv, hp_args *a);

/* Return the names of the options that set a member of the request, for a message, or NULL if no
 * option does. */
const char *hp_option_of(const char *key);

/* Return a new JSON value for a member of the request from the argument of its option. If word is
 * invalid, return NULL and store the reason in why. */
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

/* Return a new answer to one line of a batch; NULL if out of memory. Set *ok to whether the request
 * succeeded. */
json_t *hp_answer(const char *line, size_t bytes, size_t number, const hp_limits *limits, bool *ok);

/* Write an answer to out for each line of in; name is for messages. After time_s seconds (0: no
 * limit) requests are refused; until then, a plan may take the remaining time. Return the exit
 * status: 0, or 1 if any line failed. */
int hp_batch(FILE *in, const char *name, FILE *out, const hp_limits *limits, double time_s);

/* Perform the operation by every method, and store a row for each in job->out.
 * hp_print_comparison() prints the rows. */
bool hp_compare(hp_job *job, uint64_t max_steps);
bool hp_print_comparison(FILE *f, const json_t *out, bool csv);

/* ---------------------------------------------------------------------------------- files read */

/* Read a file, or standard input for '-'. Stop after the limit of a request plus at least one byte,
 * so that the caller sees that it is too long. The text has memory for one byte more. The caller
 * frees it, on failure too. */
bool hp_read_file(hp_job *job, const char *path, char **text, size_t *bytes);

/* Return a new object with the columns of a file of speeds: "speeds", and "names", "latency",
 * "bandwidth" if the file has them; NULL after hp_fail(). The text and the byte after it are
 * changed. */
json_t *hp_speeds_table(hp_job *job, char *text, size_t bytes);

/* If --speeds names a file, replace the name in a->set by the speeds in the file or, for a scatter,
 * by processors. */
bool hp_read_speeds(hp_job *job, const hp_args *a);

/* ------------------------------------------------------------------------------- files written */

typedef enum hp_role { HP_SVG, HP_HTML } hp_role;

/* A file that is being written under a temporary name. */
typedef struct hp_output {
	FILE *f;
	hp_job *job;
	const hp_args *args;
	hp_role role;
	const char *path; /* as given by the option */
	char *name;       /* the same without symbolic links */
	char *temp;       /* NULL for a pipe or a device, which is written directly */
} hp_output;

/* Record the files that the job reads. Return false, after a message, if an output would overwrite
 * one of them or a file that hetplan did not write for the same option. */
bool hp_outputs_check(hp_args *a);

/* Open and close the file of --svg or --html; between the calls it is written to o->f. ok states
 * whether that succeeded. hp_output_close() repeats the check of hp_outputs_check() and gives the
 * file its name. Both return false after hp_fail(). */
bool hp_output_open(hp_output *o, hp_job *job, const hp_args *a, hp_role role);
bool hp_output_close(hp_output *o, bool ok);

#endif
