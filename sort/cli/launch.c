/* SPDX-License-Identifier: GPL-3.0-or-later */
/* By the environment alone, which is all there is before MPI has started, or where it has not. */
#include "launch.h"

#include <stdlib.h>
#include <string.h>

static const char *first_set(const char *const *name, size_t n, size_t *which)
{
	for (*which = 0; *which < n; ++*which) {
		const char *v = getenv(name[*which]);
		if (v)
			return v;
	}
	return NULL;
}

const char *launch_rank(void)
{
	static const char *const rank_of[] = { "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
					       "LAMRANK", "SLURM_PROCID" };
	size_t which;
	return first_set(rank_of, sizeof rank_of / sizeof *rank_of, &which);
}

bool launch_speaks(void)
{
	const char *rank = launch_rank();
	return !rank || strcmp(rank, "0") == 0;
}

/* The launcher closest to us goes first: mpirun inside a step of srun. SLURM_NTASKS will not do, it
 * is there in a batch script as well, where one process is started of which nobody expects more. */
status launch_check(int size, err *e)
{
	static const char *const size_of[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
					       "SLURM_STEP_NUM_TASKS" };
	size_t which;
	char *end;
	const char *set = first_set(size_of, sizeof size_of / sizeof *size_of, &which);
	const long n = set ? strtol(set, &end, 10) : size;
	if (!set || end == set || *end || n == size)
		return ST_OK;
	return err_set(
		e, ST_REFUSED,
		"%s says that %ld processes were started, but MPI joins %d: launcher and MPI do "
		"not fit together (with Slurm: srun --mpi=pmix, or mpirun)",
		size_of[which], n, size);
}
