/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --source=root: the input is on rank 0 alone, which scatters it. */
#ifndef HETSORT_SCATTER_SCATTER_H
#define HETSORT_SCATTER_SCATTER_H

#include "exchange/block.h"
#include "model/rank_result.h"
#include "model/rank_speeds.h"
#include "model/shares.h"
#include "spill/run_formation.h"

enum { SCATTER_BLOCK_BYTES = 1 << 20, SCATTER_SLOTS = 2 };

/* scatter_block_recs - how many records travel at once; the same on all ranks. */
static inline size_t scatter_block_recs(const settings *o)
{
	const size_t n = SCATTER_BLOCK_BYTES / o->lay.record_bytes;
	return n ? n : 1;
}

/* scatter_message_bytes - bytes of a block of n records with its header; scatter_slot_bytes: of the
 * largest. */
static inline size_t scatter_message_bytes(const settings *o, size_t n)
{
	return (sizeof(block_header) + n * o->lay.record_bytes + 7) / 8 * 8;
}

static inline size_t scatter_slot_bytes(const settings *o)
{
	return scatter_message_bytes(o, scatter_block_recs(o));
}

/* scatter_header - of n records for a rank, without magic and sum. */
block_header scatter_header(const settings *o, int to, uint64_t block, size_t n);

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

/* scatter_input - collective: every rank's records to out, from rank 0, as the settings say by one
 * of the two below. */
status scatter_input(rank_env *env, const scatter_job *k, read_runs *out);

/* scatter_records - collective: planned shares, in the order of service. What does not fit into
 * memory goes to runs on disk. Rank 0 comes last and reads its share itself. */
status scatter_records(rank_env *env, const scatter_job *k, read_runs *out);

/* scatter_on_request - collective, --scatter=dynamic: rank 0 hands out chunks to who asks for them,
 * and takes none itself. A rank sorts a chunk before it asks for the next. */
status scatter_on_request(rank_env *env, const scatter_job *k, read_runs *out);

/* scatter_wait - until a message is done, which the seconds that it took are added to. */
status scatter_wait(comm *c, comm_req *r, double *wait_s);

/* scatter_least_chunk - of --scatter=dynamic, in records, of so many in all. */
uint64_t scatter_least_chunk(const rank_env *env, uint64_t total);

/* The sender: rank 0's end. */
typedef struct scatter_sender {
	rank_env *env;
	const scatter_job *k;
	reader *from;
	unsigned char *buf;
	size_t slots; /* of a block each, in buf */
	size_t block_recs;
	checksum sum;  /* of all that was sent */
	status failed; /* the input cannot be read: what is sent now is no record */
} scatter_sender;

/* scatter_sender_open - d->env, d->k and d->slots are set. To be closed on failure too. */
status scatter_sender_open(scatter_sender *d);

/* Records of the input on their way to a rank, in blocks, SCATTER_SLOTS of them at a time. */
typedef struct transfer {
	int to;
	uint64_t at, left;    /* records that have not set out */
	uint64_t begun, done; /* blocks */
	comm_req req[SCATTER_SLOTS];
	unsigned char *slots; /* SCATTER_SLOTS of the sender's */
} transfer;

/* scatter_may_send - is there a slot, and something to send? scatter_send: the next block. */
bool scatter_may_send(const transfer *t);
status scatter_send(transfer *t, scatter_sender *d);

/* scatter_sender_check - could all be read, and is the input as it was? */
status scatter_sender_check(scatter_sender *d);

void scatter_sender_close(scatter_sender *d);

/* The other ranks' end. */
typedef struct receiver {
	rank_env *env;
	unsigned char *slots; /* SCATTER_SLOTS blocks */
	size_t block_recs;
	comm_req req[SCATTER_SLOTS];
	uint64_t n;             /* records of the transfer under way */
	uint64_t posted, taken; /* blocks */
	const unsigned char *rec;
	size_t left; /* records from rec on, of the last block taken */
	err damage;  /* the first block that came damaged: what came since is worth nothing */
	double waited_s;
} receiver;

/* receiver_open, receiver_close - main thread. */
status receiver_open(receiver *b, rank_env *env);
void receiver_close(receiver *b);

/* receiver_expect - n records are to come. */
void receiver_expect(receiver *b, uint64_t n);

/* receiver_take - a record_take of these. ST_PEER if they do not come any more, or came damaged. */
status receiver_take(void *receiver, unsigned char *to, size_t n, size_t *got, err *e);

/* receiver_drain - take what is left, and forget it. */
status receiver_drain(receiver *b);

#endif
