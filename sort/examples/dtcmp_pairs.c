/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The example of DTCMP's manual with libhetsort: ten pairs of int on each rank are sorted by the
 * first, ascending, and then by the second, descending. Instead of an MPI type and an operation,
 * the key is a text.
 *
 *   mpicc dtcmp_pairs.c $(pkg-config --cflags --libs hetsort) && mpirun -n 4 ./a.out
 */
#include <hetsort.h>

#include <stdio.h>

int main(int argc, char **argv)
{
	enum { PAIRS = 10 };
	int in[PAIRS][2], out[PAIRS][2], rank;
	hetsort_err err;
	hetsort_opts opts = HETSORT_OPTS_INIT;
	opts.record_bytes = sizeof *in;
	opts.key = "0,i32 4,i32,desc";

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < PAIRS; i++) {
		in[i][0] = (i * 7 + rank * 3) % 5 - 2;
		in[i][1] = 10 * i + rank;
	}
	if (hetsort_sort_counts(in, PAIRS, out, PAIRS, &opts, MPI_COMM_WORLD, &err) != HETSORT_OK) {
		fprintf(stderr, "dtcmp_pairs: %s\n", err.text);
		return MPI_Abort(MPI_COMM_WORLD, 1);
	}
	for (int i = 0; i < PAIRS; i++)
		printf("%d %d %d %d\n", rank, i, out[i][0], out[i][1]);
	return MPI_Finalize();
}
