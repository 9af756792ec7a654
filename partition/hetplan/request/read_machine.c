/* SPDX-License-Identifier: GPL-3.0-or-later */
/* read_machine.c - the machine a request describes: a cost for each processor, processors with
 * links, a chain.
 * May not touch: how it is planned. Costs one library object for each cost. */
#include "request.h"

static bool cost(struct hp_job *job, const json_t *v, const struct hp_at *at, const void *free,
		 void *out)
{
	const hetpart_cost **c = out;

	return (*(const bool *)free && json_is_null(v)) || (*c = hp_cost(job, v, at));
}

bool hp_costs(struct hp_job *job, const char *key, bool free, const hetpart_cost ***out, size_t *n)
{
	const struct hp_list list = { key, job->limits->procs, sizeof **out, cost, &free };

	return (*out = hp_list(job, job->in, NULL, &list, n)) != NULL;
}

static bool proc(struct hp_job *job, const json_t *v, const struct hp_at *at, const void *ctx,
		 void *out)
{
	static const char *const keys[] = { "compute", "link", NULL };
	const struct hp_at compute_at = { at, "compute", 0 }, link_at = { at, "link", 0 };
	const json_t *compute, *link = json_object_get(v, "link");
	hetpart_scatter_proc *p = out;

	(void)ctx;
	if (!hp_keys(job, v, at, keys) || !(compute = hp_need(job, v, at, "compute")) ||
	    !(p->compute = hp_cost(job, compute, &compute_at)))
		return false;
	return !link || (p->link = hp_cost(job, link, &link_at));
}

bool hp_procs(struct hp_job *job, hetpart_scatter_proc **out, size_t *n)
{
	const struct hp_list list = { "processors", job->limits->procs, sizeof **out, proc, NULL };

	*n = 0;
	return (*out = hp_list(job, job->in, NULL, &list, n)) != NULL;
}

static bool exactly_reals(struct hp_job *job, const char *key, size_t n, const double **out)
{
	double *list = NULL;

	if (!hp_reals(job, key, n, &list, &n))
		return false;
	*out = list;
	return true;
}

/* One of the arrays of a chain that may be left out. */
static bool maybe_reals(struct hp_job *job, const char *key, size_t n, const double **out)
{
	return !json_object_get(job->in, key) || exactly_reals(job, key, n, out);
}

static bool installments(struct hp_job *job, hetpart_chain *c)
{
	const struct hp_at at = { NULL, "installments", 0 };
	uint64_t *list, max = job->limits->installments ? job->limits->installments : UINT32_MAX;
	size_t *counts, n = c->nloads;

	if (!json_object_get(job->in, "installments"))
		return true;
	if (!hp_wholes(job, "installments", max, &list, &n) ||
	    !(counts = hp_alloc(job, n, sizeof *counts)))
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct hp_at here = { &at, NULL, i };
		if (list[i] == 0)
			return hp_fail(job, &here, "'0' installments: want at least 1");
		counts[i] = (size_t)list[i];
	}
	c->installments = counts;
	return true;
}

bool hp_chain(struct hp_job *job, hetpart_chain *c)
{
	double *w, *vcomm;
	size_t links;

	*c = (hetpart_chain)HETPART_CHAIN_INIT;
	if (!hp_reals(job, "w", job->limits->procs, &w, &c->nprocs) ||
	    !hp_reals(job, "vcomm", job->limits->loads, &vcomm, &c->nloads))
		return false;
	c->w = w;
	c->vcomm = vcomm;
	links = c->nprocs ? c->nprocs - 1 : 0;
	return exactly_reals(job, "z", links, &c->z) &&
	       maybe_reals(job, "tau", c->nprocs, &c->tau) &&
	       maybe_reals(job, "latency", links, &c->latency) &&
	       exactly_reals(job, "vcomp", c->nloads, &c->vcomp) && installments(job, c);
}
