/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mpi_plan.c - plans and models that are the same on every rank. They are made from the costs,
 * speeds or observations of all ranks, or from the plan of one. Plans are compared by their hash.
 * How shares are found is libhetpart's part. Costs a few collectives and what the planner costs. */
#include "hm.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

/* ---------------------------------------------------------------------------- the plan of a
 * scatter */

/* The memory that planning needs. */
typedef struct planning {
	size_t n;
	hetpart_cost **made; /* 2 n: compute and link of each rank */
	hetpart_scatter_proc *procs, *served;
	size_t *ranks; /* the root last */
	size_t *place; /* order of service, as indices into ranks */
	double *speeds;
} planning;

/* Make the costs of the ranks, with the root last and without a link, and sort the ranks by the
 * order of service. */
static hetpart_status planning_sort(planning *p, uint64_t items, const hm_costs *costs,
				    size_t *order, hetpart_err *err)
{
	const size_t root = (size_t)costs->root;
	hetpart_status st = HETPART_OK;
	for (size_t i = 0; i < p->n && st == HETPART_OK; i++) {
		const size_t rank = i + 1 == p->n ? root : i < root ? i : i + 1;
		const hetpart_mpi_affine *const compute = &costs->rank[rank].compute;
		const hetpart_mpi_affine *const link = &costs->rank[rank].link;
		p->ranks[i] = rank;
		st = hetpart_cost_affine(&p->made[2 * i], compute->startup_s, compute->per_item_s,
					 1, err);
		if (st == HETPART_OK && rank != root)
			st = hetpart_cost_affine(&p->made[2 * i + 1], link->startup_s,
						 link->per_item_s, 1, err);
		p->procs[i] = (hetpart_scatter_proc){ p->made[2 * i], p->made[2 * i + 1] };
	}
	if (st == HETPART_OK)
		st = hetpart_scatter_order(p->place, items, p->procs, p->n, err);
	for (size_t j = 0; j < p->n && st == HETPART_OK; j++) {
		p->served[j] = p->procs[p->place[j]];
		order[j] = p->ranks[p->place[j]];
	}
	return st;
}

/* Every rank makes the plan by itself. So neither a clock nor the memory that is left may end the
 * search, but a count, which is the same everywhere. It is reached after some seconds. */
#define LOOKS_MAX 4000

static int count_looks(void *ctx)
{
	int *const looks = (int *)ctx;
	return ++*looks > LOOKS_MAX;
}

/* Plan shares by speed for a cost, or for a linear cost if there is no model. */
static hetpart_status share_by_speed(hetpart_plan **out, uint64_t items, const double *speeds,
				     size_t n, const hetpart_model *model, const hetpart_opts *opts,
				     hetpart_err *err)
{
	if (model)
		return hetpart_model_plan(out, model, items, speeds, n, opts, err);
	hetpart_cost *linear = NULL;
	hetpart_status st = hetpart_cost_linear(&linear, 1, err);
	if (st == HETPART_OK)
		st = hetpart_share_create(out, items, speeds, n, linear, opts, err);
	hetpart_cost_free(linear);
	return st;
}

static hetpart_status planning_plan(planning *p, hetpart_plan **out, uint64_t items,
				    const hm_costs *costs, const size_t *order, hetpart_err *err)
{
	if (costs->shares == HETPART_MPI_BALANCED) {
		hetpart_scatter_opts opts = HETPART_SCATTER_OPTS_INIT;
		int looks = 0;
		opts.method = costs->method;
		opts.time_limit_s = INFINITY;
		opts.max_mem_bytes = HETPART_MEM_DEFAULT_BYTES;
		opts.stop = count_looks;
		opts.stop_ctx = &looks;
		return hetpart_scatter_create(out, items, p->served, p->n, &opts, err);
	}
	for (size_t j = 0; j < p->n; j++)
		p->speeds[j] = costs->shares == HETPART_MPI_EQUAL
				       ? 1
				       : 1 / costs->rank[order[j]].compute.per_item_s;
	return share_by_speed(out, items, p->speeds, p->n, NULL, NULL, err);
}

hetpart_status hm_plan_scatter(hetpart_plan **out, size_t *order, uint64_t items, size_t nprocs,
			       const hm_costs *costs, hetpart_err *err)
{
	for (size_t i = 0; i < nprocs && costs->shares != HETPART_MPI_EQUAL; i++)
		if (!(costs->rank[i].compute.per_item_s > 0))
			return hm_fail(err, HETPART_EINVAL,
				       "compute.per_item_s of rank %zu is '%g': must be above 0 "
				       "for these shares",
				       i, costs->rank[i].compute.per_item_s);
	planning p = { .n = nprocs };
	p.made = (hetpart_cost **)calloc(2 * nprocs, sizeof *p.made);
	p.procs = (hetpart_scatter_proc *)calloc(nprocs, sizeof *p.procs);
	p.served = (hetpart_scatter_proc *)calloc(nprocs, sizeof *p.served);
	p.ranks = (size_t *)calloc(nprocs, sizeof *p.ranks);
	p.place = (size_t *)calloc(nprocs, sizeof *p.place);
	p.speeds = (double *)calloc(nprocs, sizeof *p.speeds);
	hetpart_status st = HETPART_OK;
	if (!p.made || !p.procs || !p.served || !p.ranks || !p.place || !p.speeds)
		st = hm_fail(err, HETPART_ENOMEM, "no memory to plan for %zu ranks", nprocs);
	if (st == HETPART_OK)
		st = planning_sort(&p, items, costs, order, err);
	if (st == HETPART_OK)
		st = planning_plan(&p, out, items, costs, order, err);
	for (size_t i = 0; p.made && i < 2 * nprocs; i++)
		hetpart_cost_free(p.made[i]);
	free(p.made);
	free(p.procs);
	free(p.served);
	free(p.ranks);
	free(p.place);
	free(p.speeds);
	return st;
}

/* --------------------------------------------------------------------- the same on every rank */

/* Return HETPART_EINVAL on all ranks unless their plans have the same hash. The hash and its
 * complement have the same least value only if all hashes are equal. */
static hetpart_status same_plan(hm *h, const hetpart_plan *plan, hetpart_err *err)
{
	const uint64_t hash = hetpart_plan_hash(plan);
	const uint64_t mine[2] = { hash, ~hash };
	uint64_t least[2] = { 0, 0 };
	const hetpart_status st = hm_least(h, mine, least, 2, MPI_UINT64_T, err);
	if (st == HETPART_OK && least[0] != ~least[1])
		return hm_fail(err, HETPART_EINVAL, "the ranks have different plans");
	return st;
}

/* Free the plan of a call that failed. */
static void drop_plan(hetpart_status st, hetpart_plan **out)
{
	if (st == HETPART_OK || !out)
		return;
	hetpart_plan_free(*out);
	*out = NULL;
}

hetpart_status hetpart_mpi_plan_agree(const hetpart_plan *plan, MPI_Comm comm, hetpart_err *err)
{
	hm h;
	hetpart_err mine;
	hetpart_status st = hm_open(&h, comm, &mine);
	if (st != HETPART_OK)
		return hm_refuse(st, &mine, err);
	if (!plan)
		st = hm_fail(&mine, HETPART_EINVAL, "'plan' is NULL");
	if ((st = hm_agree(&h, st, &mine)) == HETPART_OK)
		st = same_plan(&h, plan, &mine);
	return hm_close(&h, st, &mine, err);
}

/* The input from which every rank plans the same scatter. */
typedef struct common_plan {
	hm h;
	hetpart_mpi_scatter_opts opts;
	hm_rank_cost *costs;
	size_t *order;
	uint64_t head[3]; /* items, shares, method: the root's */
} common_plan;

static hetpart_status common_check(common_plan *c, hetpart_plan **out, uint64_t items, int root,
				   const hetpart_mpi_scatter_opts *opts, hetpart_err *err)
{
	const size_t n = (size_t)c->h.size;
	hetpart_status st = hm_scatter_opts(&c->opts, opts, err);
	if (st == HETPART_OK && !out)
		st = hm_fail(err, HETPART_EINVAL, "'out' is NULL");
	if (st == HETPART_OK && (c->opts.plan || c->opts.order))
		st = hm_fail(err, HETPART_EINVAL, "the options already have a plan or an order");
	if (st == HETPART_OK)
		st = hm_check_root(&c->h, root, err);
	if (st != HETPART_OK)
		return st;
	c->head[0] = items;
	c->head[1] = (uint64_t)c->opts.shares;
	c->head[2] = (uint64_t)c->opts.method;
	c->costs = (hm_rank_cost *)calloc(n, sizeof *c->costs);
	c->order = (size_t *)calloc(n, sizeof *c->order);
	if (!c->costs || !c->order)
		return hm_fail(err, HETPART_ENOMEM, "no memory for the costs of %zu ranks", n);
	return HETPART_OK;
}

hetpart_status hetpart_mpi_scatter_plan(hetpart_plan **out, size_t *order, uint64_t items, int root,
					MPI_Comm comm, const hetpart_mpi_scatter_opts *opts,
					hetpart_err *err)
{
	common_plan c = { .costs = NULL };
	hetpart_err mine;
	if (out)
		*out = NULL;
	hetpart_status st = hm_open(&c.h, comm, &mine);
	if (st != HETPART_OK)
		return hm_refuse(st, &mine, err);
	st = common_check(&c, out, items, root, opts, &mine);
	if ((st = hm_enter(&c.h, root, st, &mine)) == HETPART_OK) {
		const hm_rank_cost own = { c.opts.compute, c.opts.link };
		st = hm_bcast(&c.h, c.head, 3, MPI_UINT64_T, root, &mine);
		if (st == HETPART_OK)
			st = hm_allgather(&c.h, &own, c.costs, HM_COST_DOUBLES, MPI_DOUBLE, &mine);
		st = hm_agree(&c.h, st, &mine);
	}
	if (st == HETPART_OK) { /* plan on every rank, and compare the plans */
		const hm_costs costs = { c.costs, root, (hetpart_mpi_shares)c.head[1],
					 (hetpart_scatter_method)c.head[2] };
		if (c.head[1] > HETPART_MPI_SPEED)
			st = hm_fail(&mine, HETPART_EINVAL, "'%d' is not a way to share",
				     (int)costs.shares);
		else
			st = hm_plan_scatter(out, c.order, c.head[0], (size_t)c.h.size, &costs,
					     &mine);
		if ((st = hm_agree(&c.h, st, &mine)) == HETPART_OK)
			st = same_plan(&c.h, *out, &mine);
	}
	drop_plan(st, out);
	for (int i = 0; i < c.h.size && order && st == HETPART_OK; i++)
		order[i] = c.order[i];
	free(c.costs);
	free(c.order);
	return hm_close(&c.h, st, &mine, err);
}

/* ------------------------------------------------------------------------------- one rank's plan
 */

hetpart_status hetpart_mpi_plan_bcast(hetpart_plan **out, const hetpart_plan *plan, int root,
				      MPI_Comm comm, hetpart_err *err)
{
	hm h;
	hetpart_err mine;
	if (out)
		*out = NULL;
	hetpart_status st = hm_open(&h, comm, &mine);
	if (st != HETPART_OK)
		return hm_refuse(st, &mine, err);
	unsigned char *packed = NULL;
	uint64_t bytes = 0;
	st = out ? hm_check_root(&h, root, &mine) : hm_fail(&mine, HETPART_EINVAL, "'out' is NULL");
	if (st == HETPART_OK && h.rank == root) {
		bytes = plan ? hetpart_plan_pack(plan, NULL, 0) : 0;
		if (!plan)
			st = hm_fail(&mine, HETPART_EINVAL, "'plan' is NULL");
		else if (!(packed = (unsigned char *)malloc((size_t)bytes)))
			st = hm_fail(&mine, HETPART_ENOMEM, "no memory to pack the plan");
		else
			(void)hetpart_plan_pack(plan, packed, (size_t)bytes);
	}
	if ((st = hm_enter(&h, root, st, &mine)) == HETPART_OK)
		st = hm_bcast(&h, &bytes, 1, MPI_UINT64_T, root, &mine);
	if (st == HETPART_OK) {
		if (!packed && !(packed = (unsigned char *)malloc((size_t)bytes)))
			st = hm_fail(&mine, HETPART_ENOMEM, "no memory for a plan of %llu bytes",
				     (unsigned long long)bytes);
		st = hm_agree(&h, st, &mine);
	}
	for (uint64_t at = 0; at < bytes && st == HETPART_OK; at += HM_MSG_BYTES) {
		const uint64_t left = bytes - at; /* the length of a piece is an int */
		const int n = (int)(left < HM_MSG_BYTES ? left : HM_MSG_BYTES);
		st = hm_bcast(&h, packed + at, n, MPI_BYTE, root, &mine);
	}
	if (st == HETPART_OK)
		st = hm_agree(&h, hetpart_plan_unpack(out, packed, (size_t)bytes, &mine), &mine);
	drop_plan(st, out);
	free(packed);
	return hm_close(&h, st, &mine, err);
}

/* ------------------------------------------------------------------------------- plan by speeds */

static hetpart_status gather_speeds(hm *h, double *speeds, double mine, hetpart_err *err)
{
	hetpart_status st = speeds ? hm_check_positive(mine, "the speed", err)
				   : hm_fail(err, HETPART_EINVAL, "'speeds' is NULL");
	if ((st = hm_agree(h, st, err)) == HETPART_OK)
		st = hm_allgather(h, &mine, speeds, 1, MPI_DOUBLE, err);
	return st;
}

hetpart_status hetpart_mpi_gather_speeds(double *speeds, double mine, MPI_Comm comm,
					 hetpart_err *err)
{
	hm h;
	hetpart_err why;
	hetpart_status st = hm_open(&h, comm, &why);
	if (st != HETPART_OK)
		return hm_refuse(st, &why, err);
	st = gather_speeds(&h, speeds, mine, &why);
	return hm_close(&h, st, &why, err);
}

hetpart_status hetpart_mpi_share_create(hetpart_plan **out, uint64_t items, double speed,
					const hetpart_model *model, const hetpart_opts *opts,
					MPI_Comm comm, hetpart_err *err)
{
	hm h;
	hetpart_err mine;
	if (out)
		*out = NULL;
	hetpart_status st = hm_open(&h, comm, &mine);
	if (st != HETPART_OK)
		return hm_refuse(st, &mine, err);
	const size_t n = (size_t)h.size;
	double *speeds = NULL;
	if (!out)
		st = hm_fail(&mine, HETPART_EINVAL, "'out' is NULL");
	else if (!(speeds = (double *)calloc(n, sizeof *speeds)))
		st = hm_fail(&mine, HETPART_ENOMEM, "no memory for %d speeds", h.size);
	if ((st = hm_agree(&h, st, &mine)) == HETPART_OK)
		st = gather_speeds(&h, speeds, speed, &mine);
	if (st == HETPART_OK)
		st = hm_agree(&h, share_by_speed(out, items, speeds, n, model, opts, &mine), &mine);
	if (st == HETPART_OK)
		st = same_plan(&h, *out, &mine);
	drop_plan(st, out);
	free(speeds);
	return hm_close(&h, st, &mine, err);
}

/* --------------------------------------------------------------------------------- observations */

/* Observations of all ranks. */
typedef struct observed_pool {
	hm h;
	double *mine;  /* items and cost of each observation of this rank */
	int *counts;   /* doubles of each rank */
	int *displs;   /* where they begin */
	double *every; /* the doubles of all ranks */
	hetpart_point *points;
	int npoints;
} observed_pool;

/* Check the observations of this rank, and turn their times into costs. */
static hetpart_status pool_check(observed_pool *p, const hetpart_model *model,
				 const hetpart_point *observed, size_t count, double speed,
				 hetpart_err *err)
{
	const hetpart_status st = hm_check_positive(speed, "the speed", err);
	if (st != HETPART_OK)
		return st;
	if (!model || (!observed && count > 0))
		return hm_fail(err, HETPART_EINVAL, "'%s' is NULL", model ? "observed" : "model");
	if (count > INT_MAX / 2)
		return hm_fail(err, HETPART_ERANGE, "%zu observations are too many", count);
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

/* Allocate memory for the observations of all ranks. Except for memory, all ranks get the same
 * result. */
static hetpart_status pool_allocate(observed_pool *p, hetpart_err *err)
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

static hetpart_status pool_gather(observed_pool *p, size_t count, hetpart_err *err)
{
	const int doubles = (int)(2 * count);
	hetpart_status st = hm_allgather(&p->h, &doubles, p->counts, 1, MPI_INT, err);
	if (st == HETPART_OK)
		st = pool_allocate(p, err);
	if ((st = hm_agree(&p->h, st, err)) != HETPART_OK)
		return st;
	MPI_Request req;
	st = hm_mpi(MPI_Iallgatherv(p->mine, doubles, MPI_DOUBLE, p->every, p->counts, p->displs,
				    MPI_DOUBLE, p->h.comm, &req),
		    "MPI_Iallgatherv", err);
	if (st == HETPART_OK)
		st = hm_await(&p->h, &req, err);
	for (size_t i = 0; i < (size_t)p->npoints && st == HETPART_OK; i++)
		p->points[i] = (hetpart_point){ p->every[2 * i], p->every[2 * i + 1] };
	return hm_agree(&p->h, st, err);
}

hetpart_status hetpart_mpi_model_add(hetpart_model *model, const hetpart_point *observed,
				     size_t count, double speed, MPI_Comm comm, hetpart_err *err)
{
	observed_pool p = { .npoints = 0 };
	hetpart_err mine;
	hetpart_status st = hm_open(&p.h, comm, &mine);
	if (st != HETPART_OK)
		return hm_refuse(st, &mine, err);
	st = hm_agree(&p.h, pool_check(&p, model, observed, count, speed, &mine), &mine);
	if (st == HETPART_OK)
		st = pool_gather(&p, count, &mine);
	if (st == HETPART_OK)
		st = hetpart_model_add(model, p.points, (size_t)p.npoints, &mine);
	free(p.mine);
	free(p.counts);
	free(p.displs);
	free(p.every);
	free(p.points);
	return hm_close(&p.h, st, &mine, err);
}
