/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A comm over an MPI communicator of the caller. For comm_mpi_run.c and the library. */
#ifndef HETSORT_COMM_COMM_MPI_H
#define HETSORT_COMM_COMM_MPI_H

#include "comm.h"

#include <mpi.h>

/* comm_mpi_open - collective over parent: a comm of its ranks, on duplicates of it that return
 * errors; parent stays as it is, and no message travels on it unless it is ours alone. On failure
 * *c is NULL, and all ranks fail, each with its own e: ST_RESOURCE where there is no memory,
 * ST_PEER on the others and where MPI fails. */
status comm_mpi_open(comm **c, MPI_Comm parent, bool ours, size_t max_msg, err *e);

/* comm_mpi_close - collective, unless the comm is broken: the duplicates are then not freed. */
void comm_mpi_close(comm *c);

#endif
