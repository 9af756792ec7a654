/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Several virtual ranks in each process, for process emulation. */
#ifndef HETSORT_COMM_COMM_VIRTUAL_H
#define HETSORT_COMM_COMM_VIRTUAL_H

#include "comm.h"

/* Ranks of one process at most: tags that name both ends are then within what every MPI allows. */
enum { COMM_MAX_VIRTUAL = 22 };

/* comm_virtual_run - collective over outer: runs count[i] ranks (1 to COMM_MAX_VIRTUAL) as threads
 * of process i, each with fn(its comm, arg); the first process has the first ranks. count has an
 * entry for each rank of outer, the same everywhere. Returns the worst status of this process's
 * ranks; ST_RESOURCE, with no rank started anywhere, where threads cannot be had. */
status comm_virtual_run(comm *outer, const int *count, rank_main *fn, void *arg, err *e);

#endif
