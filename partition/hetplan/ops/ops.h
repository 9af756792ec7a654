/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ops.h - the operations, which compute the answer to a request, and the members of an answer. */
#ifndef HETPLAN_OPS_H
#define HETPLAN_OPS_H

#include "hetplan/request/request.h"

/* Add a member to the answer, or an entry to a list, and take over the reference to value. A value
 * of NULL means out of memory. */
bool hp_put(hp_job *job, const char *key, json_t *value);
bool hp_append(hp_job *job, json_t *list, json_t *value);
bool hp_put_indices(hp_job *job, const char *key, const size_t *v, size_t n);
bool hp_put_wholes(hp_job *job, const char *key, const uint64_t *v, size_t n);
bool hp_put_reals(hp_job *job, const char *key, const double *v, size_t n);

/* Add shares under the given key, real shares, times, makespan, bounds and method. */
bool hp_put_plan(hp_job *job, const char *shares, const hetpart_plan *plan);

/* Add the reason why a method ended early, if it did. */
bool hp_put_stopped(hp_job *job, hetpart_status why);

/* Make a JSON number, or null if JSON cannot express x. */
json_t *hp_json_real(double x);

/* Return entry i of an array of the answer; NaN if it is not a number. */
double hp_at_index(const json_t *array, size_t i);

/* Return the index of the processor whose share is number j of the answer. */
size_t hp_served(const hp_job *job, size_t j);

/* Let the job own the plan that a call of the library has made, or fail with the reason of rc. */
bool hp_planned(hp_job *job, hetpart_status rc, hetpart_plan *const *plan);

/* Do the same, and add the plan to the answer with its shares as "shares". */
bool hp_put_planned(hp_job *job, hetpart_status rc, hetpart_plan *const *plan);

/* Set time[j] to the time at which the processor of share[j] ends, by the costs of the request; NaN
 * if it has no costs. "order" and "root" must be in job->out. */
typedef bool hp_ends(hp_job *job, const uint64_t *share, size_t n, double *time);

/* The keys that hp_plan_limits() reads. */
#define HP_LIMIT_KEYS "time_limit_s", "max_mem_bytes"

/* An operation, which reads job->in and fills job->out. */
typedef struct hp_op {
	const char *name, *verb;
	bool (*perform)(hp_job *job);
	hp_ends *ends; /* NULL: the answer has no shares */
	const char *keys[20];
	const char *const *methods; /* methods for --compare; NULL: there is only one */
} hp_op;

extern const hp_op hp_ops_share[], hp_ops_scatter[], hp_ops_chain[];

/* Find an operation; return NULL if it does not exist. */
const hp_op *hp_op_find(const char *name);

/* Perform the request in job->in; the reason of a failure is in job->text. */
bool hp_perform(hp_job *job);

/* Compute the times of a chain by replaying the fractions of the answer or of the request. The
 * times are in dates->out. The caller frees dates, on failure too. */
bool hp_chain_dates(hp_job *job, hp_job *dates);

/* Simulate the farm of the request, and call watch for each chunk. The job owns *plan. */
bool hp_farm(hp_job *job, hetpart_farm_watch *watch, void *ctx, hetpart_plan **plan);

/* Return a new object with the answer and its request, which hp_verify() can read; NULL if out of
 * memory. */
json_t *hp_with_request(const hp_job *job);

/* Verify an answer with its request, as hp_with_request() makes it, which is in job->in. Move the
 * request to job->in and the answer to job->out. The shares must satisfy the request, and the times
 * must match the costs. */
bool hp_verify(hp_job *job);

#endif
