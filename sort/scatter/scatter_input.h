/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --source=root: only rank 0 has the input, and scatters it. */
#ifndef HETSORT_SCATTER_SCATTER_INPUT_H
#define HETSORT_SCATTER_SCATTER_INPUT_H

#include "model/rank_result.h"
#include "model/rank_speeds.h"
#include "model/shares.h"
#include "spill/run_formation.h"

/* The order and the costs of messages from rank 0; p is 0 if records are not scattered. */
typedef struct scatter_plan {
	size_t p;
	double *startup_s; /* [p] to start a message from rank 0 to each rank */
	double *byte_s;    /* [p] for each byte of it */
	double *arrive_s;  /* [p] predicted time at which a rank has its share */
	uint32_t *order;   /* [p] ranks as they are served, rank 0 last */
} scatter_plan;

/* env_scatters - return whether records must be scattered. */
static inline bool env_scatters(const rank_env *env)
{
	return env->o->from_root && env->c->size > 1;
}

/* scatter_plan_make - allocate the plan if records are scattered. Free it after a failure, too. */
status scatter_plan_make(rank_env *env, scatter_plan *sp);
void scatter_plan_free(rank_env *env, scatter_plan *sp);

/* scatter_links - collective: find the costs of messages from rank 0, as given by --links, or
 * measured for an input of `total` records. */
status scatter_links(rank_env *env, const rank_speeds *g, uint64_t total, scatter_plan *sp);

/* scatter_shares - at rank 0: find s->in, the order of service, and the time at which each rank has
 * its share. With --scatter=dynamic s->in is a forecast, since ranks request their records. */
status scatter_shares(rank_env *env, const rank_speeds *g, share_plan *s, scatter_plan *sp);

typedef struct scatter_job {
	const input *in;
	const share_plan *s;
	const scatter_plan *sp;
	const run_formation_plan *p;
} scatter_job;

/* scatter_input - collective: send each rank its records from rank 0. out receives them. Planned
 * shares are sent in the order of service, and spill to disk if they exceed the memory; rank 0
 * reads its own share last. With --scatter=dynamic, rank 0 sends chunks on request and keeps no
 * records; a rank sorts a chunk before it requests the next one. */
status scatter_input(rank_env *env, const scatter_job *k, sorted_share *out);

/* scatter_block_recs - return the number of records in a block if `total` records are scattered. It
 * is the same on all ranks. */
size_t scatter_block_recs(const rank_env *env, uint64_t total);

/* scatter_most_bytes - return the memory of this rank for blocks in flight. */
uint64_t scatter_most_bytes(const rank_env *env, uint64_t total);

/* scatter_room - return the records for which this rank allocates memory, if its share is `share`.
 * With --scatter=dynamic the share is only a forecast, so this is more. */
uint64_t scatter_room(const rank_env *env, uint64_t total, uint64_t share);

/* scatter_least_chunk - return the smallest chunk of --scatter=dynamic, in records, of `total`. */
uint64_t scatter_least_chunk(const rank_env *env, uint64_t total);

/* scatter_wait - wait until a message is done, and add the seconds to *wait_s. */
status scatter_wait(comm *c, comm_req *r, double *wait_s);

#endif
