/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The entry point of the plug-in for MPI. The plug-in consists of this file, comm_mpi.c,
 * comm_mpi_run.c and status.c. Other functions of hetsort that it calls are in the program, because
 * the program holds their state. The functions below forward these calls. */
#include "mpi_plugin.h"
#include "monitor.h"

static const mpi_plugin_host *host;

size_t comm_room_bytes(int size)
{
	return host->room_bytes(size);
}

void comm_give_room(comm *c, void *room)
{
	host->give_room(c, room);
}

void monitor_wait_for(int peer)
{
	host->wait_for(peer);
}

extern const mpi_plugin hetsort_mpi_plugin;
__attribute__((visibility("default")))
const mpi_plugin hetsort_mpi_plugin = { MPI_PLUGIN_IDENTITY, &host, comm_mpi_run, comm_mpi_end };
