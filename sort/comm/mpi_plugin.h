/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The plug-in that runs a rank over MPI. hetsort is not linked with MPI, because loading MPI's
 * libraries takes longer than a short sort. Under a launcher, hetsort loads the plug-in for the
 * launcher's MPI. */
#ifndef HETSORT_COMM_MPI_PLUGIN_H
#define HETSORT_COMM_MPI_PLUGIN_H

#include "comm.h"

#define MPI_PLUGIN_SYMBOL "hetsort_mpi_plugin"

/* The functions of the program that the plug-in calls. */
typedef struct mpi_plugin_host {
	size_t (*room_bytes)(int size);
	void (*give_room)(comm *c, void *room);
	void (*wait_for)(int peer);
} mpi_plugin_host;

/* The bytes by which a plug-in is recognized in its file, before any of its code runs. A plug-in of
 * another version or size of comm is refused. */
typedef struct mpi_plugin_identity {
	char what[sizeof "hetsort plug-in for MPI"], version[16];
	uint64_t comm_bytes;
} mpi_plugin_identity;

#define MPI_PLUGIN_IDENTITY                                              \
	{                                                                \
		"hetsort plug-in for MPI", HETSORT_VERSION, sizeof(comm) \
	}

/* The symbol that a plug-in exports. */
typedef struct mpi_plugin {
	mpi_plugin_identity is;
	const mpi_plugin_host **host; /* to be set before any call */
	status (*run)(size_t max_msg, rank_main *fn, void *arg, err *e);
	void (*end)(int code);
} mpi_plugin;

#endif
