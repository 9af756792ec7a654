/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A comm over an MPI communicator of the caller. For comm_mpi_run.c and the library. */
#ifndef HETSORT_COMM_COMM_MPI_H
#define HETSORT_COMM_COMM_MPI_H

#include "comm.h"

#include <mpi.h>

/* Who has to answer while connections are made, -1 after. */
typedef void comm_waits(int rank);

/* comm_mpi_open - collective over parent: a comm of its ranks, on duplicates of it that return
 * errors; parent stays as it is. told: only where parent is ours alone, whose connections are then
 * made before all else; NULL, and no message travels on it. On failure *c is NULL, and all ranks
 * fail, each with its own e: ST_RESOURCE where there is no memory, ST_PEER on the others and where
 * MPI fails. */
status comm_mpi_open(comm **c, MPI_Comm parent, comm_waits *told, size_t max_msg, err *e);

/* comm_mpi_close - collective, unless the comm is broken: the duplicates are then not freed. */
void comm_mpi_close(comm *c);

#endif
