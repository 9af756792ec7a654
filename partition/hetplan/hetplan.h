/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hetplan.h - what the files of the program hetplan share: a job (one request and its answer), how
 * it is read, planned, written and drawn. The answer object is the one truth: tables, CSV and
 * charts are made from it. Everything a job takes is given back by hp_job_free(). */
#ifndef HETPLAN_H
#define HETPLAN_H

#include <jansson.h>
#include <stdio.h>

#include <hetpart.h>

#define HP_LEN(a) (sizeof(a) / sizeof(a)[0])

/* --------------------------------------------------------------------------------------- jobs */

/* What a request may ask for. The program takes hp_limits; tests and fuzzers take less. */
struct hp_limits {
	size_t line_bytes;      /* one request */
	size_t values;          /* JSON values in it, about */
	size_t depth;           /* arrays and objects inside each other */
	size_t procs;           /* processors */
	size_t loads;           /* loads of a chain */
	uint64_t items;         /* items to divide */
	uint64_t best_upto;     /* processes to try */
	uint64_t installments;  /* installments of one load; 0: any number */
	uint64_t max_mem_bytes; /* memory of one plan; 0: the library's default */
};

extern const struct hp_limits hp_limits;

#define HP_TEXT_BYTES 512

struct hp_owned; /* a piece of memory or an object that goes with the job */

/* One request and its answer. */
struct hp_job {
	const struct hp_limits *limits;
	json_t *in;               /* the request, an object, once it is parsed */
	json_t *out;              /* the answer, an object */
	struct hp_owned *owned;   /* given back in the end */
	char text[HP_TEXT_BYTES]; /* why it failed */
};

/* Where in the request a value stands: a key, or an index if key is NULL. */
struct hp_at {
	const struct hp_at *up;
	const char *key;
	size_t index;
};

/* A job for a request; in may be NULL, and is taken over. False when out of memory. */
bool hp_job_init(struct hp_job *job, const struct hp_limits *limits, json_t *in);
void hp_job_free(struct hp_job *job);

/* Zeroed memory for n objects that goes with the job; NULL after hp_fail(). */
void *hp_alloc(struct hp_job *job, size_t n, size_t size);

/* The job takes over the object, which may be NULL; on failure it is freed at once. */
bool hp_own_cost(struct hp_job *job, hetpart_cost *cost);
bool hp_own_plan(struct hp_job *job, hetpart_plan *plan);
bool hp_own_model(struct hp_job *job, hetpart_model *model);
bool hp_own_schedule(struct hp_job *job, hetpart_schedule *schedule);

/* Note why the job fails, where at is not NULL behind the path of the value. hp_fail is also false:
 * a macro, so that compilers and analyzers see it in every file. */
void hp_tell(struct hp_job *job, const struct hp_at *at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
#define hp_fail(job, ...) (hp_tell(job, __VA_ARGS__), false)

/* True if the library succeeded, otherwise hp_fail() with its reason. */
bool hp_lib(struct hp_job *job, const struct hp_at *at, hetpart_status status,
	    const hetpart_err *err);

/* ------------------------------------------------------------------------------ text and output */

/* Copy src, up to n bytes, with control bytes and broken UTF-8 as \xNN; always ends in 0, never in
 * half a character. Returns dst. */
char *hp_clean(char *dst, size_t size, const char *src, size_t n);

/* Bytes of the UTF-8 character at s, of at most n bytes; 0 if it is broken or a control. */
size_t hp_utf8(const char *s, size_t n);

/* Columns that a clean text takes, one for each character. */
size_t hp_columns(const char *s);

/* A clean text as a field of CSV, quoted if it must be; cut if dst is less than twice as long.
 * Returns dst. */
const char *hp_csv(char *dst, size_t size, const char *s);

/* "hetplan: " and a message on standard error, cleaned. */
void hp_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The shortest text that reads back as the same number; "null" for what JSON cannot write. */
#define HP_NUMBER_BYTES 32
const char *hp_number(char buf[HP_NUMBER_BYTES], double x);

/* A JSON value on one line, with a line feed. False if it cannot be written. */
bool hp_write_json(FILE *f, const json_t *v);

/* Decimal text as numbers: the whole of it, no blanks, no signs of whole numbers. */
bool hp_text_whole(const char *s, uint64_t *value);
bool hp_text_real(const char *s, double *value);

/* --------------------------------------------------------------------------------- the request */

/* Bytes as a request into job->in; line is the number of the first line in messages. */
bool hp_parse(struct hp_job *job, const char *text, size_t bytes, size_t line);

/* The value of a key that must be there; NULL after hp_fail(). */
const json_t *hp_need(struct hp_job *job, const json_t *obj, const struct hp_at *up,
		      const char *key);

/* obj is an object and has no other keys than these (NULL behind the last). */
bool hp_keys(struct hp_job *job, const json_t *obj, const struct hp_at *at,
	     const char *const *known);

/* One value of a type, in a range. */
bool hp_whole(struct hp_job *job, const json_t *v, const struct hp_at *at, uint64_t min,
	      uint64_t max, uint64_t *out);
bool hp_real(struct hp_job *job, const json_t *v, const struct hp_at *at, double *out);
bool hp_array(struct hp_job *job, const json_t *v, const struct hp_at *at, size_t max, size_t *n);

/* How a list is read: the key it stands under, most entries, and how one of them becomes an object
 * of that size at out. */
struct hp_list {
	const char *key;
	size_t most, size;
	bool (*read)(struct hp_job *job, const json_t *v, const struct hp_at *at, const void *ctx,
		     void *out);
	const void *ctx; /* handed to read */
};

/* The entries of a list that must be there, and has *n entries unless *n is 0; NULL after
 * hp_fail(). Memory belongs to the job. */
void *hp_list(struct hp_job *job, const json_t *obj, const struct hp_at *up,
	      const struct hp_list *list, size_t *n);

/* A number and lists of numbers under a key of the request. Lists must be there, and have want
 * entries unless *n is 0, then up to max; memory belongs to the job. */
bool hp_items(struct hp_job *job, uint64_t *items);
bool hp_reals(struct hp_job *job, const char *key, size_t max, double **out, size_t *n);
bool hp_wholes(struct hp_job *job, const char *key, uint64_t max, uint64_t **out, size_t *n);

/* Pairs of items and time under a key that must be there. */
bool hp_points(struct hp_job *job, const json_t *obj, const struct hp_at *up, const char *key,
	       hetpart_point **out, size_t *n);

/* The index of the text under a key among names (NULL behind the last); untouched if it is not
 * there. */
bool hp_choice(struct hp_job *job, const char *key, const char *const *names, size_t *out);

/* A cost from its object; NULL after hp_fail(). It belongs to the job. */
const hetpart_cost *hp_cost(struct hp_job *job, const json_t *v, const struct hp_at *at);

/* The costs in an array, as hp_reals(); where free is true, null means NULL. */
bool hp_costs(struct hp_job *job, const char *key, bool free, const hetpart_cost ***out, size_t *n);

/* The processors of a scatter or a farm. */
bool hp_procs(struct hp_job *job, hetpart_scatter_proc **out, size_t *n);

/* The chain of the request; pointers belong to the job. */
bool hp_chain(struct hp_job *job, hetpart_chain *chain);

/* ----------------------------------------------------------------------------------- the answer */

/* Add a member to the answer; takes value over, NULL is out of memory. */
bool hp_put(struct hp_job *job, const char *key, json_t *value);

/* A number, or null where JSON has none. */
json_t *hp_json_real(double x);

/* The number at a path of an answer's arrays; NaN where there is none. */
double hp_at_index(const json_t *array, size_t i);

/* Shares under that name, real shares, times, makespan, bounds, method. */
bool hp_put_plan(struct hp_job *job, const char *shares, const hetpart_plan *plan);
bool hp_put_indices(struct hp_job *job, const char *key, const size_t *v, size_t n);
bool hp_put_reals(struct hp_job *job, const char *key, const double *v, size_t n);

/* An operation: reads job->in, fills in job->out. */
struct hp_op {
	const char *name, *verb;
	bool (*run)(struct hp_job *job);
	const char *keys[16];
	const char *methods[16]; /* what --compare tries */
};

extern const struct hp_op hp_ops_share[], hp_ops_scatter[], hp_ops_chain[];

/* The operation of that name; NULL if there is none. */
const struct hp_op *hp_op_find(const char *name);

/* Whether the program has such a verb. */
bool hp_verb_known(const char *verb);

/* Simulate the farm of the request; watch is told of each chunk. The plan belongs to the job. */
bool hp_farm(struct hp_job *job, hetpart_farm_watch *watch, void *ctx, hetpart_plan **plan);

/* Run the request in job->in; on failure the reason is in job->text. */
bool hp_run(struct hp_job *job);

/* --------------------------------------------------------------------------------------- batch */

/* The answer to one request line, a new reference; NULL when out of memory. *ok receives whether
 * the request succeeded. */
json_t *hp_answer(const char *line, size_t bytes, size_t number, const struct hp_limits *limits,
		  bool *ok);

/* Answer all lines of in on out. Exit status: 0, or 1 if any failed. name is for messages. */
int hp_batch(FILE *in, const char *name, FILE *out, const struct hp_limits *limits);

/* -------------------------------------------------------------------------------- command line */

enum hp_verdict { HP_RUN, HP_BATCH, HP_HELP, HP_VERSION, HP_USAGE, HP_FAILED };
enum hp_format { HP_TABLE, HP_JSON, HP_CSV };
enum hp_chart { HP_CHART_AUTO, HP_CHART_YES, HP_CHART_NO };

struct hp_args {
	const char *verb, *op, *input, *svg, *title;
	enum hp_format format;
	enum hp_chart gantt;
	bool compare;
	uint64_t width;     /* columns of a text chart */
	uint64_t max_steps; /* of a method in a comparison */
	json_t *set;        /* members of the request that options give */
};

/* The words of the command line; messages are printed. a->set is the caller's, also on failure. */
enum hp_verdict hp_args_parse(int argc, char **argv, struct hp_args *a);

/* One word of an option as JSON, a new reference; NULL and a reason in why if it is none. */
enum hp_kind {
	HP_KIND_WORD,
	HP_KIND_WHOLE,
	HP_KIND_WHOLES,
	HP_KIND_REALS,
	HP_KIND_COST,
	HP_KIND_COSTS,
	HP_KIND_POINTS,
	HP_KIND_NAMES
};
json_t *hp_option_value(enum hp_kind kind, const char *text, char why[HP_TEXT_BYTES]);

/* Verbs: from the arguments to the exit status. */
int hp_verb(const struct hp_args *a);

/* ------------------------------------------------------------------------------------- display */

/* The answer as a table (with head lines) or as CSV. False if out of memory or not written. */
bool hp_print_table(FILE *f, struct hp_job *job);
bool hp_print_csv(FILE *f, struct hp_job *job);

/* Run every method of the operation and put them side by side in job->out. */
bool hp_compare(struct hp_job *job, uint64_t max_steps);
bool hp_print_comparison(FILE *f, const json_t *out, bool csv);

/* Who does what, when. */
enum hp_bar_kind { HP_BAR_RECEIVE, HP_BAR_SEND, HP_BAR_COMPUTE };
struct hp_bar {
	size_t row;
	enum hp_bar_kind kind;
	double start, end;
	bool next; /* another piece of work begins: marked in a text chart */
};
struct hp_bars {
	size_t nrows, nbars;
	char **names; /* nrows, clean */
	struct hp_bar *bar;
	double end;   /* of the last bar */
	bool has[3];  /* kinds that are there */
	bool pieces;  /* bars are pieces of work, one after the other */
	bool overlap; /* messages and computation of a processor at the same time */
};

/* The bars of an answer; they belong to the job. */
bool hp_bars(struct hp_job *job, struct hp_bars *bars);

/* A step of 1, 2 or 5 times a power of ten that divides end in at most n parts. */
double hp_tick(double end, unsigned n);

bool hp_gantt(FILE *f, const struct hp_bars *bars, size_t columns);
bool hp_svg(FILE *f, const struct hp_bars *bars, const char *title);

#endif
