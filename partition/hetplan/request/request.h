/* SPDX-License-Identifier: GPL-3.0-or-later */
/* request.h - a job, which is one request and its answer, and functions that read a request.
 * hp_job_free() frees everything that a job owns. */
#ifndef HETPLAN_REQUEST_H
#define HETPLAN_REQUEST_H

#include <jansson.h>
#include <stdio.h>

#include <hetpart.h>

#define HP_LEN(a)     (sizeof(a) / sizeof(a)[0])
#define HP_TEXT_BYTES 512

/* The largest request that is accepted. The program uses hp_program_limits; tests use less. */
typedef struct hp_limits {
	size_t line_bytes;      /* length of a request */
	size_t values;          /* JSON values, estimated before parsing */
	size_t depth;           /* nested arrays and objects */
	size_t procs;           /* processors */
	size_t loads;           /* loads of a chain */
	uint64_t items;         /* items to divide */
	uint64_t best_upto;     /* processes to try */
	uint64_t installments;  /* installments of one load; 0: no limit */
	uint64_t max_mem_bytes; /* memory of one plan; 0: the library's default */
	double time_limit_s;    /* time of one plan; 0: no limit; negative: the time is over */
} hp_limits;

extern const hp_limits hp_program_limits;

typedef struct hp_owned hp_owned; /* an object that is freed with its job */

/* One request and its answer. */
typedef struct hp_job {
	const hp_limits *limits;
	json_t *in;  /* the request, an object, once it is parsed */
	json_t *out; /* the answer, an object */
	hp_owned *owned;
	hetpart_err err;          /* of the last call of the library */
	const char *source;       /* the file that is being read, for messages; NULL: none */
	size_t line;              /* the line that is being read, for messages; 0: none */
	char text[HP_TEXT_BYTES]; /* the reason of a failure */
	const char *missing;      /* the member that the request requires but does not have */
} hp_job;

/* A value of the request and its path. It is the member `key` of the value at `up`, or the entry
 * `index` if key is NULL. */
typedef struct hp_at hp_at;
struct hp_at {
	const json_t *v; /* NULL: missing */
	const hp_at *up; /* NULL: the request */
	const char *key;
	size_t index;
};

/* Start a job that owns the request in, which may be NULL. Return false if out of memory. */
bool hp_job_init(hp_job *job, const hp_limits *limits, json_t *in);
void hp_job_free(hp_job *job);

/* Allocate n zeroed objects that the job owns. Return NULL after hp_fail(). */
void *hp_alloc(hp_job *job, size_t n, size_t size);

/* Let the job own an object of the library, which may be NULL. On failure the object is freed. */
typedef enum hp_object { HP_MEMORY, HP_COST, HP_PLAN, HP_MODEL, HP_SCHEDULE } hp_object;
bool hp_own(hp_job *job, hp_object kind, void *object);

/* Store in job->text why the job fails, with the path of the value unless at is NULL. The value of
 * hp_fail() is false. It is a macro so that compilers and analyzers know this in every file. */
void hp_set_reason(hp_job *job, const hp_at *at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
#define hp_fail(job, ...) (hp_set_reason(job, __VA_ARGS__), false)
#define hp_no_memory(job) hp_fail(job, NULL, "out of memory")

/* Return true if status is HETPART_OK, otherwise hp_fail() with the library's reason in job->err.
 */
bool hp_lib(hp_job *job, const hp_at *at, hetpart_status status);

/* --------------------------------------------------------------------------- text and numbers */

/* Copy n bytes of src, or as much as fits. Replace control bytes and invalid UTF-8 by \xNN. The
 * copy ends with a 0, and is never cut within a character. Return dst. */
char *hp_clean(char *dst, size_t size, const char *src, size_t n);

/* Return the bytes of the UTF-8 character at s, at most n; 0 if it is invalid or a control
 * character. */
size_t hp_utf8(const char *s, size_t n);

/* Return the columns of a cleaned text, one for each character. */
size_t hp_columns(const char *s);

/* Write a cleaned text as a field of CSV, in quotes if necessary. The text may be cut unless dst is
 * twice as long. Return dst. */
const char *hp_csv(char *dst, size_t size, const char *s);

/* Print "hetplan: " and a cleaned message on standard error. */
void hp_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Write a number with the fewest digits (at least 15) from which the same number is read; "null" if
 * it is not finite. */
#define HP_NUMBER_BYTES 32
const char *hp_number(char buf[HP_NUMBER_BYTES], double x);

/* Read a text without blanks as a number; false if it contains anything else. A count has no sign,
 * and may be written 1e6, 2.5e6 or 1M: k, M, G, T, P, E are powers of 1000. */
bool hp_text_count(const char *s, uint64_t *value);
bool hp_text_real(const char *s, double *value);

/* Write words, which end with NULL, separated by commas. */
void hp_join(char *buf, size_t size, const char *const *words);

/* --------------------------------------------------------------------------------- the request */

/* Parse a request into job->in, and expand its lists of {"repeat": N, "value": X}. line is the
 * number of its first line, for messages. */
bool hp_parse(hp_job *job, const char *text, size_t bytes, size_t line);

/* Find a member of an object such as the request, a member of the value at `up`, or an entry of the
 * value at `up`. */
hp_at hp_top(const json_t *obj, const char *key);
hp_at hp_member(const hp_at *up, const char *key);
hp_at hp_entry(const hp_at *up, size_t index);

/* Check that a value exists. All functions that read a value check this first. */
bool hp_present(hp_job *job, const hp_at *at);

/* Check that obj, an object at `at`, has only known keys; `known` ends with NULL. */
bool hp_keys(hp_job *job, const json_t *obj, const hp_at *at, const char *const *known);

/* Read one value of a type, within a range. For an array, *n is the required number of entries, or
 * 0 if up to max are allowed; it is set to their number. */
bool hp_whole(hp_job *job, const hp_at *at, uint64_t min, uint64_t max, uint64_t *out);
bool hp_real(hp_job *job, const hp_at *at, double *out);
bool hp_text(hp_job *job, const hp_at *at, const char **out);
bool hp_array(hp_job *job, const hp_at *at, size_t max, size_t *n);

/* Read optional members of the request: a number, or a text, of which *out is the index in names
 * (ends with NULL). If the member is missing, *out does not change. */
bool hp_optional(hp_job *job, const char *key, uint64_t min, uint64_t max, uint64_t *out);
bool hp_choice(hp_job *job, const char *key, const char *const *names, size_t *out);
bool hp_quantum(hp_job *job, uint64_t *out);

/* Read values of the request. The length of lists is checked as by hp_array(); the job owns their
 * memory. All are required except the list of hp_bounds(), which has n whole numbers or nulls; null
 * means `none`. */
bool hp_items(hp_job *job, uint64_t *items);
bool hp_reals(hp_job *job, const char *key, size_t max, const double **out, size_t *n);
bool hp_wholes(hp_job *job, const hp_at *at, uint64_t max, uint64_t **out, size_t *n);
bool hp_bounds(hp_job *job, const char *key, size_t n, uint64_t none, const uint64_t **out);

/* Read pairs of items and time. */
bool hp_points(hp_job *job, const hp_at *at, hetpart_point **out, size_t *n);

/* Read the limits of one plan from the request. A limit of job->limits that is smaller is used
 * instead. */
bool hp_time_limit(hp_job *job, double *time_limit_s);
bool hp_plan_limits(hp_job *job, double *time_limit_s, uint64_t *max_mem_bytes);

/* Return a cost from its object; NULL after hp_fail(). The job owns the cost. */
const hetpart_cost *hp_cost(hp_job *job, const hp_at *at);

/* Read a list of costs like hp_reals(). If `optional`, an entry may be null, which gives NULL. */
bool hp_costs(hp_job *job, const char *key, bool optional, const hetpart_cost ***out, size_t *n);

/* Read the processors of a scatter or a farm. */
bool hp_procs(hp_job *job, hetpart_scatter_proc **out, size_t *n);

/* Read the chain of the request; the job owns its arrays. */
bool hp_chain(hp_job *job, hetpart_chain *chain);

#endif
