/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What both backends share: leaving together, and telling by whom we were started.
 * Touches no network of its own. */
#include "comm.h"

#include <stdlib.h>

status comm_agree(comm *c, status mine)
{
	int32_t *all = calloc((size_t)c->size, sizeof *all), worst = 0;
	if (!all) {
		/* without this room nobody can be told anything */
		comm_abort(c, ST_RESOURCE);
		return ST_RESOURCE;
	}
	const int32_t own = mine;
	const status rc = comm_allgather(c, &own, all, sizeof own);
	for (int i = 0; i < c->size; i++)
		if (worst == ST_OK)
			worst = all[i];
	free(all);
	if (rc != ST_OK)
		return rc;
	return mine != ST_OK ? mine : (status)worst;
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
