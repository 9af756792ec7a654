/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Second phase: shares by the planner library. Two vectors, each with its own cost: the rank that
 * sorts what it reads pays n ln n for that and n for what it writes; the rank that sorts what it
 * receives the other way round. Rank 0 plans, the others take its word, so all plans are one. */
#include "job.h"
#include "shares.h"
#include "speeds.h"

#include <math.h>

/* Nominal rates of a rank of speed 1, for --explain: seconds a record and unit of ln n to sort,
 * seconds a byte to read, to move and merge, and to write. Measured on a 2.5 GHz core with files in
 * memory; ratios between ranks do not depend on them. */
static const double SORT_S = 4e-9, READ_S = 0.35e-9, MERGE_S = 0.45e-9, WRITE_S = 0.35e-9;

/* What was asked for, else 1 for all. host: HOST_BYTES for each rank. */
static status read_speeds(job *j, const char *host)
{
	const size_t p = (size_t)j->c->size;
	for (size_t i = 0; i < p; i++)
		j->speed[i] = 1;
	if (!j->o->speeds)
		return ST_OK;
	const char **name = mem_array(&j->m, p, sizeof *name, "host names", &j->e);
	if (!name)
		return ST_RESOURCE;
	for (size_t i = 0; i < p; i++)
		name[i] = host + i * HOST_BYTES;
	const status rc =
		speeds_load(j->o->speeds, &(speeds_want){ "speed", p, name }, j->speed, &j->e);
	mem_free(&j->m, name, p, sizeof *name);
	return rc;
}

/* At rank 0: speeds and both vectors. */
static status make_shares(job *j, const char *host)
{
	const size_t p = (size_t)j->c->size;
	const bool merging = j->o->strategy == BY_MERGING;
	status rc = read_speeds(j, host);
	if (rc == ST_OK && !j->in.per_rank)
		rc = shares_by_speed(j->o->plan, merging, j->records, j->speed, p, j->share_in,
				     &j->e);
	if (rc == ST_OK)
		rc = shares_by_speed(j->o->plan, !merging, j->records, j->speed, p, j->share_out,
				     &j->e);
	return rc;
}

static double n_ln_n(double n)
{
	return n > 1 ? n * log(n) : 0;
}

/* Reading and sorting before the exchange, merging or sorting and writing after it. */
static double predicted_s(const job *j, uint64_t in, uint64_t out, double speed)
{
	const double bytes = j->o->lay.record_bytes;
	const double sorted = j->o->strategy == BY_MERGING ? (double)in : (double)out;
	return (SORT_S * n_ln_n(sorted) + READ_S * bytes * (double)in +
		(MERGE_S + WRITE_S) * bytes * (double)out) /
	       speed;
}

static void note_plan(job *j)
{
	const int p = j->c->size;
	uint64_t sum = 0;
	for (int i = 0; i < p; i++)
		j->target[i] = sum += j->share_out[i];
	rank_result *r = &j->mine;
	r->speed = j->speed[j->c->rank];
	r->planned_in = own_share(j, j->share_in);
	r->planned_out = own_share(j, j->share_out);
	r->predicted_s = predicted_s(j, r->planned_in, r->planned_out, r->speed);
}

/* The shares of rank 0 to everybody. host: room for all names at rank 0. */
static status plan_together(job *j, char *host)
{
	const size_t p = (size_t)j->c->size;
	status rc = comm_gather(j->c, j->c->host, host, HOST_BYTES, 0);
	if (rc != ST_OK)
		return rc;
	rc = comm_agree(j->c, j->c->rank == 0 ? make_shares(j, host) : ST_OK);
	if (rc == ST_OK)
		rc = comm_bcast(j->c, j->speed, p * sizeof *j->speed, 0);
	if (rc == ST_OK)
		rc = comm_bcast(j->c, j->share_in, p * sizeof *j->share_in, 0);
	if (rc == ST_OK)
		rc = comm_bcast(j->c, j->share_out, p * sizeof *j->share_out, 0);
	return rc;
}

status phase_plan(job *j)
{
	const size_t names = j->c->rank == 0 ? (size_t)j->c->size : 0;
	char *host = mem_array(&j->m, names, HOST_BYTES, "host names", &j->e);
	status rc = comm_agree(j->c, host ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK)
		rc = plan_together(j, host);
	if (rc == ST_OK)
		note_plan(j);
	mem_free(&j->m, host, names, HOST_BYTES);
	return rc;
}
