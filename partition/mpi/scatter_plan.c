/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scatter_plan.c - from every rank's costs to shares and an order of service, and the same plan on
 * every rank.
 * May not touch: items; how shares are found. Costs what the planner costs. */
#include "hm.h"

#include <math.h>
#include <stdlib.h>

struct planning {
	size_t n;
	hetpart_cost **made; /* 2 n: compute and link of each rank */
	hetpart_scatter_proc *procs, *served;
	size_t *ranks; /* the root last */
	size_t *place; /* order of service, as indices into ranks */
	double *speeds;
};

static hetpart_status begin(struct planning *p, size_t n, hetpart_err *err)
{
	*p = (struct planning){ .n = n };
	p->made = (hetpart_cost **)calloc(2 * n, sizeof *p->made);
	p->procs = (hetpart_scatter_proc *)calloc(n, sizeof *p->procs);
	p->served = (hetpart_scatter_proc *)calloc(n, sizeof *p->served);
	p->ranks = (size_t *)calloc(n, sizeof *p->ranks);
	p->place = (size_t *)calloc(n, sizeof *p->place);
	p->speeds = (double *)calloc(n, sizeof *p->speeds);
	if (!p->made || !p->procs || !p->served || !p->ranks || !p->place || !p->speeds)
		return hm_fail(err, HETPART_ENOMEM, "no memory to plan for %zu ranks", n);
	return HETPART_OK;
}

static void end(struct planning *p)
{
	for (size_t i = 0; p->made && i < 2 * p->n; i++)
		hetpart_cost_free(p->made[i]);
	free(p->made);
	free(p->procs);
	free(p->served);
	free(p->ranks);
	free(p->place);
	free(p->speeds);
}

/* Costs of the ranks, the root last and its link free. */
static hetpart_status make_costs(struct planning *p, const struct hm_costs *costs, hetpart_err *err)
{
	const size_t root = (size_t)costs->root;
	hetpart_status st = HETPART_OK;

	for (size_t i = 0; i < p->n && st == HETPART_OK; i++) {
		const size_t rank = i + 1 == p->n ? root : i < root ? i : i + 1;
		const hetpart_mpi_affine *compute = &costs->compute[rank];
		const hetpart_mpi_affine *link = &costs->link[rank];

		p->ranks[i] = rank;
		st = hetpart_cost_affine(&p->made[2 * i], compute->startup_s, compute->per_item_s,
					 1, err);
		if (st == HETPART_OK && rank != root)
			st = hetpart_cost_affine(&p->made[2 * i + 1], link->startup_s,
						 link->per_item_s, 1, err);
		p->procs[i] = (hetpart_scatter_proc){ p->made[2 * i], p->made[2 * i + 1] };
	}
	return st;
}

static hetpart_status sort_by_service(struct planning *p, uint64_t items, size_t *order,
				      hetpart_err *err)
{
	const hetpart_status st = hetpart_scatter_order(p->place, items, p->procs, p->n, err);

	for (size_t j = 0; j < p->n && st == HETPART_OK; j++) {
		p->served[j] = p->procs[p->place[j]];
		order[j] = p->ranks[p->place[j]];
	}
	return st;
}

static hetpart_status by_speed(hetpart_plan **out, struct planning *p, uint64_t items,
			       hetpart_err *err)
{
	hetpart_cost *linear = NULL;
	hetpart_status st = hetpart_cost_linear(&linear, 1, err);

	if (st == HETPART_OK)
		st = hetpart_share_create(out, items, p->speeds, p->n, linear, NULL, err);
	hetpart_cost_free(linear);
	return st;
}

static hetpart_status check_speeds(const struct hm_costs *costs, size_t n, hetpart_err *err)
{
	for (size_t i = 0; i < n && costs->shares != HETPART_MPI_EQUAL; i++)
		if (!(costs->compute[i].per_item_s > 0))
			return hm_fail(err, HETPART_EINVAL,
				       "compute.per_item_s of rank %zu is '%g': these shares want "
				       "it above 0",
				       i, costs->compute[i].per_item_s);
	return HETPART_OK;
}

/* Every rank makes the plan by itself, so what ends the search must not be a clock nor the memory
 * that is left: a count is the same everywhere. It is reached after some seconds. */
#define LOOKS_MAX 4000

static int enough(void *ctx)
{
	int *looks = (int *)ctx;

	return ++*looks > LOOKS_MAX;
}

static hetpart_status make_plan(hetpart_plan **out, struct planning *p, uint64_t items,
				const struct hm_costs *costs, const size_t *order, hetpart_err *err)
{
	hetpart_scatter_opts opts = HETPART_SCATTER_OPTS_INIT;

	int looks = 0;

	opts.method = costs->method;
	opts.time_limit_s = INFINITY;
	opts.max_mem_bytes = HETPART_MEM_DEFAULT_BYTES;
	opts.stop = enough;
	opts.stop_ctx = &looks;
	if (costs->shares == HETPART_MPI_BALANCED)
		return hetpart_scatter_create(out, items, p->served, p->n, &opts, err);
	for (size_t j = 0; j < p->n; j++)
		p->speeds[j] = costs->shares == HETPART_MPI_EQUAL
				       ? 1
				       : 1 / costs->compute[order[j]].per_item_s;
	return by_speed(out, p, items, err);
}

hetpart_status hm_plan_scatter(hetpart_plan **out, size_t *order, uint64_t items, size_t nprocs,
			       const struct hm_costs *costs, hetpart_err *err)
{
	struct planning p;
	hetpart_status st = begin(&p, nprocs, err);

	if (st == HETPART_OK)
		st = check_speeds(costs, nprocs, err);
	if (st == HETPART_OK)
		st = make_costs(&p, costs, err);
	if (st == HETPART_OK)
		st = sort_by_service(&p, items, order, err);
	if (st == HETPART_OK)
		st = make_plan(out, &p, items, costs, order, err);
	end(&p);
	return st;
}

/* -------------------------------------------------------------------- the same on every rank */

struct common {
	struct hm h;
	hetpart_mpi_scatter_opts opts;
	double *costs; /* 4 for each rank */
	hetpart_mpi_affine *compute, *link;
	size_t *order;
	uint64_t head[3]; /* items, shares, method: the root's */
};

static hetpart_status check(struct common *c, hetpart_plan **out, uint64_t items, int root,
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
	c->costs = (double *)calloc(4 * n, sizeof *c->costs);
	c->compute = (hetpart_mpi_affine *)calloc(n, sizeof *c->compute);
	c->link = (hetpart_mpi_affine *)calloc(n, sizeof *c->link);
	c->order = (size_t *)calloc(n, sizeof *c->order);
	if (!c->costs || !c->compute || !c->link || !c->order)
		return hm_fail(err, HETPART_ENOMEM, "no memory for the costs of %zu ranks", n);
	return HETPART_OK;
}

/* What every rank plans from. */
static hetpart_status gather(struct common *c, int root, hetpart_err *err)
{
	const double mine[4] = { c->opts.compute.startup_s, c->opts.compute.per_item_s,
				 c->opts.link.startup_s, c->opts.link.per_item_s };
	hetpart_status st = hm_bcast(&c->h, c->head, 3, MPI_UINT64_T, root, err);

	if (st == HETPART_OK)
		st = hm_allgather(&c->h, mine, c->costs, 4, MPI_DOUBLE, err);
	for (int i = 0; i < c->h.size && st == HETPART_OK; i++) {
		const double *of = &c->costs[4 * (size_t)i];

		c->compute[i] = (hetpart_mpi_affine){ of[0], of[1] };
		c->link[i] = (hetpart_mpi_affine){ of[2], of[3] };
	}
	return st;
}

static hetpart_status plan_everywhere(struct common *c, hetpart_plan **out, int root,
				      hetpart_err *err)
{
	const struct hm_costs costs = { c->compute, c->link, root, (hetpart_mpi_shares)c->head[1],
					(hetpart_scatter_method)c->head[2] };
	hetpart_status st;

	if (c->head[1] > HETPART_MPI_SPEED)
		st = hm_fail(err, HETPART_EINVAL, "'%d' is no way to share", (int)costs.shares);
	else
		st = hm_plan_scatter(out, c->order, c->head[0], (size_t)c->h.size, &costs, err);
	if ((st = hm_agree(&c->h, st, err)) == HETPART_OK)
		st = hm_same_plan(&c->h, *out, err);
	if (st != HETPART_OK) {
		hetpart_plan_free(*out);
		*out = NULL;
	}
	return st;
}

hetpart_status hetpart_mpi_scatter_plan(hetpart_plan **out, size_t *order, uint64_t items, int root,
					MPI_Comm comm, const hetpart_mpi_scatter_opts *opts,
					hetpart_err *err)
{
	struct common c = { .costs = NULL };
	hetpart_err mine;
	hetpart_status st;

	if (out)
		*out = NULL;
	if ((st = hm_open(&c.h, comm, &mine)) != HETPART_OK)
		return hm_refuse(st, &mine, err);
	st = check(&c, out, items, root, opts, &mine);
	if ((st = hm_enter(&c.h, root, st, &mine)) == HETPART_OK)
		st = hm_agree(&c.h, gather(&c, root, &mine), &mine);
	if (st == HETPART_OK)
		st = plan_everywhere(&c, out, root, &mine);
	for (int i = 0; i < c.h.size && order && st == HETPART_OK; i++)
		order[i] = c.order[i];
	free(c.costs);
	free(c.compute);
	free(c.link);
	free(c.order);
	return hm_close(&c.h, st, &mine, err);
}
