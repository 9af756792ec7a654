/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All communication between ranks: a few collectives on bytes, and nonblocking messages that carry
 * blocks. The backends: with comm_local.c the ranks are threads of this process, with
 * comm_mpi.c they are processes, and with comm_virtual.c each process has several. The main thread
 * of every rank calls the collectives in the same order. Any thread of a rank may send and receive
 * blocks if threads_allowed is set, otherwise only the main thread. */
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
	COMM_TAGS = 64 /* more than every tag */
};

typedef struct comm comm;

/* A message under way. It must not move in memory until comm_test reports that it is done. */
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

/* The arguments of one rank to a collective. In COMM_MEET the words of all ranks go to one rank,
 * where comm_decide() makes the answer for all. */
typedef struct comm_call {
	enum comm_kind { COMM_BCAST, COMM_GATHER, COMM_ALLGATHER, COMM_ALLTOALL, COMM_MEET } kind;
	const void *send; /* BCAST: recv */
	void *recv;       /* GATHER: only at the root; MEET: only at rank 0 */
	size_t bytes;     /* of one message */
	int root;
	bool sealed; /* used only by collective.c, like fold */
	uint64_t (*fold)(uint64_t a, uint64_t b);
	void *answer; /* MEET */
} comm_call;

struct comm_ops {
	status (*collective)(comm *c, const comm_call *k);
	/* Execute a COMM_MEET. NULL: it would be no faster than a gather and a broadcast. */
	status (*meet)(comm *c, const comm_call *k);
	status (*start)(comm *c, comm_req *req);
	status (*test)(comm *c, comm_req *req, bool *done);
	void (*end_job)(comm *c, int code);
};

/* comm_decide - make the answer of a COMM_MEET from the words of all ranks. Any rank may execute
 * it, with the call of rank 0. */
void comm_decide(const comm *c, const comm_call *of_rank_0);

struct comm {
	const struct comm_ops *ops;
	int rank, size;
	size_t max_msg;     /* most bytes in one network message; tests set less */
	atomic_int phase;   /* of the rank, for the watchdog */
	atomic_int waiting; /* > 0: waits for other ranks, so the watchdog does not count it as
			       stuck */
	atomic_uint_fast64_t ticks; /* collectives and blocks done, for the watchdog */
	double collective_s;        /* of the main thread: in collectives so far */
	rank_progress progress;
	atomic_bool broken;   /* a call failed: ranks can no longer agree */
	int processes;        /* of the job */
	int process_first;    /* first of the ranks that are threads of this process */
	int process_ranks;    /* the number of these ranks */
	bool traced;          /* rank 0 records what threads did, and when */
	bool shares_memory;   /* with ranks of the same host: shared_window.h */
	bool threads_allowed; /* other threads than the main one may use the comm */
	bool for_all;         /* rank 0 stands for all ranks: comm_local_run_first() */
	int32_t *codes;       /* [size] for callers that must not need memory */
	unsigned char *sums;  /* [2][size] short messages or only sums: collective.c */
	uint64_t round;       /* collectives so far */
	atomic_int damaged;   /* 1 + the rank whose message arrived damaged, or 0 */
	const char *kind;     /* "threads", or the MPI library's name and version */
	char host[HOST_BYTES];
};

/* Call the backend, unless a call has failed before: the other ranks may never answer then. */
#define COMM_CALL(c, call) \
	(atomic_load(&(c)->broken) ? ST_PEER : comm_noted(c, FAIL_COMM_CALL(call)))

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

/* comm_copy - copy like memcpy, but accept 0 bytes and the same address. */
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

/* Blocks of a receiver that wait for the other side. The peer of each is its sender, so both
 * requests of a block match by the same number. At most one block of a sender and tag waits, so
 * their order does not matter. */
typedef struct comm_mailbox {
	comm_req *sends, *recvs;
} comm_mailbox;

/* comm_pair - take the other side of the block out of the mailbox. Return NULL if it has not
 * arrived; r then waits in the mailbox. */
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

/* comm_hand_over - copy the block from the sender to the receiver. ST_INTERNAL if their sizes
 * differ. */
static inline status comm_hand_over(const comm_req *a, const comm_req *b)
{
	if (a->bytes != b->bytes)
		return ST_INTERNAL;
	comm_copy(a->sending ? b->buf : a->buf, a->sending ? a->buf : b->buf, a->bytes);
	return ST_OK;
}

/* The collectives verify a checksum of every message. It covers sender, receiver and number of the
 * call. After a mismatch the comm is broken, and comm_failure() names the sender. */

/* comm_bcast - send root's bytes to every rank. */
status comm_bcast(comm *c, void *buf, size_t bytes, int root);

/* comm_gather - send bytes of each rank to root, in rank order. Only root uses all. */
status comm_gather(comm *c, const void *mine, void *all, size_t bytes, int root);

/* comm_allgather - send bytes of each rank to every rank, in rank order. */
status comm_allgather(comm *c, const void *mine, void *all, size_t bytes);

/* comm_alltoall - send bytes at send + i * bytes to rank i, receive bytes from rank i at recv + i *
 * bytes. */
status comm_alltoall(comm *c, const void *send, void *recv, size_t bytes);

/* comm_allgather_sealed - gather messages whose last COMM_SEAL_BYTES are free for the checksum.
 * Long messages then need one collective of the backend instead of two. */
status comm_allgather_sealed(comm *c, void *mine, void *all, size_t bytes);

/* comm_alltoall_sealed - do the same from all to all. */
status comm_alltoall_sealed(comm *c, void *send, void *recv, size_t bytes);

/* A number with its checksum, in a message of its own. */
typedef struct comm_word {
	uint64_t value, sum;
} comm_word;

/* comm_word_for - make the word that is to be sent to this rank with this tag. */
comm_word comm_word_for(const comm *c, uint64_t value, int to, int tag);

/* comm_word_check - verify the word received from this rank. ST_PEER if it is damaged: the comm is
 * broken then. */
status comm_word_check(comm *c, comm_word *w, int from, int tag);

/* comm_failure - return the reason why the comm is broken, as text. */
const char *comm_failure(const comm *c, char text[COMM_FAILURE_BYTES]);

/* comm_send - start to send a block. A send is synchronous: it is done only when the peer receives
 * it, so memory for blocks under way is bounded. Both sides must know the size. At most one block
 * of a tag may be under way from one rank to another. buf must not be used until done. */
static inline status comm_send(comm *c, const void *buf, size_t bytes, int to, int tag,
			       comm_req *req)
{
	*req = (comm_req){ .buf = (unsigned char *)(uintptr_t)FAIL_LIE(buf, bytes),
			   .bytes = bytes,
			   .peer = to,
			   .tag = tag,
			   .sending = true };
	return COMM_CALL(c, c->ops->start(c, req));
}

/* comm_recv - start to receive a block; the same rules hold. */
static inline status comm_recv(comm *c, void *buf, size_t bytes, int from, int tag, comm_req *req)
{
	*req = (comm_req){ .buf = buf, .bytes = bytes, .peer = from, .tag = tag };
	return COMM_CALL(c, c->ops->start(c, req));
}

/* comm_test - find out, without blocking, whether the block has been received or sent. Messages
 * make progress only in this call. */
static inline status comm_test(comm *c, comm_req *req, bool *done)
{
	status rc = atomic_load(&c->broken) ? ST_PEER : c->ops->test(c, req, done);
	if (rc == ST_OK && *done && req->sending)
		progress_add(PROGRESS_SENT, req->bytes);
	/* count a fault only when done, because the number of tests depends on timing */
	return comm_noted(c, rc == ST_OK && *done ? FAIL_COMM_CALL(rc) : rc);
}

/* comm_reduce - collective: fold the numbers of all ranks, starting with rank 0. Only the work of
 * rank 0 grows with the number of ranks. */
typedef uint64_t comm_fold(uint64_t a, uint64_t b);
status comm_reduce(comm *c, uint64_t mine, comm_fold *fold, uint64_t *all);

/* comm_worst - collective: return the rank's own status if it failed, otherwise the status of the
 * first rank that did. A rank that fails must still call it. */
status comm_worst(comm *c, status mine);

/* comm_peer_status - return the status that another rank sent. If it is invalid, ranks can no
 * longer agree: ST_PEER, and the comm is broken. */
status comm_peer_status(comm *c, int32_t code);

/* comm_agree - decide between two phases whether all ranks continue, or none. It is inline, so that
 * the compiler sees that a failed `mine` never becomes ST_OK. */
static inline status comm_agree(comm *c, status mine)
{
	const status all = comm_worst(c, mine);
	return all == ST_OK ? mine : all;
}

/* comm_room_bytes - return the memory that a comm of this size needs. */
size_t comm_room_bytes(int size);

/* comm_give_room - hand that memory to the comm, which can be used from then on. */
void comm_give_room(comm *c, void *room);

/* comm_abort - end the whole job: the last resort when ranks can no longer agree. */
static inline void comm_abort(comm *c, int code)
{
	c->ops->end_job(c, code);
}

typedef status rank_main(comm *c, void *arg);

/* comm_local_run - run ranks 0..size-1 as threads of this process (rank 0 on the calling one), each
 * with fn(its comm, arg). Return the worst status, or ST_RESOURCE, with no rank started, if a
 * thread cannot be started. */
status comm_local_run(int size, size_t max_msg, rank_main *fn, void *arg, err *e);

/* comm_local_run_first - run only rank 0 of `size` ranks, on the calling thread, when all ranks
 * would send the same in each collective. Rank 0 then gathers copies of its own message. A
 * reduction, whose fold must not count ranks, returns its own number. It sends no blocks. */
status comm_local_run_first(int size, size_t max_msg, rank_main *fn, void *arg, err *e);

/* The most ranks of one process: tags that name both ends then stay below the limit of every
 * MPI. */
enum { COMM_MAX_VIRTUAL = 22 };

/* comm_virtual_run - run count[i] ranks (1 to COMM_MAX_VIRTUAL) as threads of process i; collective
 * over outer. Each thread calls fn(its comm, arg). The first process has the first ranks. count has
 * an entry for each rank of outer and must be the same on all of them. Return the worst status of
 * the ranks of this process. If a thread cannot be started, start no rank anywhere and return
 * ST_RESOURCE. */
status comm_virtual_run(comm *outer, const int *count, rank_main *fn, void *arg, err *e);

/* comm_mpi_launched - find out from the environment whether an MPI launcher has started this
 * process. */
bool comm_mpi_launched(void);

/* comm_launched_run - under a launcher: call MPI_Init, fn on this rank over all ranks, and
 * MPI_Finalize. If e is set, MPI could not be loaded or the communicator could not be made. Then fn
 * was not called, and other ranks may wait for this one until comm_launched_end(). */
status comm_launched_run(size_t max_msg, rank_main *fn, void *arg, err *e);

/* comm_launched_end - end the whole job by MPI_Abort. Return if MPI was not loaded. */
void comm_launched_end(int code);

/* comm_mpi_run - do the same as comm_launched_run with the MPI that this code is linked with. */
status comm_mpi_run(size_t max_msg, rank_main *fn, void *arg, err *e);

/* comm_mpi_end - end the whole job by MPI_Abort, or this process if MPI is not initialized. */
_Noreturn void comm_mpi_end(int code);

/* A pointer in a message to ranks of the same process. The receiver follows it only if its check
 * matches, because the checksum of a message does not show damage that happened before it. */
typedef struct process_pointer {
	void *at;
	uint64_t check; /* of `at`, in this process */
} process_pointer;

process_pointer process_pointer_to(void *at);
bool process_pointer_is_whole(const process_pointer *p);

/* The ranks that a rank exchanges blocks with, including itself: all, or the ranks of a list. A
 * peer is numbered by its place in the list. If one rank is a peer of another, the reverse holds
 * too. */
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
