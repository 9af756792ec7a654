/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Equal virtual ranks in numbers that fit unequal nodes [S2], by the planner library. Rank 0 plans,
 * the others take its word. Touches no data; two collectives of a few bytes a rank. */
#include "emulation.h"
#include "shares.h"
#include "speeds.h"

#include <stdlib.h>

/* Where the best number is asked for: more ranks fit better, but each costs windows and messages.
 */
enum { MOST_A_NODE = 4 };

/* Ranks that disagree would wait for one another in different calls. */
static status all_alike(comm *c, const settings *o, err *e)
{
	int32_t first = o->emulate;
	const status rc = comm_bcast(c, &first, sizeof first, 0);
	return rc == ST_OK && first != o->emulate
		       ? err_set(e, ST_REFUSED, "--emulate is not the same on all ranks")
		       : rc;
}

static status ask_planner(emulation *m, const double *speed, int nodes, int ranks, err *e)
{
	const size_t p = (size_t)nodes;
	hetpart_plan *plan = NULL;
	hetpart_err he = { HETPART_OK, "" };
	const hetpart_status st =
		ranks == EMULATE_BEST
			? hetpart_emulate_best(&plan, speed, p, MOST_A_NODE * (uint64_t)p, &he)
			: hetpart_emulate_create(&plan, speed, p, (uint64_t)ranks, &he);
	for (size_t i = 0; st == HETPART_OK && i < p; i++)
		m->count[i] = (int)hetpart_plan_share(plan, i);
	if (st == HETPART_OK)
		m->efficiency = hetpart_emulate_efficiency(plan, speed);
	hetpart_plan_free(plan);
	return shares_status(st, &he, e);
}

static status check_counts(const emulation *m, char (*host)[HOST_BYTES], int nodes, err *e)
{
	char q[QUOTED_BYTES];
	for (int i = 0; i < nodes; i++) {
		if (m->count[i] == 0)
			return err_set(e, ST_REFUSED,
				       "--emulate has no virtual rank for rank %d (%s), which is "
				       "too slow: take a larger number, or leave that node out",
				       i, err_quoted(host[i], q));
		if (m->count[i] > COMM_MAX_VIRTUAL)
			return err_set(
				e, ST_REFUSED,
				"--emulate has %d virtual ranks for rank %d (%s): at most %d "
				"fit one process",
				m->count[i], i, err_quoted(host[i], q), COMM_MAX_VIRTUAL);
	}
	return ST_OK;
}

/* At rank 0. */
static status plan_counts(emulation *m, const settings *o, char (*host)[HOST_BYTES], int nodes,
			  err *e)
{
	const speeds_want w = { "speed", (size_t)nodes, *host, sizeof *host };
	double *speed = calloc(w.n, sizeof *speed);
	if (!speed)
		return err_set(e, ST_RESOURCE, "no memory for %d speeds", nodes);
	status rc = speeds_load(o->speeds, &w, speed, e);
	if (rc == ST_OK)
		rc = ask_planner(m, speed, nodes, o->emulate, e);
	free(speed);
	return rc == ST_OK ? check_counts(m, host, nodes, e) : rc;
}

status emulation_plan(emulation *m, comm *c, const settings *o, err *e)
{
	const size_t p = (size_t)c->size;
	char(*name)[HOST_BYTES] = calloc(p, sizeof *name);
	*m = (emulation){ .count = calloc(p, sizeof *m->count) };
	status rc = name && m->count ? ST_OK
				     : err_set(e, ST_RESOURCE, "no memory for %d hosts", c->size);
	rc = comm_agree(c, rc);
	if (rc == ST_OK)
		rc = comm_agree(c, all_alike(c, o, e));
	if (rc == ST_OK)
		rc = comm_gather(c, c->host, name, sizeof *name, 0);
	if (rc == ST_OK)
		rc = comm_agree(c, c->rank == 0 ? plan_counts(m, o, name, c->size, e) : ST_OK);
	if (rc == ST_OK)
		rc = comm_bcast(c, m->count, p * sizeof *m->count, 0);
	for (size_t i = 0; i < p && rc == ST_OK; i++)
		m->size += m->count[i];
	free(name);
	return rc;
}

void emulation_free(emulation *m)
{
	free(m->count);
	*m = (emulation){ 0 };
}
