/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A comm over an MPI communicator of the caller, for comm_mpi_run.c and the library. */
#ifndef HETSORT_COMM_COMM_MPI_H
#define HETSORT_COMM_COMM_MPI_H

#include "comm.h"

#include <mpi.h>

/* Called while connections are made, with the rank that has to answer, and afterwards with -1. */
typedef void comm_waits(int rank);

/* comm_mpi_open - collective over parent: make a comm of its ranks. The comm uses duplicates of
 * parent, on which MPI returns errors; parent does not change. With waits, connections to all ranks
 * are made on parent first. So use NULL unless parent belongs to hetsort. On failure all ranks
 * fail, and *c is NULL. Ranks without memory return ST_RESOURCE, all others ST_PEER. */
status comm_mpi_open(comm **c, MPI_Comm parent, comm_waits *waits, size_t max_msg, err *e);

/* comm_mpi_close - collective: free the comm and, unless it is broken, its communicators. */
void comm_mpi_close(comm *c);

#endif
