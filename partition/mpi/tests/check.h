/* SPDX-License-Identifier: GPL-3.0-or-later */
/* check.h - checks over ranks: each rank counts, the result is common. A program returns finish(),
 * which is a failure on every rank if a check failed on any rank, or if nothing was checked. */
#ifndef HETPART_MPI_CHECK_H
#define HETPART_MPI_CHECK_H

#include <hetpart_mpi.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long checks, failures;
static int rank, size;

static inline void start(int *argc, char ***argv)
{
	if (MPI_Init(argc, argv) != MPI_SUCCESS || MPI_Comm_rank(MPI_COMM_WORLD, &rank) != 0 ||
	    MPI_Comm_size(MPI_COMM_WORLD, &size) != MPI_SUCCESS)
		exit(1);
}

/* Check a condition; if it fails, print what was tried, the first few times. */
#define CHECK(condition, ...)                                                                 \
	do {                                                                                  \
		checks++;                                                                     \
		if (!(condition) && failures++ < 5) {                                         \
			fprintf(stderr, "# rank %d of %d, %s:%d: %s: ", rank, size, __FILE__, \
				__LINE__, #condition);                                        \
			fprintf(stderr, __VA_ARGS__);                                         \
			fprintf(stderr, "\n");                                                \
		}                                                                             \
	} while (0)

/* Check that a call returned this status; otherwise print its message. */
#define IS(status, wanted, err, ...)                                                   \
	do {                                                                           \
		const hetpart_status got_ = (status);                                  \
		if (got_ != (wanted))                                                  \
			fprintf(stderr, "# got '%s': %s\n", hetpart_status_text(got_), \
				got_ == HETPART_OK ? "" : (err)->text);                \
		CHECK(got_ == (wanted), __VA_ARGS__);                                  \
	} while (0)

static inline int finish(void)
{
	long mine[2] = { checks, failures }, all[2] = { 0, 1 };
	const int rc = MPI_Allreduce(mine, all, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);

	if (rank == 0)
		printf("%ld checks, %ld failed\n", all[0], all[1]);
	if (MPI_Finalize() != MPI_SUCCESS)
		return 1;
	return rc != MPI_SUCCESS || all[1] != 0 || all[0] == 0;
}

#endif
