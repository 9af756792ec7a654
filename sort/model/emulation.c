/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The numbers of equal virtual ranks that fit unequal nodes, see rank_speeds.h. */
#include "rank_speeds.h"

#include <stdlib.h>

/* At rank 0: let the planner library find the numbers of virtual ranks. */
static status plan_counts(emulation *m, const settings *o, const speeds_want *w, err *e)
{
	/* for EMULATE_BEST: more ranks fit the speeds better, but cost windows and messages */
	enum { MOST_PER_NODE = 4 };
	hetpart_plan *plan = NULL;
	hetpart_err he = { HETPART_OK, "" };
	double *speed = calloc(w->n, sizeof *speed);
	if (!speed)
		return err_set(e, ST_RESOURCE, "no memory for %zu speeds", w->n);
	status rc = speeds_load(o->speeds, w, speed, e);
	if (rc == ST_OK) {
		const hetpart_status st =
			o->emulate == EMULATE_BEST
				? hetpart_emulate_best(&plan, speed, w->n, MOST_PER_NODE * w->n,
						       &he)
				: hetpart_emulate_create(&plan, speed, w->n, (uint64_t)o->emulate,
							 &he);
		rc = shares_status(st, &he, e);
	}
	if (rc == ST_OK)
		m->efficiency = hetpart_emulate_efficiency(plan, speed);
	for (size_t i = 0; rc == ST_OK && i < w->n; i++) {
		m->count[i] = (int)hetpart_plan_share(plan, i);
		if (m->count[i] == 0)
			rc = err_set(e, ST_REFUSED,
				     "--emulate has no virtual rank for rank %zu (%s), which is "
				     "too slow: use a larger number, or omit that node",
				     i, quoted(speeds_host(w, i)));
		else if (m->count[i] > COMM_MAX_VIRTUAL)
			rc = err_set(e, ST_REFUSED,
				     "--emulate has %d virtual ranks for rank %zu (%s): at most %d "
				     "fit one process",
				     m->count[i], i, quoted(speeds_host(w, i)), COMM_MAX_VIRTUAL);
	}
	hetpart_plan_free(plan);
	free(speed);
	return rc;
}

status emulation_plan(emulation *m, comm *c, const settings *o, err *e)
{
	const size_t p = (size_t)c->size;
	int32_t first = o->emulate;
	char(*name)[HOST_BYTES] = calloc(p, sizeof *name);
	*m = (emulation){ .count = calloc(p, sizeof *m->count) };
	status rc = name && m->count ? ST_OK
				     : err_set(e, ST_RESOURCE, "no memory for %d hosts", c->size);
	rc = comm_agree(c, rc);
	if (rc == ST_OK) {
		rc = comm_bcast(c, &first, sizeof first, 0);
		/* with different values, ranks would wait for one another in different calls */
		if (rc == ST_OK && first != o->emulate)
			rc = err_set(e, ST_REFUSED, "--emulate is not the same on all ranks");
		rc = comm_agree(c, rc);
	}
	if (rc == ST_OK)
		rc = comm_gather(c, c->host, name, sizeof *name, 0);
	if (rc == ST_OK) {
		const speeds_want w = { "speed", p, *name, sizeof *name };
		rc = comm_agree(c, c->rank == 0 ? plan_counts(m, o, &w, e) : ST_OK);
	}
	if (rc == ST_OK)
		rc = comm_bcast(c, m->count, p * sizeof *m->count, 0);
	for (size_t i = 0; i < p && rc == ST_OK; i++)
		m->size += m->count[i];
	free(name);
	return rc;
}
