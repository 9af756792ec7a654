/* SPDX-License-Identifier: GPL-3.0-or-later */
/* request.h - a job, which is one request and its answer, and how it is read. Everything a job
 * takes is given back by hp_job_free(). */
#ifndef HETPLAN_REQUEST_H
#define HETPLAN_REQUEST_H

#include <jansson.h>
#include <stdio.h>

#include <hetpart.h>

#define HP_LEN(a) (sizeof(a) / sizeof(a)[0])

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
	double time_limit_s;    /* most time of one plan; 0: any; below: there is none left */
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
	const char *missing;      /* the member that the request needs and does not have */
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

/* --------------------------------------------------------------------------- text and numbers */

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

/* Decimal text as numbers: the whole of it, no blanks, no signs of whole numbers.
 * Counts may be written 1e6, 2.5e6, 1M: k, M, G, T, P, E are powers of 1000. */
bool hp_text_count(const char *s, uint64_t *value);

bool hp_text_real(const char *s, double *value);

/* --------------------------------------------------------------------------------- the request */

/* Write {"repeat": N, "value": X} in the lists of the request out as X, N times. */
bool hp_repeat(struct hp_job *job);

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

/* A whole number for each of n processors, if the key is there; null is none. */
bool hp_bounds(struct hp_job *job, const char *key, size_t n, uint64_t none, const uint64_t **out);

/* The number of which shares are multiples, if it is there. */
bool hp_quantum(struct hp_job *job, uint64_t *out);

/* Pairs of items and time under a key that must be there. */
bool hp_points(struct hp_job *job, const json_t *obj, const struct hp_at *up, const char *key,
	       hetpart_point **out, size_t *n);

/* The time of one plan: that of the request, where it has one, and at most the job's. */
bool hp_time_limit(struct hp_job *job, double *time_limit_s);

/* The limits of one plan: those of the request, where it has some, and at most the job's. */
bool hp_plan_limits(struct hp_job *job, double *time_limit_s, uint64_t *max_mem_bytes);

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

#endif
