/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gather.c - the same on every rank: speeds, observations, plans with a compared hash.
 * May not touch: how shares are found. Costs one or two collectives for each call. */
#include "hm.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

/* The hash and its complement: both have the same least value only if all are equal. */
hetpart_status hm_same_plan(struct hm *h, const hetpart_plan *plan, hetpart_err *err)
{
	const uint64_t hash = hetpart_plan_hash(plan);
	const uint64_t mine[2] = { hash, ~hash };
	uint64_t least[2] = { 0, 0 };
	const hetpart_status st = hm_least(h, mine, least, 2, MPI_UINT64_T, err);

	if (st == HETPART_OK && least[0] != ~least[1])
		return hm_fail(err, HETPART_EINVAL, "the ranks have different plans");
	return st;
}

hetpart_status hetpart_mpi_plan_agree(const hetpart_plan *plan, MPI_Comm comm, hetpart_err *err)
{
	struct hm h;
	hetpart_err mine;
	hetpart_status st = hm_open(&h, comm, &mine);

	if (st != HETPART_OK)
		return hm_refuse(st, &mine, err);
	if (!plan)
		st = hm_fail(&mine, HETPART_EINVAL, "'plan' is NULL");
	if ((st = hm_agree(&h, st, &mine)) == HETPART_OK)
		st = hm_same_plan(&h, plan, &mine);
	return hm_close(&h, st, &mine, err);
}

static hetpart_status speeds_of_all(struct hm *h, double *speeds, double mine, hetpart_err *err)
{
	hetpart_status st = HETPART_OK;

	if (!speeds)
		st = hm_fail(err, HETPART_EINVAL, "'speeds' is NULL");
	else
		st = hm_check_positive(mine, "the speed", err);
	if ((st = hm_agree(h, st, err)) == HETPART_OK)
		st = hm_allgather(h, &mine, speeds, 1, MPI_DOUBLE, err);
	return st;
}

hetpart_status hetpart_mpi_gather_speeds(double *speeds, double mine, MPI_Comm comm,
					 hetpart_err *err)
{
	struct hm h;
	hetpart_err why;
	hetpart_status st = hm_open(&h, comm, &why);

	if (st != HETPART_OK)
		return hm_refuse(st, &why, err);
	st = speeds_of_all(&h, speeds, mine, &why);
	return hm_close(&h, st, &why, err);
}

/* ----------------------------------------------------------------------------- observations */

struct pool {
	struct hm h;
	double *mine;  /* items, cost of each observation here */
	int *counts;   /* doubles of each rank */
	int *displs;   /* where they begin */
	double *every; /* the doubles of all */
	hetpart_point *points;
	int npoints;
};

static hetpart_status read_observed(struct pool *p, const hetpart_point *observed, size_t count,
				    double speed, hetpart_err *err)
{
	p->mine = (double *)calloc(2 * count + 1, sizeof *p->mine);
	p->counts = (int *)calloc((size_t)p->h.size, sizeof *p->counts);
	p->displs = (int *)calloc((size_t)p->h.size, sizeof *p->displs);
	if (!p->mine || !p->counts || !p->displs)
		return hm_fail(err, HETPART_ENOMEM, "no memory for %zu observations", count);
	for (size_t i = 0; i < count; i++) {
		const double items = observed[i].items, time = observed[i].time_s * speed;

		if (!(items >= 0 && items <= 0x1p63) || !(time >= 0 && isfinite(time)))
			return hm_fail(err, HETPART_EINVAL,
				       "observation %zu is '%g' seconds for '%g' items", i,
				       observed[i].time_s, items);
		p->mine[2 * i] = items;
		p->mine[2 * i + 1] = time;
	}
	return HETPART_OK;
}

static hetpart_status check_observed(struct pool *p, const hetpart_model *model,
				     const hetpart_point *observed, size_t count, double speed,
				     hetpart_err *err)
{
	hetpart_status st = hm_check_positive(speed, "the speed", err);

	if (st != HETPART_OK)
		return st;
	if (!model || (!observed && count > 0))
		return hm_fail(err, HETPART_EINVAL, "'%s' is NULL", model ? "observed" : "model");
	if (count > INT_MAX / 2)
		return hm_fail(err, HETPART_ERANGE, "%zu observations are too many", count);
	return read_observed(p, observed, count, speed, err);
}

/* Room for the observations of all ranks; every rank comes to the same result but for memory. */
static hetpart_status make_room(struct pool *p, hetpart_err *err)
{
	int sum = 0;

	for (int i = 0; i < p->h.size; i++) {
		p->displs[i] = sum;
		if (__builtin_add_overflow(sum, p->counts[i], &sum))
			return hm_fail(err, HETPART_ERANGE, "the ranks have too many observations");
	}
	p->npoints = sum / 2;
	p->every = (double *)calloc((size_t)sum + 1, sizeof *p->every);
	p->points = (hetpart_point *)calloc((size_t)p->npoints + 1, sizeof *p->points);
	if (!p->every || !p->points)
		return hm_fail(err, HETPART_ENOMEM, "no memory for %d observations", p->npoints);
	return HETPART_OK;
}

static hetpart_status pool(struct pool *p, size_t count, hetpart_err *err)
{
	const int doubles = (int)(2 * count);
	MPI_Request req;
	hetpart_status st = hm_allgather(&p->h, &doubles, p->counts, 1, MPI_INT, err);

	if (st == HETPART_OK)
		st = make_room(p, err);
	if ((st = hm_agree(&p->h, st, err)) != HETPART_OK)
		return st;
	st = hm_mpi(MPI_Iallgatherv(p->mine, doubles, MPI_DOUBLE, p->every, p->counts, p->displs,
				    MPI_DOUBLE, p->h.comm, &req),
		    "MPI_Iallgatherv", err);
	if (st == HETPART_OK)
		st = hm_await(&p->h, &req, err);
	for (int i = 0; i < p->npoints && st == HETPART_OK; i++)
		p->points[i] =
			(hetpart_point){ p->every[2 * (size_t)i], p->every[2 * (size_t)i + 1] };
	return hm_agree(&p->h, st, err);
}

hetpart_status hetpart_mpi_model_add(hetpart_model *model, const hetpart_point *observed,
				     size_t count, double speed, MPI_Comm comm, hetpart_err *err)
{
	struct pool p = { .npoints = 0 };
	hetpart_err mine;
	hetpart_status st = hm_open(&p.h, comm, &mine);

	if (st != HETPART_OK)
		return hm_refuse(st, &mine, err);
	st = hm_agree(&p.h, check_observed(&p, model, observed, count, speed, &mine), &mine);
	if (st == HETPART_OK)
		st = pool(&p, count, &mine);
	if (st == HETPART_OK)
		st = hetpart_model_add(model, p.points, (size_t)p.npoints, &mine);
	free(p.mine);
	free(p.counts);
	free(p.displs);
	free(p.every);
	free(p.points);
	return hm_close(&p.h, st, &mine, err);
}

/* --------------------------------------------------------------------------- plan by speeds */

static hetpart_status share(hetpart_plan **out, uint64_t items, const double *speeds, size_t n,
			    const hetpart_model *model, const hetpart_opts *opts, hetpart_err *err)
{
	hetpart_cost *linear = NULL;
	hetpart_status st;

	if (model)
		return hetpart_model_plan(out, model, items, speeds, n, opts, err);
	st = hetpart_cost_linear(&linear, 1, err);
	if (st == HETPART_OK)
		st = hetpart_share_create(out, items, speeds, n, linear, opts, err);
	hetpart_cost_free(linear);
	return st;
}

hetpart_status hetpart_mpi_share_create(hetpart_plan **out, uint64_t items, double speed,
					const hetpart_model *model, const hetpart_opts *opts,
					MPI_Comm comm, hetpart_err *err)
{
	struct hm h;
	hetpart_err mine;
	double *speeds = NULL;
	hetpart_status st;

	if (out)
		*out = NULL;
	if ((st = hm_open(&h, comm, &mine)) != HETPART_OK)
		return hm_refuse(st, &mine, err);
	if (!out)
		st = hm_fail(&mine, HETPART_EINVAL, "'out' is NULL");
	else if (!(speeds = (double *)calloc((size_t)h.size, sizeof *speeds)))
		st = hm_fail(&mine, HETPART_ENOMEM, "no memory for %d speeds", h.size);
	if ((st = hm_agree(&h, st, &mine)) == HETPART_OK)
		st = speeds_of_all(&h, speeds, speed, &mine);
	if (st == HETPART_OK)
		st = hm_agree(&h, share(out, items, speeds, (size_t)h.size, model, opts, &mine),
			      &mine);
	if (st == HETPART_OK)
		st = hm_same_plan(&h, *out, &mine);
	if (st != HETPART_OK && out) {
		hetpart_plan_free(*out);
		*out = NULL;
	}
	free(speeds);
	return hm_close(&h, st, &mine, err);
}
