/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A comm over an MPI communicator of the caller, for comm_mpi_run.c and the library. */
#ifndef HETSORT_COMM_COMM_MPI_H
#define HETSORT_COMM_COMM_MPI_H

#include "comm.h"

#include <mpi.h>

/* Receives the rank that has to answer while connections are made, -1 afterwards. */
typedef void comm_waits(int rank);

/* comm_mpi_open - collective over parent: make a comm of its ranks, on duplicates of parent that
 * return errors. parent does not change. If parent belongs to hetsort, waits is set, and all
 * connections are made on parent first; with NULL, no message is sent on parent. On failure *c is
 * NULL, and all ranks fail: with ST_RESOURCE a rank without memory, with ST_PEER all others, or
 * all if MPI fails. */
status comm_mpi_open(comm **c, MPI_Comm parent, comm_waits *waits, size_t max_msg, err *e);

/* comm_mpi_close - collective: free the comm and, unless it is broken, its duplicates. */
void comm_mpi_close(comm *c);

#endif
