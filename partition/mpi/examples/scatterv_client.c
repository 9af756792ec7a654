/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scatterv_client.c - a program in which hetpart_mpi_scatter() replaces MPI_Scatterv(). A root
 * scatters numbers, every rank adds the square roots of its numbers, and the root adds the sums.
 * With -DPLAIN, the program uses MPI_Scatterv(). measure() finds the costs that
 * hetpart_mpi_scatter() needs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <mpi.h>
#ifndef PLAIN
#	include <hetpart_mpi.h>
#endif

#define NUMBERS 100003

static double sum_roots(const double *x, int n)
{
	double sum = 0;

	for (int i = 0; i < n; i++)
		sum += sqrt(x[i]);
	return sum;
}

#ifdef PLAIN

/* Scatter equal counts by MPI_Scatterv(). */
static int scatter_numbers(const double *all, double *mine, int rank, int ranks)
{
	int *counts = malloc((size_t)ranks * sizeof *counts);
	int *displs = malloc((size_t)ranks * sizeof *displs);
	int n;

	if (!counts || !displs)
		MPI_Abort(MPI_COMM_WORLD, 1);
	for (int i = 0, at = 0; i < ranks; at += counts[i++]) {
		counts[i] = NUMBERS / ranks + (i < NUMBERS % ranks);
		displs[i] = at;
	}
	n = counts[rank];
	MPI_Scatterv(all, counts, displs, MPI_DOUBLE, mine, n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	free(counts);
	free(displs);
	return n;
}

#else

static volatile double sink; /* keeps the compiler from removing the work */

static hetpart_status sample(void *ctx, uint64_t items, hetpart_err *err)
{
	(void)err;
	sink = sum_roots(ctx, (int)items);
	return HETPART_OK;
}

/* Measure the costs of this rank and of its link to the root, in 0.2 seconds each. */
static hetpart_mpi_scatter_opts measure(double *samples, hetpart_err *err)
{
	hetpart_mpi_scatter_opts opts = HETPART_MPI_SCATTER_OPTS_INIT;
	hetpart_mpi_timing compute, link;

	if (hetpart_mpi_measure_compute(&compute, sample, samples, NUMBERS, 0, MPI_COMM_WORLD,
					err) != HETPART_OK ||
	    hetpart_mpi_measure_link(&link, sizeof *samples, NUMBERS, 0, 0, MPI_COMM_WORLD, err) !=
		    HETPART_OK) {
		fprintf(stderr, "scatterv_client: %s\n", err->text);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	opts.compute = compute.fit;
	opts.link = link.fit;
	return opts;
}

static int scatter_numbers(const double *all, double *mine, int rank, int ranks)
{
	hetpart_err err;
	hetpart_mpi_scatter_opts opts = measure(mine, &err);
	uint64_t n = 0;

	(void)rank, (void)ranks;
	if (hetpart_mpi_scatter(all, NUMBERS, MPI_DOUBLE, mine, NUMBERS, &n, MPI_DOUBLE, 0,
				MPI_COMM_WORLD, &opts, &err) != HETPART_OK) {
		fprintf(stderr, "scatterv_client: %s\n", err.text);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	return (int)n;
}

#endif

int main(int argc, char **argv)
{
	double *all = calloc(NUMBERS, sizeof *all), *mine = calloc(NUMBERS, sizeof *mine);
	double part, sum;
	int rank, ranks, n, numbers;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (!all || !mine)
		MPI_Abort(MPI_COMM_WORLD, 1);
	for (int i = 0; i < NUMBERS && rank == 0; i++)
		all[i] = (double)i * i;
	n = scatter_numbers(all, mine, rank, ranks);
	part = sum_roots(mine, n);
	MPI_Reduce(&part, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	MPI_Reduce(&n, &numbers, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
	if (rank == 0)
		printf("%d numbers, sum of square roots %.0f\n", numbers, sum);
	free(all);
	free(mine);
	return MPI_Finalize() != MPI_SUCCESS;
}
