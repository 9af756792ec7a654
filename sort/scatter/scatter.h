/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --source=root: the input is on rank 0 alone, which deals it out. */
#ifndef HETSORT_DEAL_H
#define HETSORT_DEAL_H

#include "exchange/block.h"
#include "model/rank_speeds.h"
#include "spill/run_formation.h"

enum { DEAL_BLOCK_BYTES = 1 << 20, DEAL_SLOTS = 2 };

/* deal_block_recs - how many records travel at once; the same on all ranks. */
static inline size_t deal_block_recs(const options *o)
{
	const size_t n = DEAL_BLOCK_BYTES / o->lay.record_bytes;
	return n ? n : 1;
}

/* deal_message - bytes of a block of n records with its header; deal_slot_bytes: of the largest. */
static inline size_t deal_message(const options *o, size_t n)
{
	return (sizeof(block_header) + n * o->lay.record_bytes + 7) / 8 * 8;
}

static inline size_t deal_slot_bytes(const options *o)
{
	return deal_message(o, deal_block_recs(o));
}

/* deal_header - of n records for a rank, without magic and sum. */
block_header deal_header(const options *o, int to, uint64_t block, size_t n);

/* job_deals - whether records have to be dealt out. */
static inline bool job_deals(const job *j)
{
	return j->o->from_root && j->c->size > 1;
}

/* deal_links - collective: how long messages from rank 0 take, as said or measured, to j->deal. */
status deal_links(job *j, const gauge *g);

/* deal_shares - at rank 0: j->share_in, the order of service, and when each will have its share.
 * How much a rank asks for is not known beforehand (--scatter=dynamic): then a forecast. */
status deal_shares(job *j, const gauge *g);

/* deal_input - collective: as the options say, one of the two below. */
status deal_input(job *j, const spool_plan *p);

/* deal_records - collective: every rank's share to j->data, from rank 0 in the order of service.
 * What does not fit into memory goes to runs on disk. Rank 0 comes last and reads its share itself.
 */
status deal_records(job *j, const spool_plan *p);

/* deal_on_request - the same for --scatter=dynamic: rank 0 hands out chunks to who asks for them,
 * and takes none itself. A rank sorts a chunk before it asks for the next. */
status deal_on_request(job *j, const load_plan *p);

/* deal_wait - until a message is done, which the seconds that it took are added to. */
status deal_wait(comm *c, comm_req *r, double *wait_s);

/* deal_least_chunk - of --scatter=dynamic, in records. */
uint64_t deal_least_chunk(const job *j);

/* Rank 0's end of dealing out. */
typedef struct dealer {
	job *j;
	reader *from;
	unsigned char *buf;
	size_t slots; /* of a block each, in buf */
	size_t block_recs;
	checksum sum;  /* of all that was sent */
	status failed; /* the input cannot be read: what is sent now is no record */
} dealer;

/* deal_open - d->j and d->slots are set. To be closed on failure too. */
status deal_open(dealer *d);

/* Records of the input on their way to a rank, in blocks, DEAL_SLOTS of them at a time. */
typedef struct transfer {
	int to;
	uint64_t at, left;    /* records that have not set out */
	uint64_t begun, done; /* blocks */
	comm_req req[DEAL_SLOTS];
	unsigned char *slots; /* DEAL_SLOTS of the dealer's */
} transfer;

/* transfer_may_send - is there a slot, and something to send? transfer_send: then the next block.
 */
bool transfer_may_send(const transfer *t);
status transfer_send(transfer *t, dealer *d);

/* deal_check - could all be read, and is the input as it was? */
status deal_check(dealer *d);

void deal_close(dealer *d);

/* The other ranks' end. */
typedef struct inbox {
	job *j;
	unsigned char *slots; /* DEAL_SLOTS blocks */
	size_t block_recs;
	comm_req req[DEAL_SLOTS];
	uint64_t n;             /* records of the transfer under way */
	uint64_t posted, taken; /* blocks */
	const unsigned char *rec;
	size_t left; /* records from rec on, of the last block taken */
	err damage;  /* the first block that came damaged: what came since is worth nothing */
	double waited_s;
} inbox;

/* inbox_open, inbox_close - main thread. */
status inbox_open(inbox *b, job *j);
void inbox_close(inbox *b);

/* inbox_expect - n records are to come. */
void inbox_expect(inbox *b, uint64_t n);

/* inbox_take - a record_take of these. ST_PEER if they do not come any more, or came damaged. */
status inbox_take(void *inbox, unsigned char *to, size_t n, size_t *got, err *e);

/* inbox_drain - take what is left, and forget it. */
status inbox_drain(inbox *b);

/* deal_alloc, deal_free - the arrays of j->deal. */
status deal_alloc(job *j);
void deal_free(job *j);

#endif
