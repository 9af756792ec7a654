/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What all backends share: agreeing on a status, and finding out whether an MPI launcher has
 * started the process. Uses no network but by the backend. */
#include "comm.h"
#include "process_pointer.h"

#include <signal.h>
#include <stdlib.h>

const char process_pointer_home = 0;

status comm_peer_status(comm *c, int32_t code)
{
	const bool is_status = (code >= ST_OK && code <= ST_INTERNAL) ||
			       (code > ST_SIGNAL && code < ST_SIGNAL + NSIG);
	return is_status ? (status)code : comm_noted(c, ST_PEER);
}

static uint64_t first_failure(uint64_t a, uint64_t b)
{
	return a != ST_OK ? a : b;
}

status comm_worst(comm *c, status mine)
{
	uint64_t first;
	const status rc = comm_reduce(c, mine, first_failure, &first);
	if (rc != ST_OK || mine != ST_OK)
		return rc != ST_OK ? rc : mine;
	return first <= INT32_MAX ? comm_peer_status(c, (int32_t)first) : comm_noted(c, ST_PEER);
}

bool comm_mpi_launched(void)
{
	static const char *const set_by_launchers[] = {
		"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE",
		"MPI_LOCALRANKID",      "LAMRANK",
	};
	for (size_t i = 0; i < sizeof set_by_launchers / sizeof *set_by_launchers; i++)
		if (getenv(set_by_launchers[i]))
			return true;
	return false;
}
