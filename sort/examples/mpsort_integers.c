/* SPDX-License-Identifier: GPL-3.0-or-later */
/* MP-sort's main-mpi with libhetsort: N random integers over all ranks are sorted, timed and
 * compared with qsort(). Instead of a function that computes a radix, the key is a text. It may be
 * signed.
 *
 *   mpicc mpsort_integers.c $(pkg-config --cflags --libs hetsort) && mpirun -n 4 ./a.out 1000000
 */
#include <hetsort.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b)
{
	const int x = *(const int *)a, y = *(const int *)b;
	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	const size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;
	int rank, ranks;
	hetsort_err err;
	hetsort_opts opts = HETSORT_OPTS_INIT;
	opts.record_bytes = sizeof(int);
	opts.key = "0,i32";

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	const size_t first = n * (size_t)rank / (size_t)ranks;
	const size_t mine = n * ((size_t)rank + 1) / (size_t)ranks - first;
	int *all = malloc((n + 1) * sizeof *all), *out = malloc((mine + 1) * sizeof *out);
	if (!all || !out)
		return MPI_Abort(MPI_COMM_WORLD, 1);
	for (size_t i = 0; i < n; i++) /* the same on all ranks */
		all[i] = rand() % 20000 - 10000;

	const double begin = MPI_Wtime();
	if (hetsort_sort_counts(all + first, mine, out, mine, &opts, MPI_COMM_WORLD, &err) !=
	    HETSORT_OK) {
		fprintf(stderr, "mpsort_integers: %s\n", err.text);
		return MPI_Abort(MPI_COMM_WORLD, 1);
	}
	const double between = MPI_Wtime();
	qsort(all, n, sizeof *all, by_value);
	const int same = memcmp(out, all + first, mine * sizeof *out) == 0;
	printf("rank %d: %zu integers, %s, %.3g s, qsort of all %.3g s\n", rank, mine,
	       same ? "right" : "WRONG", between - begin, MPI_Wtime() - between);
	free(all);
	free(out);
	return MPI_Finalize() != MPI_SUCCESS || !same;
}
