/* SPDX-License-Identifier: GPL-3.0-or-later */
/* link_test.c - print the bandwidth of each rank's link from rank 0 in MB/s, for a script that
 * limits the links of virtual hosts and compares. */
#include "check.h"

int main(int argc, char **argv)
{
	hetpart_mpi_timing t;
	hetpart_err err;
	double *all;

	start(&argc, &argv);
	IS(hetpart_mpi_measure_link(&t, 100, 100000, 0, 0, MPI_COMM_WORLD, &err), HETPART_OK, &err,
	   "link");
	const double mine = t.fit.per_item_s > 0 ? 1e-4 / t.fit.per_item_s : 0;

	all = calloc((size_t)size, sizeof *all);
	if (!all ||
	    MPI_Gather(&mine, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD) != MPI_SUCCESS)
		exit(1);
	for (int i = 1; i < size && rank == 0; i++)
		printf("link %d %.4g\n", i, all[i]);
	free(all);
	return finish();
}
