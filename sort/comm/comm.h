/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All communication between ranks: a few collectives on bytes, and nonblocking block messages.
 * comm_local.c runs the ranks as threads of this process, comm_mpi.c as processes over MPI,
 * comm_virtual.c several as threads of each process. Collectives: called by every rank's main
 * thread in the same order, while no other thread of the rank makes one. Block messages: any thread
 * of the rank, if threads_allowed, else the main one. */
#ifndef HETSORT_COMM_COMM_H
#define HETSORT_COMM_COMM_H

#include "testing/failpoint.h"
#include "base/progress.h"
#include "base/status.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

enum {
	HOST_BYTES = 64,
	COMM_FAILURE_BYTES = 80,
	COMM_MAX_MSG = 256 << 20,
	COMM_SEAL_BYTES = 8,
	COMM_TAGS = 64 /* below this is every tag */
};

typedef struct comm comm;

/* A block message under way; stays at its place in memory until comm_test says done. */
typedef struct comm_req {
	unsigned char *buf;
	size_t bytes, done;
	int peer, tag;
	bool sending;
	bool inside;           /* comm_virtual: between ranks of this process */
	atomic_bool complete;  /* comm_local */
	struct comm_req *next; /* in a comm_mailbox */
	uint64_t handle[2];    /* comm_mpi: the MPI_Request */
} comm_req;

/* What a rank brings to a collective. MEET: the words of all ranks go to one, whose comm_decide()
 * makes the answer that all get. */
typedef struct comm_call {
	enum comm_kind { COMM_BCAST, COMM_GATHER, COMM_ALLGATHER, COMM_ALLTOALL, COMM_MEET } kind;
	const void *send; /* BCAST: recv */
	void *recv;       /* GATHER: of the root; MEET: of rank 0 */
	size_t bytes;     /* of one message */
	int root;
	bool sealed; /* the next two are for collective.c */
	uint64_t (*fold)(uint64_t a, uint64_t b);
	void *answer; /* MEET */
} comm_call;

/* meet: NULL if it is no better than a gather and a broadcast. comm_decide may run on any rank, and
 * gets what rank 0 has brought. */
struct comm_ops {
	status (*collective)(comm *c, const comm_call *k);
	status (*meet)(comm *c, const comm_call *k);
	status (*start)(comm *c, comm_req *req);
	status (*test)(comm *c, comm_req *req, bool *done);
	void (*end_job)(comm *c, int code);
};

void comm_decide(const comm *c, const comm_call *of_rank_0);

struct comm {
	const struct comm_ops *ops;
	int rank, size;
	size_t max_msg;     /* bytes in one network message, at most: a variable, for tests */
	atomic_int phase;   /* of the rank, for the watchdog */
	atomic_int waiting; /* > 0: for other ranks; to the watchdog the rank is then not stuck */
	atomic_uint_fast64_t ticks; /* collectives and blocks done, for the watchdog */
	double collective_s;        /* of the main thread: in collectives so far */
	rank_progress progress;     /* how far the rank is */
	atomic_bool broken;         /* a call failed: ranks can no longer agree */
	int processes;              /* of the job */
	int process_first;          /* of the ranks that are threads of this process, */
	int process_ranks;          /* and how many there are */
	bool traced;                /* rank 0 wants to know what threads did when */
	bool shares_memory;         /* ranks of a host may: shared_window.h */
	bool threads_allowed;       /* may other threads than the main one use the comm? */
	bool for_all;               /* rank 0 is the only one there: comm_local_run_first() */
	int32_t *codes;             /* [size] for callers who must not need memory */
	unsigned char *sums;        /* [2][size] short messages, or sums alone: collective.c */
	uint64_t round;             /* collectives so far */
	atomic_int damaged;         /* 1 + the rank whose message came damaged, or 0 */
	const char *kind;           /* "threads", or the MPI library's name and version */
	char host[HOST_BYTES];
};

/* After a failure no backend is called any more: the other ranks may never answer. */
#define COMM_CALL(c, call) \
	(atomic_load(&(c)->broken) ? ST_PEER : comm_noted(c, FAIL_COMM_CALL((c)->ops->call)))

static inline void comm_wait_begin(comm *c)
{
	atomic_fetch_add(&c->waiting, 1);
}

static inline status comm_wait_end(comm *c, status rc)
{
	atomic_fetch_sub(&c->waiting, 1);
	atomic_fetch_add_explicit(&c->ticks, 1, memory_order_relaxed);
	return rc;
}

/* comm_copy - as memcpy, also of nothing, or to the same place. */
static inline void comm_copy(void *to, const void *from, size_t bytes)
{
	if (bytes && to != from)
		memcpy(to, from, bytes);
}

static inline status comm_noted(comm *c, status rc)
{
	if (rc != ST_OK)
		atomic_store(&c->broken, true);
	return rc;
}

/* Blocks of a receiver that wait for the other side. The peer of each is its sender, so the two
 * requests match by the same number. No two of a sender and a tag wait, so their order does not
 * matter. */
typedef struct comm_mailbox {
	comm_req *sends, *recvs;
} comm_mailbox;

/* comm_pair - take the other side of the block out of the mailbox; NULL: it has not come, and r
 * waits there. */
static inline comm_req *comm_pair(comm_mailbox *box, comm_req *r)
{
	comm_req **own = r->sending ? &box->sends : &box->recvs;
	for (comm_req **at = r->sending ? &box->recvs : &box->sends; *at; at = &(*at)->next)
		if ((*at)->peer == r->peer && (*at)->tag == r->tag) {
			comm_req *other = *at;
			*at = other->next;
			return other;
		}
	r->next = *own;
	*own = r;
	return NULL;
}

/* comm_hand_over - copy the block from the sender to the receiver. ST_INTERNAL: they do not agree
 * on its size. */
static inline status comm_hand_over(const comm_req *a, const comm_req *b)
{
	if (a->bytes != b->bytes)
		return ST_INTERNAL;
	comm_copy(a->sending ? b->buf : a->buf, a->sending ? a->buf : b->buf, a->bytes);
	return ST_OK;
}

/* The collectives, checked: what a rank sends has a sum with it that also tells of the sender, the
 * receiver and the number of the call. Where it does not fit what came, the comm is broken, and
 * comm_failure() names the sender. */

/* comm_bcast - root's bytes to every rank. */
status comm_bcast(comm *c, void *buf, size_t bytes, int root);

/* comm_gather - bytes of each rank to root, in rank order; all is only used at the root. */
status comm_gather(comm *c, const void *mine, void *all, size_t bytes, int root);

/* comm_allgather - bytes of each rank to every rank, in rank order. */
status comm_allgather(comm *c, const void *mine, void *all, size_t bytes);

/* comm_alltoall - bytes from send + i * bytes to rank i, from rank i to recv + i * bytes. */
status comm_alltoall(comm *c, const void *send, void *recv, size_t bytes);

/* comm_allgather_sealed, comm_alltoall_sealed - the same where the last COMM_SEAL_BYTES of each
 * message are free for its sum: of longer messages one collective of the backend in place of two.
 */
status comm_allgather_sealed(comm *c, void *mine, void *all, size_t bytes);
status comm_alltoall_sealed(comm *c, void *send, void *recv, size_t bytes);

/* A number in a message of its own, with its sum. comm_word_for - to be sent to this rank with this
 * tag. comm_word_check - what has come from there: ST_PEER, and the comm is broken, where it is not
 * what was sent. */
typedef struct comm_word {
	uint64_t value, sum;
} comm_word;

comm_word comm_word_for(const comm *c, uint64_t value, int to, int tag);
status comm_word_check(comm *c, comm_word *w, int from, int tag);

/* comm_failure - what has broken the comm, as text. */
const char *comm_failure(const comm *c, char text[COMM_FAILURE_BYTES]);

/* comm_send, comm_recv - start to send or receive a block. A send is synchronous: it is done only
 * when the peer receives it, so no more is under way than ranks have asked for. Both sides must
 * know the size. From one rank to another, one block of a tag may be under way at a time. buf must
 * not be used until done. */
static inline status comm_send(comm *c, const void *buf, size_t bytes, int to, int tag,
			       comm_req *req)
{
	*req = (comm_req){ .buf = (unsigned char *)(uintptr_t)FAIL_LIE(buf, bytes),
			   .bytes = bytes,
			   .peer = to,
			   .tag = tag,
			   .sending = true };
	return COMM_CALL(c, start(c, req));
}

static inline status comm_recv(comm *c, void *buf, size_t bytes, int from, int tag, comm_req *req)
{
	*req = (comm_req){ .buf = buf, .bytes = bytes, .peer = from, .tag = tag };
	return COMM_CALL(c, start(c, req));
}

/* comm_test - has the block been received, or sent? Never blocks. A message makes progress only in
 * this call. */
static inline status comm_test(comm *c, comm_req *req, bool *done)
{
	status rc = atomic_load(&c->broken) ? ST_PEER : c->ops->test(c, req, done);
	if (rc == ST_OK && *done && req->sending)
		progress_add(PROGRESS_SENT, req->bytes);
	/* count a fault only when done: how often a caller tests depends on timing */
	return comm_noted(c, rc == ST_OK && *done ? FAIL_COMM_CALL(rc) : rc);
}

/* comm_reduce - collective: fold of the numbers of all ranks, from rank 0 on. No rank but 0 has
 * work that grows with their number. */
typedef uint64_t comm_fold(uint64_t a, uint64_t b);
status comm_reduce(comm *c, uint64_t mine, comm_fold *fold, uint64_t *all);

/* comm_worst - collective: the rank's own status if it failed, else that of the first rank that
 * did. A rank that fails must still call it. comm_agree - the same, between two phases: all ranks
 * go on, or none. */
status comm_worst(comm *c, status mine);

/* comm_peer_status - the status that another rank sent. What is none means that ranks cannot agree
 * any more: ST_PEER, and the comm is broken. */
status comm_peer_status(comm *c, int32_t code);

static inline status comm_agree(comm *c, status mine)
{
	const status all = comm_worst(c, mine);
	return all == ST_OK ? mine : all; /* inline: a failed `mine` visibly never becomes ST_OK */
}

/* comm_room_bytes - memory for what a comm of so many ranks needs. comm_give_room - it is there,
 * and the comm can be used from here on. */
size_t comm_room_bytes(int size);
void comm_give_room(comm *c, void *room);

/* comm_abort - the last resort when ranks can no longer agree: ends the whole job. */
static inline void comm_abort(comm *c, int code)
{
	c->ops->end_job(c, code);
}

typedef status rank_main(comm *c, void *arg);

/* comm_local_run - run ranks 0..size-1 as threads of this process (rank 0 on the calling one), each
 * with fn(its comm, arg). Returns the worst status; ST_RESOURCE, with no rank started, where the
 * threads cannot be had. */
status comm_local_run(int size, size_t max_msg, rank_main *fn, void *arg, err *e);

/* comm_local_run_first - rank 0 of that many alone, on the calling thread, where all of them would
 * say the same in each collective: what it gathers is its own word of each rank, and a reduction,
 * whose fold then must not count, is its own number. It sends no blocks. */
status comm_local_run_first(int size, size_t max_msg, rank_main *fn, void *arg, err *e);

/* Ranks of one process at most: tags that name both ends are then within what every MPI allows. */
enum { COMM_MAX_VIRTUAL = 22 };

/* comm_virtual_run - collective over outer: runs count[i] ranks (1 to COMM_MAX_VIRTUAL) as threads
 * of process i, each with fn(its comm, arg); the first process has the first ranks. count has an
 * entry for each rank of outer, the same everywhere. Returns the worst status of this process's
 * ranks; ST_RESOURCE, with no rank started anywhere, where threads cannot be had. */
status comm_virtual_run(comm *outer, const int *count, rank_main *fn, void *arg, err *e);

/* comm_mpi_launched - has an MPI launcher started this process? By the environment alone. */
bool comm_mpi_launched(void);

/* comm_mpi_run - MPI_Init, fn on this rank over all ranks, MPI_Finalize. With e set the
 * communicator could not be made, and fn was not called: other ranks may wait for this one until
 * comm_mpi_end(). */
status comm_mpi_run(size_t max_msg, rank_main *fn, void *arg, err *e);

/* comm_mpi_end - ends the whole job by MPI_Abort, or this process if MPI is not initialized. */
_Noreturn void comm_mpi_end(int code);

/* The ranks that a rank exchanges blocks with, itself among them: all, or those of a list. A peer
 * is known by its place among them. Of two ranks each is a peer of the other, or neither is. */
typedef struct peer_list {
	const int *rank; /* [count] ascending; NULL: all ranks */
	int count;
	int own; /* the place of this rank */
} peer_list;

static inline peer_list peers_all(const comm *c)
{
	return (peer_list){ NULL, c->size, c->rank };
}

static inline int peers_rank(const peer_list *p, int place)
{
	return p->rank ? p->rank[place] : place;
}

#endif
