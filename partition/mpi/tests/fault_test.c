/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fault_test.c - print what a call that gathers and one that scatters return on each rank. During
 * the calls, functions of MPI fail: mpi_misuse.sh arranges that, and checks the output. */
#include "check.h"

static void print_status(const char *call, hetpart_status st, const hetpart_err *err)
{
	printf("rank %d, %s: %s: %s\n", rank, call, hetpart_status_text(st),
	       st == HETPART_OK ? "" : err->text);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	hetpart_mpi_scatter_opts o = HETPART_MPI_SCATTER_OPTS_INIT;
	const char out[10] = "123456789";
	char in[10];
	double *speeds;
	uint64_t got;
	hetpart_err err;

	start(&argc, &argv);
	speeds = calloc((size_t)size, sizeof *speeds);
	o.shares = HETPART_MPI_EQUAL;
	print_status("gather", hetpart_mpi_gather_speeds(speeds, 1, MPI_COMM_WORLD, &err), &err);
	print_status("scatter",
		     hetpart_mpi_scatter(out, 10, MPI_BYTE, in, 10, &got, MPI_BYTE, 0,
					 MPI_COMM_WORLD, &o, &err),
		     &err);
	free(speeds);
	return MPI_Finalize();
}
