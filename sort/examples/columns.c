/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sort particles whose data are in several arrays. One column, the cells, gives the order, which
 * then applies to every column. Only cells and numbers are sorted, and each column moves once.
 *
 *   mpicc columns.c $(pkg-config --cflags --libs hetsort) && mpirun -n 4 ./a.out
 */
#include <hetsort.h>

#include <stdio.h>
#include <stdlib.h>

static void need(int good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "columns: %s\n", what);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static void *array(uint64_t n, size_t bytes)
{
	void *a = calloc(n + 1, bytes);
	need(a != NULL, "no memory");
	return a;
}

int main(int argc, char **argv)
{
	hetsort_opts opts = HETSORT_OPTS_INIT;
	hetsort_err err;
	int rank;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);

	/* the columns of this rank: the speed is a function of the cell */
	uint64_t n = 1000 + 10 * (uint64_t)rank, n_out = 0,
		 x = 88172645463325252ULL + (uint64_t)rank;
	uint32_t *cell = array(n, sizeof *cell);
	double(*speed)[3] = array(n, sizeof *speed);
	for (uint64_t i = 0; i < n; i++) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		cell[i] = (uint32_t)(x % 512);
		for (int d = 0; d < 3; d++)
			speed[i][d] = cell[i] / 4.0 + d;
	}

	opts.record_bytes = sizeof *cell;
	opts.key = "0,u32";
	need(hetsort_share(n, &n_out, &opts, MPI_COMM_WORLD, &err) == HETSORT_OK, err.text);
	uint64_t *order = array(n_out, sizeof *order);
	uint32_t *cells = array(n_out, sizeof *cells);
	double(*speeds)[3] = array(n_out, sizeof *speeds);
	need(hetsort_argsort(cell, n, order, n_out, &n_out, &opts, MPI_COMM_WORLD, &err) ==
		     HETSORT_OK,
	     err.text);
	need(hetsort_apply(order, n_out, cell, n, cells, sizeof *cell, NULL, MPI_COMM_WORLD,
			   &err) == HETSORT_OK,
	     err.text);
	need(hetsort_apply(order, n_out, speed, n, speeds, sizeof *speed, NULL, MPI_COMM_WORLD,
			   &err) == HETSORT_OK,
	     err.text);

	/* the columns belong together, and equal cells keep the order of their numbers */
	uint64_t wrong = 0;
	for (uint64_t i = 0; i < n_out; i++) {
		wrong += speeds[i][2] != cells[i] / 4.0 + 2;
		wrong += i && (cells[i - 1] > cells[i] ||
			       (cells[i - 1] == cells[i] && order[i - 1] >= order[i]));
	}
	printf("rank %d: %llu particles, cells %u to %u, %llu wrong\n", rank,
	       (unsigned long long)n_out, cells[0], cells[n_out ? n_out - 1 : 0],
	       (unsigned long long)wrong);
	free(cell), free(speed), free(order), free(cells), free(speeds);
	return MPI_Finalize();
}
