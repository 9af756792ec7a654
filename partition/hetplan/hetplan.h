/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hetplan.h - what uses the answers to requests: batches, comparisons, the command line. */
#ifndef HETPLAN_H
#define HETPLAN_H

#include <sys/types.h>

#include "hetplan/display/display.h"

/* --------------------------------------------------------------------------------------- batch */

/* The answer to one request line, a new reference; NULL when out of memory. *ok receives whether
 * the request succeeded. */
json_t *hp_answer(const char *line, size_t bytes, size_t number, const struct hp_limits *limits,
		  bool *ok);

/* Answer all lines of in on out. Exit status: 0, or 1 if any failed. name is for messages. After
 * time_s, 0 for any time, lines are refused; plans take what is left of it at most. */
int hp_batch(FILE *in, const char *name, FILE *out, const struct hp_limits *limits, double time_s);

/* -------------------------------------------------------------------------------- command line */

enum hp_verdict { HP_RUN, HP_BATCH, HP_HELP, HP_VERSION, HP_USAGE, HP_REFUSED, HP_FAILED };
enum hp_format { HP_TABLE, HP_JSON, HP_CSV };
enum hp_chart { HP_CHART_AUTO, HP_CHART_YES, HP_CHART_NO };

/* A file that this run uses, known by more than its name. */
struct hp_file {
	const char *used_by;
	dev_t dev;
	ino_t ino;
};

struct hp_args {
	const char *verb, *op, *input, *svg, *html, *title;
	enum hp_format format;
	enum hp_chart gantt;
	bool compare;
	uint64_t width;         /* columns of a text chart */
	uint64_t max_steps;     /* of a method in a comparison */
	double batch_s;         /* time of a whole batch; 0: any */
	json_t *set;            /* members of the request that options give */
	struct hp_file file[5]; /* that hp_outputs_check() found */
	size_t nfiles;
};

/* The words of the command line; messages are printed. a->set is the caller's, also on failure. */
enum hp_verdict hp_args_parse(int argc, char **argv, struct hp_args *a);

/* The options that give a member of the request, in words; NULL if no option does. */
const char *hp_option_of(const char *key);

/* The nearest of words, up to NULL, if one letter, or two of five, make it this word; else NULL. */
const char *hp_nearest(const char *word, const char *const *words);

/* One word of an option as JSON, a new reference; NULL and a reason in why if it is none. */
enum hp_kind {
	HP_KIND_WORD,
	HP_KIND_WHOLE,
	HP_KIND_REAL,
	HP_KIND_WHOLES,
	HP_KIND_REALS,
	HP_KIND_COST,
	HP_KIND_COSTS,
	HP_KIND_POINTS,
	HP_KIND_SPEEDS,
	HP_KIND_NAMES
};
json_t *hp_option_value(enum hp_kind kind, const char *text, char why[HP_TEXT_BYTES]);

/* A file of speeds as an object: "speeds", and "names", "latency", "bandwidth" where it has them; a
 * new reference, NULL and a reason in why if it is none. text is cut to pieces; one byte behind it
 * is, too. */
json_t *hp_speeds_table(char *text, size_t bytes, char why[HP_TEXT_BYTES]);

/* All bytes of a file, '-' for standard input, up to one over the limit of a request, and room for
 * one more; the caller frees text, on failure too. */
bool hp_read_file(struct hp_job *job, const char *path, char **text, size_t *bytes);

/* Where --speeds names a file, what is in it takes its place among the members that options give.
 */
bool hp_read_speeds(struct hp_job *job, const struct hp_args *a);

/* -------------------------------------------------------------------------------- files written */

enum hp_role { HP_SVG, HP_HTML };

/* A file that is being written under a temporary name. */
struct hp_output {
	FILE *f;
	struct hp_job *job;
	const struct hp_args *args;
	enum hp_role role;
	const char *path; /* as the option names it */
	char *name;       /* without links */
	char *temp;       /* NULL for a pipe or a device, which is written directly */
};

/* Find the files that the run reads, and refuse to write over them, or over a file that hetplan did
 * not write for the same option; the reason is printed. */
bool hp_outputs_check(struct hp_args *a);

/* Write the file of --svg or --html: open, write to o->f, close with whether that worked. The file
 * gets its name in hp_output_close(), which checks again. False after hp_fail(). */
bool hp_output_open(struct hp_output *o, struct hp_job *job, const struct hp_args *a,
		    enum hp_role role);
bool hp_output_close(struct hp_output *o, bool ok);

/* ---------------------------------------------------------------------------------------- verbs */

/* Verbs: from the arguments to the exit status. */
int hp_verb(const struct hp_args *a);

/* --------------------------------------------------------------------------------- comparison */

/* Run every method of the operation and put them side by side in job->out. */
bool hp_compare(struct hp_job *job, uint64_t max_steps);
bool hp_print_comparison(FILE *f, const json_t *out, bool csv);

#endif
