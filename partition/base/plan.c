/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plan.c - the result object of every planner: made, closed, read, compared.
 * May not touch: how shares are found. Costs O(p). */
#include <math.h>
#include <stdlib.h>

#include "part.h"

hetpart_plan *part_plan_new(size_t nprocs, uint64_t items, const char *method)
{
	hetpart_plan *pl = part_calloc(1, sizeof *pl);

	if (!pl)
		return NULL;
	pl->nprocs = nprocs;
	pl->items = items;
	pl->method = method;
	pl->real_makespan = NAN;
	pl->lower = NAN;
	pl->share = part_calloc(nprocs, sizeof *pl->share);
	pl->real = part_calloc(nprocs, sizeof *pl->real);
	pl->time = part_calloc(nprocs, sizeof *pl->time);
	if (!pl->share || !pl->real || !pl->time) {
		hetpart_plan_free(pl);
		return NULL;
	}
	for (size_t i = 0; i < nprocs; i++)
		pl->real[i] = NAN;
	return pl;
}

hetpart_status part_plan_close(hetpart_plan *pl, hetpart_err *err)
{
	uint64_t left = pl->items;

	pl->makespan = 0;
	for (size_t i = 0; i < pl->nprocs; i++) {
		if (!(pl->time[i] >= 0))
			return part_fail(err, HETPART_EINTERNAL, "processor %zu ends at '%g'", i,
					 pl->time[i]);
		if (pl->share[i] > left)
			return part_fail(err, HETPART_EINTERNAL, "the shares exceed the items");
		left -= pl->share[i];
		if (pl->time[i] > pl->makespan)
			pl->makespan = pl->time[i];
	}
	if (left)
		return part_fail(err, HETPART_EINTERNAL, "the shares lack %llu items",
				 (unsigned long long)left);
	if (pl->best)
		pl->lower = pl->makespan;
	return HETPART_OK;
}

size_t hetpart_plan_nprocs(const hetpart_plan *plan)
{
	return plan ? plan->nprocs : 0;
}

uint64_t hetpart_plan_items(const hetpart_plan *plan)
{
	return plan ? plan->items : 0;
}

uint64_t hetpart_plan_share(const hetpart_plan *plan, size_t proc)
{
	return plan && proc < plan->nprocs ? plan->share[proc] : 0;
}

const uint64_t *hetpart_plan_shares(const hetpart_plan *plan)
{
	return plan ? plan->share : NULL;
}

uint64_t hetpart_plan_first(const hetpart_plan *plan, size_t proc)
{
	uint64_t first = 0;

	for (size_t i = 0; plan && i < plan->nprocs && i < proc; i++)
		first += plan->share[i];
	return first;
}

void hetpart_plan_offsets(const hetpart_plan *plan, uint64_t *first)
{
	uint64_t at = 0;

	if (!plan || !first)
		return;
	for (size_t i = 0; i < plan->nprocs; i++) {
		first[i] = at;
		at += plan->share[i];
	}
	first[plan->nprocs] = at;
}

const double *hetpart_plan_real_shares(const hetpart_plan *plan)
{
	return plan ? plan->real : NULL;
}

const double *hetpart_plan_times(const hetpart_plan *plan)
{
	return plan ? plan->time : NULL;
}

double hetpart_plan_real_share(const hetpart_plan *plan, size_t proc)
{
	return plan && proc < plan->nprocs ? plan->real[proc] : NAN;
}

double hetpart_plan_time(const hetpart_plan *plan, size_t proc)
{
	return plan && proc < plan->nprocs ? plan->time[proc] : NAN;
}

double hetpart_plan_makespan(const hetpart_plan *plan)
{
	return plan ? plan->makespan : NAN;
}

double hetpart_plan_real_makespan(const hetpart_plan *plan)
{
	return plan ? plan->real_makespan : NAN;
}

double hetpart_plan_lower_bound(const hetpart_plan *plan)
{
	return plan ? plan->lower : NAN;
}

hetpart_status hetpart_plan_stopped(const hetpart_plan *plan)
{
	return plan ? plan->stopped : HETPART_EINVAL;
}

const char *hetpart_plan_method(const hetpart_plan *plan)
{
	return plan ? plan->method : "";
}

uint64_t part_mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) + UINT64_C(0x9e3779b97f4a7c15);
	h = (h ^ (h >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	h = (h ^ (h >> 27)) * UINT64_C(0x94d049bb133111eb);
	return h ^ (h >> 31);
}

uint64_t hetpart_plan_hash(const hetpart_plan *plan)
{
	uint64_t h;

	if (!plan)
		return 0;
	h = part_mix(0, plan->nprocs);
	for (size_t i = 0; i < plan->nprocs; i++)
		h = part_mix(h, plan->share[i]);
	return h;
}

void hetpart_plan_free(hetpart_plan *plan)
{
	if (!plan)
		return;
	free(plan->share);
	free(plan->real);
	free(plan->time);
	free(plan);
}
