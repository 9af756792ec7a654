/* SPDX-License-Identifier: GPL-3.0-or-later */
/* roles.c - a program for equal processes on unequal nodes, by process emulation: a fast process
 * plays several roles, the ranks of the program as it was written [S2]. In each step, every role
 * sends its number to the next role and adds the number of the previous one. Usage:
 *     mpirun -n 4 roles ROLES STEPS RATING...
 * The ratings are the speeds of the processes, in turn if there are fewer. The result does not
 * depend on them, only the time. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <mpi.h>
#include <hetpart.h>

static void *must(void *memory)
{
	if (!memory)
		MPI_Abort(MPI_COMM_WORLD, 1);
	return memory;
}

/* Divide the roles among the processes: the same plan on every process. */
static hetpart_plan *divide(uint64_t roles, int processes, char **ratings, int nratings)
{
	double *rating = must(calloc((size_t)processes, sizeof *rating));
	hetpart_plan *plan;
	hetpart_err err;

	for (int i = 0; i < processes; i++)
		rating[i] = strtod(ratings[i % nratings], NULL);
	if (hetpart_emulate_create(&plan, rating, (size_t)processes, roles, &err) != HETPART_OK) {
		fprintf(stderr, "roles: %s\n", err.text);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	free(rating);
	return plan;
}

/* Play one step of all roles of this process. They are first, first + 1, ... A message has the
 * number of the receiving role as its tag. */
static void step(const hetpart_plan *plan, uint64_t first, size_t mine, uint64_t *number,
		 uint64_t *received, MPI_Request *request)
{
	const uint64_t roles = hetpart_plan_items(plan);

	for (size_t k = 0; k < mine; k++) {
		const uint64_t role = first + k, next = (role + 1) % roles;
		const uint64_t previous = (role + roles - 1) % roles;
		MPI_Irecv(&received[k], 1, MPI_UINT64_T, (int)hetpart_plan_owner(plan, previous),
			  (int)role, MPI_COMM_WORLD, &request[2 * k]);
		MPI_Isend(&number[k], 1, MPI_UINT64_T, (int)hetpart_plan_owner(plan, next),
			  (int)next, MPI_COMM_WORLD, &request[2 * k + 1]);
	}
	MPI_Waitall((int)(2 * mine), request, MPI_STATUSES_IGNORE);
	for (size_t k = 0; k < mine; k++)
		number[k] += received[k];
}

int main(int argc, char **argv)
{
	uint64_t sum = 0, all = 0;
	int rank, processes;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &processes);
	if (argc < 4) {
		fprintf(stderr, "usage: roles ROLES STEPS RATING...\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	hetpart_plan *plan = divide(strtoull(argv[1], NULL, 10), processes, argv + 3, argc - 3);
	const uint64_t first = hetpart_plan_first(plan, (size_t)rank);
	const size_t mine = (size_t)hetpart_plan_share(plan, (size_t)rank);
	uint64_t *number = must(calloc(mine + 1, sizeof *number));
	uint64_t *received = must(calloc(mine + 1, sizeof *received));
	MPI_Request *request = must(calloc(2 * mine + 1, sizeof(MPI_Request)));

	for (size_t k = 0; k < mine; k++)
		number[k] = first + k;
	for (int i = atoi(argv[2]); i > 0; i--)
		step(plan, first, mine, number, received, request);
	for (size_t k = 0; k < mine; k++) /* a sum that depends on the order of roles */
		sum += (first + k) * number[k];
	MPI_Reduce(&sum, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
	for (int i = 0; rank == 0 && i < processes; i++)
		printf("%s%d", i > 0 ? " " : "roles: ", (int)hetpart_plan_share(plan, (size_t)i));
	if (rank == 0)
		printf("\nsum: %llu\n", (unsigned long long)all);
	free(number);
	free(received);
	free(request);
	hetpart_plan_free(plan);
	return MPI_Finalize() != MPI_SUCCESS;
}
