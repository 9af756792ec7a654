/* SPDX-License-Identifier: GPL-3.0-or-later */
/* oom_test.c - every call with each of its allocations failing in turn, on each rank. That rank
 * returns HETPART_ENOMEM, all others HETPART_EPEER; there is no output, and nothing leaks. The shim
 * refuses the allocations of libhetpart_mpi and libhetpart, but not the allocations of MPI. */
#include "../../../scripts/shim.h"

#ifndef SHIM_CANNOT

#	include "check.h"

static hetpart_model *model;
static hetpart_plan *planned;
static char items[1000], room[1000];

static hetpart_mpi_scatter_opts options(void)
{
	hetpart_mpi_scatter_opts o = HETPART_MPI_SCATTER_OPTS_INIT;

	o.compute = (hetpart_mpi_affine){ 0, 1 + rank };
	o.link = (hetpart_mpi_affine){ 0, 1e-3 };
	return o;
}

static hetpart_status scatter(hetpart_err *err)
{
	const hetpart_mpi_scatter_opts o = options();
	uint64_t got = 0;

	return hetpart_mpi_scatter(items, 1000, MPI_BYTE, room, 1000, &got, MPI_BYTE, size - 1,
				   MPI_COMM_WORLD, &o, err);
}

static hetpart_status scatter_alloc(hetpart_err *err)
{
	const hetpart_mpi_scatter_opts o = options();
	uint64_t got = 0;
	void *in = NULL;
	const hetpart_status st = hetpart_mpi_scatter_alloc(items, 1000, MPI_BYTE, &in, &got,
							    MPI_BYTE, 0, MPI_COMM_WORLD, &o, err);

	CHECK((in != NULL) == (st == HETPART_OK && got > 0), "a buffer");
	free(in);
	return st;
}

static hetpart_status scatter_plan(hetpart_err *err)
{
	const hetpart_mpi_scatter_opts o = options();
	hetpart_plan *plan = NULL;
	const hetpart_status st =
		hetpart_mpi_scatter_plan(&plan, NULL, 1000, 0, MPI_COMM_WORLD, &o, err);

	CHECK((plan != NULL) == (st == HETPART_OK), "a plan");
	hetpart_plan_free(plan);
	return st;
}

static hetpart_status plan_bcast(hetpart_err *err)
{
	hetpart_plan *plan = NULL;
	const hetpart_status st = hetpart_mpi_plan_bcast(&plan, planned, 0, MPI_COMM_WORLD, err);

	CHECK((plan != NULL) == (st == HETPART_OK), "a plan");
	hetpart_plan_free(plan);
	return st;
}

static hetpart_status gather(hetpart_err *err)
{
	return hetpart_mpi_gather(items, 10, MPI_BYTE, room, sizeof room, NULL, MPI_BYTE, 0,
				  MPI_COMM_WORLD, err);
}

/* Return long results, for which the root must make room. */
static hetpart_status work(void *ctx, const hetpart_mpi_chunk *chunk, const void **result,
			   size_t *result_bytes, hetpart_err *err)
{
	(void)err;
	*result = ctx;
	*result_bytes = 100000 + (size_t)chunk->count;
	return HETPART_OK;
}

static char *long_result;

static hetpart_status farm(hetpart_err *err)
{
	hetpart_mpi_farm_opts o = HETPART_MPI_FARM_OPTS_INIT;

	o.data = items;
	o.item_bytes = 10;
	o.rule = HETPART_CHUNK_FIXED;
	o.chunk = 25;
	return hetpart_mpi_farm(100, work, long_result, 0, MPI_COMM_WORLD, &o, NULL, err);
}

static hetpart_status measure_link(hetpart_err *err)
{
	hetpart_mpi_timing t;

	return hetpart_mpi_measure_link(&t, 10, 100, 1e-3, 0, MPI_COMM_WORLD, err);
}

static hetpart_status share(hetpart_err *err)
{
	hetpart_plan *plan = NULL;
	const hetpart_status st =
		hetpart_mpi_share_create(&plan, 1000, 1 + rank, model, NULL, MPI_COMM_WORLD, err);

	CHECK((plan != NULL) == (st == HETPART_OK), "a plan");
	hetpart_plan_free(plan);
	return st;
}

static hetpart_status model_add(hetpart_err *err)
{
	const hetpart_point seen[2] = { { 10, 10 }, { 100, 150 } };
	const double before = hetpart_model_weight(model);
	const hetpart_status st = hetpart_mpi_model_add(model, seen, 2, 1, MPI_COMM_WORLD, err);

	CHECK(st == HETPART_OK || hetpart_model_weight(model) == before, "the model has changed");
	return st;
}

/* Check that all ranks succeed, or that exactly the chosen rank is out of memory. */
static bool one(hetpart_status (*call)(hetpart_err *), const char *name, int who, long n)
{
	const long before = shim.live;
	hetpart_err err = { HETPART_OK, "" };
	hetpart_status st;
	int met, any = 0;

	shim.until = rank == who ? n : -1;
	st = call(&err);
	met = rank == who && shim.until < 0;
	shim.until = -1;
	CHECK(shim.live == before, "%s, allocation %ld: %ld leaked", name, n, shim.live - before);
	if (MPI_Allreduce(&met, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD) != MPI_SUCCESS)
		exit(1);
	CHECK(st == (!any          ? HETPART_OK
		     : rank == who ? HETPART_ENOMEM
				   : HETPART_EPEER),
	      "%s, allocation %ld of rank %d: '%s' %s", name, n, who, hetpart_status_text(st),
	      err.text);
	return any;
}

int main(int argc, char **argv)
{
	const struct {
		const char *name;
		hetpart_status (*call)(hetpart_err *);
	} calls[] = { { "scatter", scatter },
		      { "scatter_alloc", scatter_alloc },
		      { "scatter_plan", scatter_plan },
		      { "plan_bcast", plan_bcast },
		      { "gather", gather },
		      { "farm", farm },
		      { "measure_link", measure_link },
		      { "share_create", share },
		      { "model_add", model_add } };
	hetpart_err err;

	SHIM_OURS;
	start(&argc, &argv);
	long_result = calloc(1, 200000);
	if (!long_result || hetpart_model_create(&model, &err) != HETPART_OK ||
	    hetpart_mpi_share_create(&planned, 1000, 1 + rank, NULL, NULL, MPI_COMM_WORLD, &err) !=
		    HETPART_OK)
		return 1;
	for (size_t c = 0; c < sizeof calls / sizeof *calls; c++)
		for (int who = 0; who < size; who++) {
			long n = 0;

			while (n < 1000 && one(calls[c].call, calls[c].name, who, n))
				n++;
			CHECK(n < 1000, "%s does not end", calls[c].name);
		}
	hetpart_plan_free(planned);
	hetpart_model_free(model);
	free(long_result);
	CHECK(shim.live == 0, "%ld live", shim.live);
	return finish();
}
#endif
