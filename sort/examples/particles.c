/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sort the particles of all ranks by their cells; the first rank gets the lowest cells. A rank of
 * twice the speed gets twice the share.
 *
 *   mpicc particles.c $(pkg-config --cflags --libs hetsort) && mpirun -n 4 ./a.out
 */
#include <hetsort.h>

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct particle {
	unsigned char cell[8]; /* the key, most significant byte first, as memcmp() needs */
	double position[3];
} particle;

static void set_cell(particle *p, uint64_t cell)
{
	for (int b = 7; b >= 0; b--, cell >>= 8)
		p->cell[b] = (unsigned char)cell;
}

static uint64_t get_cell(const particle *p)
{
	uint64_t cell = 0;
	for (int b = 0; b < 8; b++)
		cell = cell << 8 | p->cell[b];
	return cell;
}

/* Make the particles of this rank. The number differs from rank to rank. */
static particle *make_particles(int rank, uint64_t *n)
{
	uint64_t x = 88172645463325252ULL + (uint64_t)rank;
	*n = 10000 + 100 * (uint64_t)rank;
	particle *p = malloc(*n * sizeof *p);
	for (uint64_t i = 0; p && i < *n; i++) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		set_cell(&p[i], x % 4096);
		for (int d = 0; d < 3; d++)
			p[i].position[d] = (double)(x >> (16 * d) & 0xffff);
	}
	return p;
}

static int fail(const char *what)
{
	fprintf(stderr, "particles: %s\n", what);
	return MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv)
{
	hetsort_opts opts = HETSORT_OPTS_INIT;
	hetsort_err err;
	int rank, ranks;
	uint64_t n_in, n_out;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);

	double *speeds =
		malloc((size_t)ranks * sizeof *speeds); /* every second one is twice as fast */
	for (int i = 0; speeds && i < ranks; i++)
		speeds[i] = 1 + i % 2;
	opts.record_bytes = sizeof(particle);
	opts.key_off = offsetof(particle, cell);
	opts.key_bytes = sizeof(((particle *)0)->cell);
	opts.speeds = speeds;

	particle *in = make_particles(rank, &n_in);
	if (!in || !speeds)
		return fail("no memory");
	if (hetsort_share(n_in, &n_out, &opts, MPI_COMM_WORLD, &err) != HETSORT_OK)
		return fail(err.text);
	particle *out = malloc((n_out + 1) * sizeof *out);
	if (!out)
		return fail("no memory");
	if (hetsort_sort(in, n_in, out, n_out, &n_out, &opts, MPI_COMM_WORLD, &err) != HETSORT_OK)
		return fail(err.text);

	for (int r = 0; r < ranks; r++, MPI_Barrier(MPI_COMM_WORLD))
		if (r == rank && n_out) {
			printf("rank %d: %llu particles, cells %llu to %llu\n", rank,
			       (unsigned long long)n_out, (unsigned long long)get_cell(&out[0]),
			       (unsigned long long)get_cell(&out[n_out - 1]));
			fflush(stdout);
		}
	free(in);
	free(out);
	free(speeds);
	return MPI_Finalize();
}
