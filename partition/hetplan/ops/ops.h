/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ops.h - from a request to its answer: the operations, and the members of an answer. */
#ifndef HETPLAN_OPS_H
#define HETPLAN_OPS_H

#include "hetplan/request/request.h"

/* Add a member to the answer; takes value over, NULL is out of memory. */
bool hp_put(struct hp_job *job, const char *key, json_t *value);

/* A number, or null where JSON has none. */
json_t *hp_json_real(double x);

/* The number at a path of an answer's arrays; NaN where there is none. */
double hp_at_index(const json_t *array, size_t i);

/* A date of an answer: null is infinite. */
double hp_at_key(const json_t *object, const char *key);

/* Shares under that name, real shares, times, makespan, bounds, method. */
bool hp_put_plan(struct hp_job *job, const char *shares, const hetpart_plan *plan);

/* What ended a method early, if something did. */
bool hp_put_stopped(struct hp_job *job, hetpart_status why);
bool hp_put_indices(struct hp_job *job, const char *key, const size_t *v, size_t n);
bool hp_put_reals(struct hp_job *job, const char *key, const double *v, size_t n);

/* When each of n processors ends with such shares, by the costs of the request; NaN where it has
 * none. "order" and "root" are in job->out. */
typedef bool hp_ends(struct hp_job *job, const uint64_t *share, size_t n, double *time);

/* The keys that hp_plan_limits() reads. */
#define LIMITS "time_limit_s", "max_mem_bytes"

/* An operation: reads job->in, fills in job->out. */
struct hp_op {
	const char *name, *verb;
	bool (*run)(struct hp_job *job);
	hp_ends *ends; /* NULL: the answer has no shares */
	const char *keys[16];
	const char *methods[16]; /* what --compare tries */
};

extern const struct hp_op hp_ops_share[], hp_ops_scatter[], hp_ops_chain[];

/* The operation of that name; NULL if there is none. */
const struct hp_op *hp_op_find(const char *name);

/* Whether the program has such a verb. */
bool hp_verb_known(const char *verb);

/* The operation of the request, whose keys and names are checked; NULL after hp_fail(). */
const struct hp_op *hp_request_op(struct hp_job *job);

/* Whether the names of the request are as many as the processors of the answer, where it has any.
 */
bool hp_enough_names(struct hp_job *job);

/* The dates of a chain into a job of their own: those of the answer, or of a replay of its
 * fractions. Free it whatever this returns. */
bool hp_chain_dates(struct hp_job *job, struct hp_job *dates);

/* The answer with its request, as a file that hp_verify() reads; a new reference, NULL when out of
 * memory. */
json_t *hp_with_request(const struct hp_job *job);

/* Make the job that of a plan in a file: its request, and its answer where that keeps to the
 * request and its dates are those of the costs. */
bool hp_verify(struct hp_job *job, struct hp_job *file);

/* Simulate the farm of the request; watch is told of each chunk. The plan belongs to the job. */
bool hp_farm(struct hp_job *job, hetpart_farm_watch *watch, void *ctx, hetpart_plan **plan);

/* Run the request in job->in; on failure the reason is in job->text. */
bool hp_run(struct hp_job *job);

#endif
