/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mpi_plan.c - plans and models that are the same on every rank. They are made from the costs,
 * speeds or observations of all ranks, or copied from one rank. Plans are compared by their hash.
 * libhetpart computes the shares. A call takes a few collectives in addition to the planner. */
#include "hm.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

/* ----------------------------------------------------------------------- the plan of a scatter */

/* The arrays that planning needs. */
typedef struct planning {
	size_t n;
	hetpart_cost **made; /* 2 n: compute and link cost of each entry of procs */
	hetpart_scatter_proc *procs, *served; /* in the order of ranks[], in the order of service */
	size_t *ranks;                        /* all ranks, the root last */
	size_t *place;                        /* order of service, as indices into ranks */
	double *speeds;
} planning;

/* Make the costs of the ranks, with the root last and without a link. Find the order of service,
 * and sort the costs and ranks by it. */
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

/* Every rank computes the plan, and all plans must be equal. So a search may not be ended by the
 * clock or the free memory of a rank. It ends after a fixed number of calls of the stop function,
 * which takes some seconds. */
#define LOOKS_MAX 4000

static int count_looks(void *ctx)
{
	int *const looks = (int *)ctx;
	return ++*looks > LOOKS_MAX;
}

/* Plan shares by speed for a linear cost. */
static hetpart_status share_linear(hetpart_plan **out, uint64_t items, const double *speeds,
				   size_t n, const hetpart_opts *opts, hetpart_err *err)
{
	hetpart_cost *linear = NULL;
	hetpart_status st = hetpart_cost_linear(&linear, 1, err);
	if (st == HETPART_OK)
		st = hetpart_share_create(out, items, speeds, n, linear, opts, err);
	hetpart_cost_free(linear);
	return st;
}

hetpart_status hm_plan_scatter(hm *h, hetpart_plan **out, size_t *order, uint64_t items,
			       const hm_costs *costs)
{
	planning p = { .n = (size_t)h->size };
	for (size_t i = 0; i < p.n && costs->shares != HETPART_MPI_EQUAL; i++)
		if (!(costs->rank[i].compute.per_item_s > 0))
			return hm_invalid(h,
					  "compute.per_item_s of rank %zu is '%g': must be above 0 "
					  "for these shares",
					  i, costs->rank[i].compute.per_item_s);
	p.made = (hetpart_cost **)calloc(2 * p.n, sizeof *p.made);
	p.procs = (hetpart_scatter_proc *)calloc(p.n, sizeof *p.procs);
	p.served = (hetpart_scatter_proc *)calloc(p.n, sizeof *p.served);
	p.ranks = (size_t *)calloc(p.n, sizeof *p.ranks);
	p.place = (size_t *)calloc(p.n, sizeof *p.place);
	p.speeds = (double *)calloc(p.n, sizeof *p.speeds);
	hetpart_status st = HETPART_OK;
	if (!p.made || !p.procs || !p.served || !p.ranks || !p.place || !p.speeds)
		st = hm_fail(h, HETPART_ENOMEM, "no memory to plan for %zu ranks", p.n);
	if (st == HETPART_OK)
		st = hm_lib(h, planning_sort(&p, items, costs, order, &h->err));
	if (st == HETPART_OK && costs->shares == HETPART_MPI_BALANCED) {
		hetpart_scatter_opts opts = HETPART_SCATTER_OPTS_INIT;
		int looks = 0;
		opts.method = costs->method;
		opts.time_limit_s = INFINITY;
		opts.max_mem_bytes = HETPART_MEM_DEFAULT_BYTES;
		opts.stop = count_looks;
		opts.stop_ctx = &looks;
		st = hm_lib(h, hetpart_scatter_create(out, items, p.served, p.n, &opts, &h->err));
	} else if (st == HETPART_OK) {
		for (size_t j = 0; j < p.n; j++)
			p.speeds[j] = costs->shares == HETPART_MPI_EQUAL
					      ? 1
					      : 1 / costs->rank[order[j]].compute.per_item_s;
		st = hm_lib(h, share_linear(out, items, p.speeds, p.n, NULL, &h->err));
	}
	for (size_t i = 0; p.made && i < 2 * p.n; i++)
		hetpart_cost_free(p.made[i]);
	free(p.made);
	free(p.procs);
	free(p.served);
	free(p.ranks);
	free(p.place);
	free(p.speeds);
	return st;
}

/* --------------------------------------------------------------------- equality on all ranks */

/* Return HETPART_EINVAL on all ranks unless their plans have the same hash. The least complement
 * belongs to the greatest hash, so all hashes are equal if it belongs to the least hash, too. */
static hetpart_status same_plan(hm *h, const hetpart_plan *plan)
{
	const uint64_t hash = hetpart_plan_hash(plan);
	const uint64_t mine[2] = { hash, ~hash };
	uint64_t least[2] = { 0, 0 };
	const hetpart_status st = hm_least(h, mine, least, 2, MPI_UINT64_T);
	if (st == HETPART_OK && least[0] != ~least[1])
		return hm_invalid(h, "the ranks have different plans");
	return st;
}

/* End a call that makes a plan: free the plan if the call failed. */
static hetpart_status close_plan(hm *h, hetpart_status st, hetpart_plan **out, hetpart_err *err)
{
	if (st != HETPART_OK && out) {
		hetpart_plan_free(*out);
		*out = NULL;
	}
	return hm_close(h, st, err);
}

hetpart_status hetpart_mpi_plan_agree(const hetpart_plan *plan, MPI_Comm comm, hetpart_err *err)
{
	hm h;
	hetpart_status st = hm_open(&h, comm);
	if (st == HETPART_OK)
		st = hm_agree(&h, plan ? st : hm_invalid(&h, "'plan' is NULL"));
	if (st == HETPART_OK)
		st = same_plan(&h, plan);
	return hm_close(&h, st, err);
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
				   const hetpart_mpi_scatter_opts *opts)
{
	const size_t n = (size_t)c->h.size;
	hetpart_status st = hm_scatter_opts(&c->h, &c->opts, opts);
	if (st == HETPART_OK && !out)
		st = hm_invalid(&c->h, "'out' is NULL");
	if (st == HETPART_OK && (c->opts.plan || c->opts.order))
		st = hm_invalid(&c->h, "the options already have a plan or an order");
	if (st == HETPART_OK)
		st = hm_check_root(&c->h, root);
	if (st != HETPART_OK)
		return st;
	c->head[0] = items;
	c->head[1] = (uint64_t)c->opts.shares;
	c->head[2] = (uint64_t)c->opts.method;
	c->costs = (hm_rank_cost *)calloc(n, sizeof *c->costs);
	c->order = (size_t *)calloc(n, sizeof *c->order);
	if (!c->costs || !c->order)
		return hm_fail(&c->h, HETPART_ENOMEM, "no memory for the costs of %zu ranks", n);
	return HETPART_OK;
}

hetpart_status hetpart_mpi_scatter_plan(hetpart_plan **out, size_t *order, uint64_t items, int root,
					MPI_Comm comm, const hetpart_mpi_scatter_opts *opts,
					hetpart_err *err)
{
	common_plan c = { .costs = NULL };
	if (out)
		*out = NULL;
	hetpart_status st = hm_open(&c.h, comm);
	if (st == HETPART_OK)
		st = hm_enter(&c.h, root, common_check(&c, out, items, root, opts));
	if (st == HETPART_OK) {
		const hm_rank_cost own = { c.opts.compute, c.opts.link };
		st = hm_bcast(&c.h, c.head, 3, MPI_UINT64_T, root);
		if (st == HETPART_OK)
			st = hm_allgather(&c.h, &own, c.costs, HM_COST_DOUBLES, MPI_DOUBLE);
		st = hm_agree(&c.h, st);
	}
	if (st == HETPART_OK) { /* compute the plan on every rank, and compare the plans */
		const hm_costs costs = { c.costs, root, (hetpart_mpi_shares)c.head[1],
					 (hetpart_scatter_method)c.head[2] };
		if (c.head[1] > HETPART_MPI_SPEED)
			st = hm_invalid(&c.h, "'%d' is not a way to share", (int)costs.shares);
		else
			st = hm_plan_scatter(&c.h, out, c.order, c.head[0], &costs);
		if ((st = hm_agree(&c.h, st)) == HETPART_OK)
			st = same_plan(&c.h, *out);
	}
	for (int i = 0; i < c.h.size && order && st == HETPART_OK; i++)
		order[i] = c.order[i];
	free(c.costs);
	free(c.order);
	return close_plan(&c.h, st, out, err);
}

/* ---------------------------------------------------------------------------- one rank's plan */

hetpart_status hetpart_mpi_plan_bcast(hetpart_plan **out, const hetpart_plan *plan, int root,
				      MPI_Comm comm, hetpart_err *err)
{
	hm h;
	if (out)
		*out = NULL;
	hetpart_status st = hm_open(&h, comm);
	if (st != HETPART_OK)
		return hm_close(&h, st, err);
	unsigned char *packed = NULL;
	uint64_t bytes = 0;
	st = out ? hm_check_root(&h, root) : hm_invalid(&h, "'out' is NULL");
	if (st == HETPART_OK && h.rank == root) {
		bytes = plan ? hetpart_plan_pack(plan, NULL, 0) : 0;
		if (!plan)
			st = hm_invalid(&h, "'plan' is NULL");
		else if (!(packed = (unsigned char *)malloc((size_t)bytes)))
			st = hm_fail(&h, HETPART_ENOMEM, "no memory to pack the plan");
		else
			(void)hetpart_plan_pack(plan, packed, (size_t)bytes);
	}
	if ((st = hm_enter(&h, root, st)) == HETPART_OK)
		st = hm_bcast(&h, &bytes, 1, MPI_UINT64_T, root);
	if (st == HETPART_OK) {
		if (!packed && !(packed = (unsigned char *)malloc((size_t)bytes)))
			st = hm_fail(&h, HETPART_ENOMEM, "no memory for a plan of %llu bytes",
				     (unsigned long long)bytes);
		st = hm_agree(&h, st);
	}
	for (uint64_t at = 0; at < bytes && st == HETPART_OK; at += HM_MSG_BYTES) {
		const uint64_t left = bytes - at; /* the length of a piece is an int */
		const int n = (int)(left < HM_MSG_BYTES ? left : HM_MSG_BYTES);
		st = hm_bcast(&h, packed + at, n, MPI_BYTE, root);
	}
	if (st == HETPART_OK)
		st = hm_agree(&h,
			      hm_lib(&h, hetpart_plan_unpack(out, packed, (size_t)bytes, &h.err)));
	free(packed);
	return close_plan(&h, st, out, err);
}

/* ------------------------------------------------------------------------------- plan by speeds */

static hetpart_status gather_speeds(hm *h, double *speeds, double mine)
{
	hetpart_status st = speeds ? hm_check_positive(h, mine, "the speed")
				   : hm_invalid(h, "'speeds' is NULL");
	if ((st = hm_agree(h, st)) == HETPART_OK)
		st = hm_allgather(h, &mine, speeds, 1, MPI_DOUBLE);
	return st;
}

hetpart_status hetpart_mpi_gather_speeds(double *speeds, double mine, MPI_Comm comm,
					 hetpart_err *err)
{
	hm h;
	hetpart_status st = hm_open(&h, comm);
	if (st == HETPART_OK)
		st = gather_speeds(&h, speeds, mine);
	return hm_close(&h, st, err);
}

hetpart_status hetpart_mpi_share_create(hetpart_plan **out, uint64_t items, double speed,
					const hetpart_model *model, const hetpart_opts *opts,
					MPI_Comm comm, hetpart_err *err)
{
	hm h;
	if (out)
		*out = NULL;
	hetpart_status st = hm_open(&h, comm);
	if (st != HETPART_OK)
		return hm_close(&h, st, err);
	const size_t n = (size_t)h.size;
	double *speeds = NULL;
	if (!out)
		st = hm_invalid(&h, "'out' is NULL");
	else if (!(speeds = (double *)calloc(n, sizeof *speeds)))
		st = hm_fail(&h, HETPART_ENOMEM, "no memory for %d speeds", h.size);
	if ((st = hm_agree(&h, st)) == HETPART_OK)
		st = gather_speeds(&h, speeds, speed);
	if (st == HETPART_OK)
		st = hm_agree(
			&h, hm_lib(&h, model ? hetpart_model_plan(out, model, items, speeds, n,
								  opts, &h.err)
					     : share_linear(out, items, speeds, n, opts, &h.err)));
	if (st == HETPART_OK)
		st = same_plan(&h, *out);
	free(speeds);
	return close_plan(&h, st, out, err);
}

/* --------------------------------------------------------------------------------- observations */

/* Observations of all ranks. */
typedef struct observed_pool {
	hm h;
	double *mine;  /* items and cost of each observation of this rank */
	int *counts;   /* doubles of each rank */
	int *displs;   /* index in every[] of the first double of each rank */
	double *every; /* the doubles of all ranks */
	hetpart_point *points;
	int npoints;
} observed_pool;

/* Check the observations of this rank, and multiply their times by its speed, which gives costs. */
static hetpart_status pool_check(observed_pool *p, const hetpart_model *model,
				 const hetpart_point *observed, size_t count, double speed)
{
	const hetpart_status st = hm_check_positive(&p->h, speed, "the speed");
	if (st != HETPART_OK)
		return st;
	if (!model || (!observed && count > 0))
		return hm_invalid(&p->h, "'%s' is NULL", model ? "observed" : "model");
	if (count > INT_MAX / 2)
		return hm_fail(&p->h, HETPART_ERANGE, "%zu observations are too many", count);
	p->mine = (double *)calloc(2 * count + 1, sizeof *p->mine);
	p->counts = (int *)calloc((size_t)p->h.size, sizeof *p->counts);
	p->displs = (int *)calloc((size_t)p->h.size, sizeof *p->displs);
	if (!p->mine || !p->counts || !p->displs)
		return hm_fail(&p->h, HETPART_ENOMEM, "no memory for %zu observations", count);
	for (size_t i = 0; i < count; i++) {
		const double items = observed[i].items, time = observed[i].time_s * speed;
		if (!(items >= 0 && items <= 0x1p63) || !(time >= 0 && isfinite(time)))
			return hm_invalid(&p->h, "observation %zu is '%g' seconds for '%g' items",
					  i, observed[i].time_s, items);
		p->mine[2 * i] = items;
		p->mine[2 * i + 1] = time;
	}
	return HETPART_OK;
}

/* Gather the observations of all ranks on every rank. */
static hetpart_status pool_gather(observed_pool *p, size_t count)
{
	const int doubles = (int)(2 * count);
	int sum = 0;
	hetpart_status st = hm_allgather(&p->h, &doubles, p->counts, 1, MPI_INT);
	for (int i = 0; i < p->h.size && st == HETPART_OK; i++) {
		p->displs[i] = sum;
		if (__builtin_add_overflow(sum, p->counts[i], &sum))
			st = hm_fail(&p->h, HETPART_ERANGE, "the ranks have too many observations");
	}
	if (st == HETPART_OK) {
		p->npoints = sum / 2;
		p->every = (double *)calloc((size_t)sum + 1, sizeof *p->every);
		p->points = (hetpart_point *)calloc((size_t)p->npoints + 1, sizeof *p->points);
		if (!p->every || !p->points)
			st = hm_fail(&p->h, HETPART_ENOMEM, "no memory for %d observations",
				     p->npoints);
	}
	if ((st = hm_agree(&p->h, st)) != HETPART_OK)
		return st;
	MPI_Request req;
	const int rc = MPI_Iallgatherv(p->mine, doubles, MPI_DOUBLE, p->every, p->counts, p->displs,
				       MPI_DOUBLE, p->h.comm, &req);
	st = hm_await(&p->h, rc, &req, "MPI_Iallgatherv");
	for (size_t i = 0; i < (size_t)p->npoints && st == HETPART_OK; i++)
		p->points[i] = (hetpart_point){ p->every[2 * i], p->every[2 * i + 1] };
	return hm_agree(&p->h, st);
}

hetpart_status hetpart_mpi_model_add(hetpart_model *model, const hetpart_point *observed,
				     size_t count, double speed, MPI_Comm comm, hetpart_err *err)
{
	observed_pool p = { .npoints = 0 };
	hetpart_status st = hm_open(&p.h, comm);
	if (st == HETPART_OK)
		st = hm_agree(&p.h, pool_check(&p, model, observed, count, speed));
	if (st == HETPART_OK)
		st = pool_gather(&p, count);
	if (st == HETPART_OK)
		st = hm_lib(&p.h, hetpart_model_add(model, p.points, (size_t)p.npoints, &p.h.err));
	free(p.mine);
	free(p.counts);
	free(p.displs);
	free(p.every);
	free(p.points);
	return hm_close(&p.h, st, err);
}
