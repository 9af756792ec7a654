/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --source=root: the input is only on rank 0, which scatters it. */
#ifndef HETSORT_SCATTER_SCATTER_H
#define HETSORT_SCATTER_SCATTER_H

#include "model/rank_result.h"
#include "model/rank_speeds.h"
#include "model/shares.h"
#include "spill/run_formation.h"

/* How the input leaves rank 0; p is 0 where it does not. */
typedef struct scatter_plan {
	size_t p;
	double *startup_s; /* [p] of a message from rank 0 to each */
	double *byte_s;    /* [p] */
	double *arrive_s;  /* [p] predicted: when a rank has its share */
	uint32_t *order;   /* [p] ranks as they are served, rank 0 last */
} scatter_plan;

/* env_scatters - whether records have to be scattered. */
static inline bool env_scatters(const rank_env *env)
{
	return env->o->from_root && env->c->size > 1;
}

/* scatter_plan_make - room for the plan, if there is to be one. To be freed on failure too. */
status scatter_plan_make(rank_env *env, scatter_plan *sp);
void scatter_plan_free(rank_env *env, scatter_plan *sp);

/* scatter_links - collective: how long messages from rank 0 take, as given or measured, for
 * `total` records. */
status scatter_links(rank_env *env, const rank_speeds *g, uint64_t total, scatter_plan *sp);

/* scatter_shares - at rank 0: s->in, the order of service, and when each will have its share.
 * How much a rank asks for is not known beforehand (--scatter=dynamic): then a forecast. */
status scatter_shares(rank_env *env, const rank_speeds *g, share_plan *s, scatter_plan *sp);

/* What is to be scattered, and how. */
typedef struct scatter_job {
	const input *in;
	const share_plan *s;
	const scatter_plan *sp;
	const run_formation_plan *p;
} scatter_job;

/* scatter_input - collective: every rank's records to out, from rank 0. Planned shares go out in
 * the order of service; what does not fit into memory goes to runs on disk; rank 0 comes last and
 * reads its share itself. With --scatter=dynamic rank 0 hands out chunks to who asks for them, and
 * takes none itself; a rank sorts a chunk before it asks for the next. */
status scatter_input(rank_env *env, const scatter_job *k, read_runs *out);

/* scatter_block_recs - return the records of a block when `total` are scattered; the same on all
 * ranks. */
size_t scatter_block_recs(const rank_env *env, uint64_t total);

/* scatter_most_bytes - return the memory of this rank for blocks in flight. */
uint64_t scatter_most_bytes(const rank_env *env, uint64_t total);

/* scatter_room - return the records for which this rank allocates memory, if its share is `share`.
 * With --scatter=dynamic it may be given more than its share, which is only a forecast. */
uint64_t scatter_room(const rank_env *env, uint64_t total, uint64_t share);

/* scatter_least_chunk - of --scatter=dynamic, in records, of so many in all. */
uint64_t scatter_least_chunk(const rank_env *env, uint64_t total);

/* scatter_wait - until a message is done, which the seconds that it took are added to. */
status scatter_wait(comm *c, comm_req *r, double *wait_s);

#endif
