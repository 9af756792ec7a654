/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scatter_client.c - an example of a user's program with libhetpart_mpi, which can also be built
 * outside this tree. Rank 0 has items, every rank computes its share, and the results are added up.
 * HOW is the way to distribute the items; the rest of the program does not change. Prints a line of
 * JSON for each rank: the number of items, the times of their arrival and of the end of the
 * computation, and the measured costs.
 *
 *     scatter_client HOW ITEMS ITEM_BYTES ROUNDS [COSTS]
 *         HOW     scatterv    MPI_Scatterv, equal shares
 *                 speed       shares only by speed
 *                 balanced    all end together, served by decreasing bandwidth
 *                 ascending   all end together, served by increasing bandwidth: the worst order
 *                 farm        master and workers
 *         ROUNDS  of work for an item
 *         COSTS   a file with four numbers for each rank, in seconds: startup and time per item of
 *                 a computation, startup and time per item of a message. Without COSTS they are
 *                 measured first.
 *
 *     mpicc scatter_client.c $(pkg-config --cflags --libs hetpart_mpi) */
#include <hetpart_mpi.h>

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct job {
	int rank, ranks, items, item_bytes, rounds;
	MPI_Datatype item;
	double start_s;             /* by MPI_Wtime() */
	double arrived_s, end_s;    /* seconds since start_s */
	int mine;                   /* number of items of this rank */
	uint64_t sum;               /* of the results of these items */
	hetpart_mpi_affine compute; /* as measured, or from COSTS */
	hetpart_mpi_affine link;
} job;

static void client_stop(const char *why)
{
	fprintf(stderr, "scatter_client: %s\n", why);
	MPI_Abort(MPI_COMM_WORLD, 1);
	exit(1);
}

static hetpart_err client_err; /* of the last call */

static void client_need(hetpart_status st)
{
	if (st != HETPART_OK)
		client_stop(client_err.text);
}

static void *client_array(size_t n, size_t bytes)
{
	void *p = calloc(n ? n : 1, bytes);
	if (!p)
		client_stop("no memory");
	return p;
}

/* ----------------------------------------------------------------------------- the computation */

static uint64_t compute(const job *j, const unsigned char *items, uint64_t n)
{
	uint64_t sum = 0;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t z = 0;
		memcpy(&z, items + i * (uint64_t)j->item_bytes,
		       j->item_bytes < 8 ? (size_t)j->item_bytes : 8);
		for (int r = 0; r < j->rounds; r++)
			z = (z ^ (z >> 29)) * UINT64_C(0xbf58476d1ce4e5b9) + (uint64_t)r;
		sum += z;
	}
	return sum;
}

static void compute_all(job *j, const unsigned char *items, int n)
{
	j->arrived_s = MPI_Wtime() - j->start_s;
	j->mine = n;
	j->sum = compute(j, items, (uint64_t)n);
	j->end_s = MPI_Wtime() - j->start_s;
}

/* -------------------------------------------------------------------------------- MPI_Scatterv */

static int client_scatterv(const job *j, const void *all, void *mine)
{
	int *counts = client_array((size_t)j->ranks, sizeof *counts);
	int *displs = client_array((size_t)j->ranks, sizeof *displs);
	for (int i = 0, at = 0; i < j->ranks; at += counts[i++]) {
		counts[i] = j->items / j->ranks + (i < j->items % j->ranks);
		displs[i] = at;
	}
	const int n = counts[j->rank];
	MPI_Scatterv(all, counts, displs, j->item, mine, n, j->item, 0, MPI_COMM_WORLD);
	free(counts);
	free(displs);
	return n;
}

/* ------------------------------------------------------------------------------ with libhetpart */

static int client_scatter(const job *j, const void *all, void *mine, hetpart_mpi_shares shares,
			  const hetpart_plan *plan, const size_t *order)
{
	hetpart_mpi_scatter_opts opts = HETPART_MPI_SCATTER_OPTS_INIT;
	uint64_t n = 0;
	opts.compute = j->compute;
	opts.link = j->link;
	opts.shares = shares;
	opts.plan = plan;
	opts.order = order;
	client_need(hetpart_mpi_scatter(all, (uint64_t)j->items, j->item, mine, (uint64_t)j->items,
					&n, j->item, 0, MPI_COMM_WORLD, &opts, &client_err));
	return (int)n;
}

/* Store the reversed order of service, and return the best plan for this order. Every rank makes
 * the same plan. */
static hetpart_plan *plan_ascending(const job *j, size_t *order)
{
	const size_t p = (size_t)j->ranks;
	const double mine[4] = { j->compute.startup_s, j->compute.per_item_s, j->link.startup_s,
				 j->link.per_item_s };
	double(*all)[4] = client_array(p, sizeof *all);
	hetpart_scatter_proc *procs = client_array(p, sizeof *procs);
	hetpart_cost **cost = client_array(2 * p, sizeof *cost);
	hetpart_mpi_scatter_opts opts = HETPART_MPI_SCATTER_OPTS_INIT;
	hetpart_plan *plan;
	opts.compute = j->compute;
	opts.link = j->link;
	client_need(hetpart_mpi_scatter_plan(&plan, order, (uint64_t)j->items, 0, MPI_COMM_WORLD,
					     &opts, &client_err));
	hetpart_plan_free(plan);
	for (size_t i = 0, k = p - 1; i + 1 < k; i++) {
		const size_t other = order[i];
		order[i] = order[--k];
		order[k] = other;
	}
	MPI_Allgather(mine, 4, MPI_DOUBLE, all, 4, MPI_DOUBLE, MPI_COMM_WORLD);
	for (size_t i = 0; i < p; i++) {
		const double *c = all[order[i]];
		client_need(hetpart_cost_affine(&cost[2 * i], c[0], c[1], 1, &client_err));
		client_need(hetpart_cost_affine(&cost[2 * i + 1], c[2], c[3], 1, &client_err));
		procs[i] =
			(hetpart_scatter_proc){ cost[2 * i], i + 1 < p ? cost[2 * i + 1] : NULL };
	}
	client_need(hetpart_scatter_create(&plan, (uint64_t)j->items, procs, p, NULL, &client_err));
	for (size_t i = 0; i < 2 * p; i++)
		hetpart_cost_free(cost[i]);
	free(cost);
	free(procs);
	free(all);
	return plan;
}

static hetpart_status work_on(void *ctx, const hetpart_mpi_chunk *chunk, const void **result,
			      size_t *result_bytes, hetpart_err *err)
{
	job *j = ctx;
	(void)result, (void)result_bytes, (void)err;
	if (j->mine == 0)
		j->arrived_s = MPI_Wtime() - j->start_s;
	j->sum += compute(j, chunk->data, chunk->count);
	j->mine += (int)chunk->count;
	j->end_s = MPI_Wtime() - j->start_s;
	return HETPART_OK;
}

/* ------------------------------------------------------------------------------- measurement */

typedef struct kernel {
	const job *j;
	const unsigned char *items;
	volatile uint64_t sum; /* volatile, so that the compiler keeps the work */
} kernel;

static hetpart_status run_kernel(void *ctx, uint64_t n, hetpart_err *err)
{
	kernel *k = ctx;
	(void)err;
	k->sum += compute(k->j, k->items, n);
	return HETPART_OK;
}

static void client_measure(job *j, const unsigned char *items)
{
	hetpart_mpi_timing t;
	kernel k = { j, items, 0 };
	client_need(hetpart_mpi_measure_compute(&t, run_kernel, &k, (uint64_t)j->items, 0.5,
						MPI_COMM_WORLD, &client_err));
	j->compute = t.fit;
	client_need(hetpart_mpi_measure_link(&t, (uint64_t)j->item_bytes, (uint64_t)j->items,
					     0.5 * j->ranks, 0, MPI_COMM_WORLD, &client_err));
	j->link = t.fit;
}

/* Read the costs of this rank from line `rank` of a file, which every rank can read. */
static void read_costs(job *j, const char *path)
{
	FILE *f = fopen(path, "r");
	for (int i = 0; f && i <= j->rank; i++)
		if (fscanf(f, "%lf %lf %lf %lf", &j->compute.startup_s, &j->compute.per_item_s,
			   &j->link.startup_s, &j->link.per_item_s) != 4)
			client_stop("COSTS has fewer than four numbers for each rank");
	if (!f || fclose(f) != 0)
		client_stop("cannot read COSTS");
}

/* ------------------------------------------------------------------------------------- program */

static void print_all(const job *j)
{
	const double mine[8] = { j->arrived_s,
				 j->end_s,
				 j->mine,
				 j->compute.startup_s,
				 j->compute.per_item_s,
				 j->link.startup_s,
				 j->link.per_item_s,
				 0 };
	char host[MPI_MAX_PROCESSOR_NAME] = "", *hosts = NULL;
	double(*all)[8] = NULL;
	uint64_t sum = 0;
	int length;
	MPI_Get_processor_name(host, &length);
	if (j->rank == 0) {
		all = client_array((size_t)j->ranks, sizeof *all);
		hosts = client_array((size_t)j->ranks, sizeof host);
	}
	MPI_Gather(mine, 8, MPI_DOUBLE, all, 8, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	MPI_Gather(host, sizeof host, MPI_CHAR, hosts, sizeof host, MPI_CHAR, 0, MPI_COMM_WORLD);
	MPI_Reduce(&j->sum, &sum, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
	for (int i = 0; i < j->ranks && j->rank == 0; i++)
		printf("{\"rank\": %d, \"host\": \"%s\", \"items\": %.0f, \"arrived_s\": %.6f, "
		       "\"end_s\": %.6f, \"compute_startup_s\": %.9g, \"compute_item_s\": %.9g, "
		       "\"link_startup_s\": %.9g, \"link_item_s\": %.9g, \"sum\": \"%016llx\"}\n",
		       i, hosts + (size_t)i * sizeof host, all[i][2], all[i][0], all[i][1],
		       all[i][3], all[i][4], all[i][5], all[i][6], (unsigned long long)sum);
	free(all);
	free(hosts);
}

static void client_job(job *j, const char *how, const unsigned char *all, unsigned char *mine)
{
	hetpart_mpi_farm_opts farm = HETPART_MPI_FARM_OPTS_INIT;
	size_t *order = client_array((size_t)j->ranks, sizeof *order);
	farm.root_works = true;
	farm.item_bytes = (size_t)j->item_bytes;
	farm.data = all;
	hetpart_plan *plan = strcmp(how, "ascending") == 0 ? plan_ascending(j, order) : NULL;
	MPI_Barrier(MPI_COMM_WORLD);
	j->start_s = MPI_Wtime();
	if (plan)
		compute_all(j, mine,
			    client_scatter(j, all, mine, HETPART_MPI_BALANCED, plan, order));
	else if (strcmp(how, "scatterv") == 0)
		compute_all(j, mine, client_scatterv(j, all, mine));
	else if (strcmp(how, "speed") == 0)
		compute_all(j, mine, client_scatter(j, all, mine, HETPART_MPI_SPEED, NULL, NULL));
	else if (strcmp(how, "balanced") == 0)
		compute_all(j, mine,
			    client_scatter(j, all, mine, HETPART_MPI_BALANCED, NULL, NULL));
	else if (strcmp(how, "farm") == 0)
		client_need(hetpart_mpi_farm((uint64_t)j->items, work_on, j, 0, MPI_COMM_WORLD,
					     &farm, NULL, &client_err));
	else
		client_stop("HOW must be scatterv, speed, balanced, ascending or farm");
	MPI_Barrier(MPI_COMM_WORLD);
	hetpart_plan_free(plan);
	free(order);
}

static int positive(const char *text)
{
	char *end;
	const long n = strtol(text, &end, 10);
	if (end == text || *end || n < 1 || n > INT_MAX)
		client_stop("ITEMS, ITEM_BYTES and ROUNDS must be whole numbers above 0");
	return (int)n;
}

int main(int argc, char **argv)
{
	job j = { 0 };
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &j.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &j.ranks);
	if (argc != 5 && argc != 6)
		client_stop("usage: scatter_client HOW ITEMS ITEM_BYTES ROUNDS [COSTS]");
	j.items = positive(argv[2]);
	j.item_bytes = positive(argv[3]);
	j.rounds = positive(argv[4]);
	unsigned char *all = j.rank ? NULL : client_array((size_t)j.items, (size_t)j.item_bytes);
	unsigned char *mine = client_array((size_t)j.items, (size_t)j.item_bytes);
	for (int i = 0; all && i < j.items; i++)
		memcpy(all + (size_t)i * (size_t)j.item_bytes, &i,
		       sizeof i < (size_t)j.item_bytes ? sizeof i : (size_t)j.item_bytes);
	MPI_Type_contiguous(j.item_bytes, MPI_BYTE, &j.item);
	MPI_Type_commit(&j.item);
	if (argc == 6)
		read_costs(&j, argv[5]);
	else
		client_measure(&j, mine);
	client_job(&j, argv[1], all, mine);
	print_all(&j);
	MPI_Type_free(&j.item);
	free(all);
	free(mine);
	return MPI_Finalize() != MPI_SUCCESS;
}
