/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Starts MPI for the program, and ends it or the whole job. Not in the library, whose callers start
 * and end MPI themselves. */
#include "comm_mpi.h"

#include <stdio.h>
#include <unistd.h>

_Noreturn void comm_mpi_end(int code)
{
	int up = 0;
	fflush(NULL);
	if (MPI_Initialized(&up) == MPI_SUCCESS && up)
		MPI_Abort(MPI_COMM_WORLD, code);
	_exit(code);
}

static void end_job(comm *c, int code)
{
	(void)c;
	comm_mpi_end(code);
}

status comm_mpi_run(size_t max_msg, rank_main *fn, void *arg, err *e)
{
	comm *c;
	int level = 0;
	if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level) != MPI_SUCCESS)
		return err_set(e, ST_PEER, "MPI does not start");
	status st = comm_mpi_open(&c, MPI_COMM_WORLD, max_msg, e);
	if (st != ST_OK)
		return st;
	struct comm_ops ops = *c->ops;
	ops.end_job = end_job;
	c->ops = &ops;
	st = fn(c, arg);
	comm_mpi_close(c);
	MPI_Finalize();
	return st;
}
