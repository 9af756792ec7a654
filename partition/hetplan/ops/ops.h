/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ops.h - from a request to its answer: the operations, and the members of an answer. */
#ifndef HETPLAN_OPS_H
#define HETPLAN_OPS_H

#include "hetplan/request/request.h"

/* Add a member to the answer, or an entry to a list. This takes value over; NULL means out of
 * memory. */
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

/* Return a number of an array of the answer; NaN if it is missing. */
double hp_at_index(const json_t *array, size_t i);

/* Return the index of the processor whose share is number j of the answer. */
size_t hp_served(const hp_job *job, size_t j);

/* Own the plan that a call of the library made, or fail with the reason of the call. */
bool hp_planned(hp_job *job, hetpart_status rc, hetpart_plan *const *plan);

/* Own the plan, and add it with "shares" to the answer. */
bool hp_put_planned(hp_job *job, hetpart_status rc, hetpart_plan *const *plan);

/* Find when each of n processors ends with the given shares, by the costs of the request; NaN if it
 * has none. "order" and "root" are in job->out. */
typedef bool hp_ends(hp_job *job, const uint64_t *share, size_t n, double *time);

/* The keys that hp_plan_limits() reads. */
#define HP_LIMIT_KEYS "time_limit_s", "max_mem_bytes"

/* An operation, which reads job->in and fills job->out. */
typedef struct hp_op {
	const char *name, *verb;
	bool (*perform)(hp_job *job);
	hp_ends *ends; /* NULL: the answer has no shares */
	const char *keys[16];
	const char *const *methods; /* which --compare tries; NULL: one */
} hp_op;

extern const hp_op hp_ops_share[], hp_ops_scatter[], hp_ops_chain[];

/* Find an operation; return NULL if it does not exist. */
const hp_op *hp_op_find(const char *name);

/* Perform the request in job->in; the reason of a failure is in job->text. */
bool hp_perform(hp_job *job);

/* Put the times of a chain into a job of their own, by replaying the fractions of the answer or of
 * the request. The caller frees that job, on failure too. */
bool hp_chain_dates(hp_job *job, hp_job *dates);

/* Simulate the farm of the request, and report each chunk to watch. The job owns the plan. */
bool hp_farm(hp_job *job, hetpart_farm_watch *watch, void *ctx, hetpart_plan **plan);

/* Return a new object of the answer with its request, as hp_verify() reads it; NULL if out of
 * memory. */
json_t *hp_with_request(const hp_job *job);

/* Replace the plan with its request, which the job has as job->in, by the request, and make the
 * answer again. The plan must keep to the request, and its times must match the costs. */
bool hp_verify(hp_job *job);

#endif
