/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --source=root: the input is on rank 0 alone, which scatters it. */
#ifndef HETSORT_SCATTER_SCATTER_H
#define HETSORT_SCATTER_SCATTER_H

#include "exchange/block.h"
#include "model/rank_speeds.h"
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

/* job_scatters - whether records have to be scattered. */
static inline bool job_scatters(const job *j)
{
	return j->o->from_root && j->c->size > 1;
}

/* scatter_links - collective: how long messages from rank 0 take, as said or measured, to
 * j->scatter. */
status scatter_links(job *j, const rank_speeds *g);

/* scatter_shares - at rank 0: j->share_in, the order of service, and when each will have its share.
 * How much a rank asks for is not known beforehand (--scatter=dynamic): then a forecast. */
status scatter_shares(job *j, const rank_speeds *g);

/* scatter_input - collective: as the settings say, one of the two below. */
status scatter_input(job *j, const run_formation_plan *p);

/* scatter_records - collective: every rank's share to j->data, from rank 0 in the order of service.
 * What does not fit into memory goes to runs on disk. Rank 0 comes last and reads its share itself.
 */
status scatter_records(job *j, const run_formation_plan *p);

/* scatter_on_request - the same for --scatter=dynamic: rank 0 hands out chunks to who asks for
 * them, and takes none itself. A rank sorts a chunk before it asks for the next. */
status scatter_on_request(job *j, const read_runs_plan *p);

/* scatter_wait - until a message is done, which the seconds that it took are added to. */
status scatter_wait(comm *c, comm_req *r, double *wait_s);

/* scatter_least_chunk - of --scatter=dynamic, in records. */
uint64_t scatter_least_chunk(const job *j);

/* The sender: rank 0's end. */
typedef struct scatter_sender {
	job *j;
	reader *from;
	unsigned char *buf;
	size_t slots; /* of a block each, in buf */
	size_t block_recs;
	checksum sum;  /* of all that was sent */
	status failed; /* the input cannot be read: what is sent now is no record */
} scatter_sender;

/* scatter_sender_open - d->j and d->slots are set. To be closed on failure too. */
status scatter_sender_open(scatter_sender *d);

/* Records of the input on their way to a rank, in blocks, SCATTER_SLOTS of them at a time. */
typedef struct transfer {
	int to;
	uint64_t at, left;    /* records that have not set out */
	uint64_t begun, done; /* blocks */
	comm_req req[SCATTER_SLOTS];
	unsigned char *slots; /* SCATTER_SLOTS of the sender's */
} transfer;

/* scatter_may_send - is there a slot, and something to send? scatter_send: then the next block.
 */
bool scatter_may_send(const transfer *t);
status scatter_send(transfer *t, scatter_sender *d);

/* scatter_sender_check - could all be read, and is the input as it was? */
status scatter_sender_check(scatter_sender *d);

void scatter_sender_close(scatter_sender *d);

/* The other ranks' end. */
typedef struct receiver {
	job *j;
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
status receiver_open(receiver *b, job *j);
void receiver_close(receiver *b);

/* receiver_expect - n records are to come. */
void receiver_expect(receiver *b, uint64_t n);

/* receiver_take - a record_take of these. ST_PEER if they do not come any more, or came damaged. */
status receiver_take(void *receiver, unsigned char *to, size_t n, size_t *got, err *e);

/* receiver_drain - take what is left, and forget it. */
status receiver_drain(receiver *b);

/* scatter_plan_alloc, scatter_plan_free - the arrays of j->scatter. */
status scatter_plan_alloc(job *j);
void scatter_plan_free(job *j);

#endif
