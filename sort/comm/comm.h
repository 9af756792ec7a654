/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All communication between ranks: a few collectives on bytes, and nonblocking messages, each of
 * which carries a block of records. There are three backends. In comm_local.c the ranks are threads
 * of one process, in comm_mpi.c each rank is a process, and in comm_virtual.c each process has
 * several ranks. The main thread of every rank calls the collectives in the same order. Any thread
 * of a rank may send and receive blocks if threads_allowed is set, otherwise only the main
 * thread. */
#ifndef HETSORT_COMM_COMM_H
#define HETSORT_COMM_COMM_H

#include "testing/failpoint.h"
#include "base/progress.h"
#include "base/status.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

enum {
	HOST_BYTES = 64,
	COMM_FAILURE_BYTES = 80,
	COMM_MAX_MSG = 256 << 20,
	COMM_SEAL_BYTES = 8,
	COMM_TAGS = 64 /* all tags are less */
};

typedef struct comm comm;

/* A request reports to its owner when it is done. Any thread may call report(of, peer, sent), which
 * must not wait. A job frees `of` only after all of its ranks have agreed that their requests are
 * done.
 */
typedef struct comm_note {
	void (*report)(void *of, int peer, bool sent); /* NULL: the owner tests the request */
	void *of;
} comm_note;

/* A message under way. This struct must not move in memory until the request is done. */
typedef struct comm_req {
	unsigned char *buf;
	size_t bytes, done;
	int peer, tag;
	bool sending;
	bool inside;          /* comm_virtual: the peer is in this process */
	atomic_bool complete; /* the block has been sent or received */
	comm_note note;       /* with `other`, the peer that the owner has named */
	int other;
	struct comm_req *next; /* in a list of the backend */
	uint64_t handle[2];    /* of the simulation */
} comm_req;

/* The arguments that one rank passes to a collective. COMM_MEET collects a comm_word of each rank,
 * and comm_decide() makes from them the answer that all ranks receive. */
typedef struct comm_call {
	enum comm_kind { COMM_BCAST, COMM_GATHER, COMM_ALLGATHER, COMM_ALLTOALL, COMM_MEET } kind;
	const void *send; /* BCAST: the same as recv */
	void *recv;       /* GATHER: used only by the root; MEET: only by rank 0 */
	size_t bytes;     /* of one message */
	int root;
	bool sealed; /* collective.c: each message is followed by space for its checksum */
	uint64_t (*fold)(uint64_t a, uint64_t b);
	void *answer; /* MEET: a comm_word */
} comm_call;

struct comm_ops {
	status (*collective)(comm *c, const comm_call *k);
	/* Execute a COMM_MEET. NULL if this would be no faster than a gather and a broadcast. */
	status (*meet)(comm *c, const comm_call *k);
	status (*start)(comm *c, comm_req *req);
	/* Move the messages of all requests of this process a little, on any thread if the comm
	 * allows threads. *moved becomes true if one is done. NULL: they move by themselves. */
	status (*drive)(comm *c, bool *moved);
	/* The comm is broken, and the memory of its requests will be used for something else: let
	 * no other rank use them. NULL if other ranks never do. */
	void (*withdraw)(comm *c);
	void (*end_job)(comm *c, int code);
};

/* comm_decide - make the answer of a COMM_MEET from the words of all ranks. Any rank may execute
 * this function, but with the arguments of rank 0. */
void comm_decide(const comm *c, const comm_call *of_rank_0);

struct comm {
	const struct comm_ops *ops;
	int rank, size;
	atomic_int phase;           /* phase of the rank, for the watchdog */
	atomic_int waiting;         /* threads that wait for other ranks */
	atomic_int lanes;           /* threads that receive records; 0: only the main thread */
	atomic_uint_fast64_t ticks; /* waits that have ended, for the watchdog */
	double collective_s;        /* time of the main thread in collectives so far */
	rank_progress progress;
	atomic_bool broken;   /* a call failed: ranks can no longer agree */
	int processes;        /* number of processes in the job */
	int process_first;    /* first of the ranks that are in this process */
	int process_ranks;    /* number of ranks in this process */
	bool traced;          /* threads record their work for --trace */
	bool shares_memory;   /* ranks of one host may share memory: shared_window.h */
	bool threads_allowed; /* other threads than the main one may use the comm */
	bool for_all;         /* only rank 0 runs: comm_local_run_first() */
	int32_t *codes;       /* [size] for callers that must not allocate memory */
	unsigned char *sums;  /* [2][size] slots of collective.c */
	uint64_t round;       /* collectives so far */
	atomic_int damaged;   /* 1 + the rank whose message arrived damaged, or 0 */
	const char *kind;     /* "threads", or the MPI library's name and version */
	char host[HOST_BYTES];
	uint64_t host_id; /* equal on ranks that share a kernel and the name of their host */
};

/* comm_is_inside - return whether all ranks are threads of this process, and may share memory. */
static inline bool comm_is_inside(const comm *c)
{
	return c->shares_memory && c->process_ranks == c->size;
}

/* Call the backend. After a failed call return ST_PEER, because other ranks may never answer. */
#define COMM_CALL(c, call) \
	(atomic_load(&(c)->broken) ? ST_PEER : comm_noted(c, FAIL_COMM_CALL(call)))

static inline void comm_wait_begin(comm *c)
{
	atomic_fetch_add(&c->waiting, 1);
}

/* comm_is_waiting - return whether this rank waits for others, in all of its threads that may wait.
 * Then it is not stuck. */
static inline bool comm_is_waiting(comm *c)
{
	const int threads = atomic_load(&c->lanes);
	return atomic_load(&c->waiting) >= (threads > 1 ? threads : 1);
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

/* host_name - find the name of this host. The longest name that Linux permits loses a character. */
static inline void host_name(char name[HOST_BYTES])
{
	struct utsname u;
	snprintf(name, HOST_BYTES, "%.*s", HOST_BYTES - 1, uname(&u) == 0 ? u.nodename : "unknown");
}

/* comm_noted - if rc is a failure, set `broken` and withdraw all requests; return rc. */
static inline status comm_noted(comm *c, status rc)
{
	if (rc != ST_OK && !atomic_exchange(&c->broken, true) && c->ops->withdraw)
		c->ops->withdraw(c);
	return rc;
}

/* Requests for blocks to one receiver that wait for their counterpart: sends of its peers, and its
 * own receives. In all of them `peer` is the sender, so the two requests of a block have the same
 * peer and tag. At most one block of a sender and tag is under way, so the lists need no order. */
typedef struct comm_mailbox {
	comm_req *sends, *recvs;
} comm_mailbox;

/* comm_pair - remove the counterpart of r from the mailbox and return it. If it has not arrived,
 * put r into the mailbox and return NULL. */
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

/* comm_complete - for backends: report that a request is done. */
static inline void comm_complete(comm_req *r)
{
	const comm_note note = r->note;
	const int other = r->other;
	const bool sent = r->sending;
	atomic_store(&r->complete, true); /* from now on its owner may use it again */
	if (note.report)
		note.report(note.of, other, sent);
}

/* comm_hand_over - copy a block from the sender's request to the receiver's. ST_INTERNAL if it has
 * no room. */
static inline status comm_hand_over(const comm_req *a, const comm_req *b)
{
	const comm_req *from = a->sending ? a : b, *to = a->sending ? b : a;
	if (from->bytes > to->bytes)
		return ST_INTERNAL;
	comm_copy(to->buf, from->buf, from->bytes);
	return ST_OK;
}

/* The collectives verify a checksum of every message. It also covers the sender, the receiver and
 * the number of the call. After a mismatch the comm is broken, and comm_failure() names the
 * sender. */

/* comm_bcast - send root's bytes to every rank. */
status comm_bcast(comm *c, void *buf, size_t bytes, int root);

/* comm_gather - send the data of each rank to root, in rank order. Only root uses `all`. */
status comm_gather(comm *c, const void *mine, void *all, size_t bytes, int root);

/* comm_allgather - send the data of each rank to every rank, in rank order. */
status comm_allgather(comm *c, const void *mine, void *all, size_t bytes);

/* comm_alltoall - exchange a message with each rank i: send the one at send + i * bytes, and
 * receive the other at recv + i * bytes. */
status comm_alltoall(comm *c, const void *send, void *recv, size_t bytes);

/* comm_allgather_sealed - do the same as comm_allgather, with messages whose last COMM_SEAL_BYTES
 * are reserved for the checksum. Long messages then need one collective of the backend instead of
 * two. */
status comm_allgather_sealed(comm *c, void *mine, void *all, size_t bytes);

/* comm_alltoall_sealed - do the same as comm_alltoall, with such messages. */
status comm_alltoall_sealed(comm *c, void *send, void *recv, size_t bytes);

/* A number with its checksum, in a message of its own. */
typedef struct comm_word {
	uint64_t value, sum;
} comm_word;

/* comm_word_for - return the word that carries this value to rank `to` with this tag. */
comm_word comm_word_for(const comm *c, uint64_t value, int to, int tag);

/* comm_word_check - verify a word from rank `from`. ST_PEER and `broken` if it is damaged. */
status comm_word_check(comm *c, comm_word *w, int from, int tag);

/* comm_failure - write the reason why the comm is broken to text; return text. */
const char *comm_failure(const comm *c, char text[COMM_FAILURE_BYTES]);

/* comm_send - start to send a block. A send is synchronous: it is done only when the peer receives
 * the block, so memory for blocks under way is bounded. A receiver may have room for more
 * bytes than the block has; the caller finds out how many came. At most one
 * block with the same tag may be under way from one rank to another. Do not change buf until the
 * request is done. comm_send_noted - do the same, and report when it is done. */
static inline status comm_send_noted(comm *c, const void *buf, size_t bytes, int to, int tag,
				     comm_req *req, comm_note note)
{
	*req = (comm_req){ .buf = (unsigned char *)(uintptr_t)FAIL_LIE(buf, bytes),
			   .bytes = bytes,
			   .peer = to,
			   .other = to,
			   .tag = tag,
			   .note = note,
			   .sending = true };
	return COMM_CALL(c, c->ops->start(c, req));
}

static inline status comm_send(comm *c, const void *buf, size_t bytes, int to, int tag,
			       comm_req *req)
{
	return comm_send_noted(c, buf, bytes, to, tag, req, (comm_note){ NULL, NULL });
}

/* comm_recv, comm_recv_noted - start to receive a block. The rules of comm_send hold here too. */
static inline status comm_recv_noted(comm *c, void *buf, size_t bytes, int from, int tag,
				     comm_req *req, comm_note note)
{
	*req = (comm_req){
		.buf = buf, .bytes = bytes, .peer = from, .other = from, .tag = tag, .note = note
	};
	return COMM_CALL(c, c->ops->start(c, req));
}

static inline status comm_recv(comm *c, void *buf, size_t bytes, int from, int tag, comm_req *req)
{
	return comm_recv_noted(c, buf, bytes, from, tag, req, (comm_note){ NULL, NULL });
}

/* comm_drive - move messages. Where a backend has `drive`, they move only in this call and in
 * comm_test, so a thread must call one of them again and again. */
static inline status comm_drive(comm *c, bool *moved)
{
	if (atomic_load(&c->broken))
		return ST_PEER;
	return c->ops->drive ? comm_noted(c, c->ops->drive(c, moved)) : ST_OK;
}

/* comm_test - set *done to whether the block has been sent or received, without blocking. If the
 * request has reported to its owner, call this once. */
static inline status comm_test(comm *c, comm_req *req, bool *done)
{
	bool moved;
	status rc = atomic_load(&req->complete) ? ST_OK : comm_drive(c, &moved);
	if (rc == ST_OK && atomic_load(&c->broken))
		rc = ST_PEER;
	*done = rc == ST_OK && atomic_load(&req->complete);
	if (rc == ST_OK && *done && req->sending)
		progress_add(PROGRESS_SENT, req->bytes);
	/* a failpoint counts only this test, because the number of the others depends on timing */
	return comm_noted(c, rc == ST_OK && *done ? FAIL_COMM_CALL(rc) : rc);
}

/* comm_reduce - collective: combine the numbers of all ranks by fold, in rank order, and set *all
 * to the result on every rank. Only one rank has work that grows with the number of ranks. */
typedef uint64_t comm_fold(uint64_t a, uint64_t b);
status comm_reduce(comm *c, uint64_t mine, comm_fold *fold, uint64_t *all);

/* comm_worst - collective: return `mine` if it is a failure, otherwise the status of the first rank
 * that failed, or ST_OK. Ranks that have failed must call this too. */
status comm_worst(comm *c, status mine);

/* comm_peer_status - return the status whose code another rank sent. If the code is invalid, ranks
 * can no longer agree, so set `broken` and return ST_PEER. */
status comm_peer_status(comm *c, int32_t code);

/* comm_agree - collective: return ST_OK on all ranks if `mine` is ST_OK on all, otherwise a failure
 * on each. So either all ranks continue or none. This is inline, so that the compiler sees that a
 * failed `mine` never becomes ST_OK. */
static inline status comm_agree(comm *c, status mine)
{
	const status all = comm_worst(c, mine);
	return all == ST_OK ? mine : all;
}

/* comm_room_bytes - return the bytes of memory that a comm of `size` ranks needs. */
size_t comm_room_bytes(int size);

/* comm_give_room - let the comm use `room`, memory of comm_room_bytes(). Then the comm is ready. */
void comm_give_room(comm *c, void *room);

/* comm_abort - end the whole job. This is the last resort, when ranks can no longer agree. */
static inline void comm_abort(comm *c, int code)
{
	c->ops->end_job(c, code);
}

typedef status rank_main(comm *c, void *arg);

/* comm_local_run - run `size` ranks as threads of this process, rank 0 on the calling thread. Each
 * rank calls fn(its comm, arg). Return the status of the first rank that failed, or ST_OK. If a
 * thread cannot be started, no rank calls fn, and the result is ST_RESOURCE. */
status comm_local_run(int size, rank_main *fn, void *arg, err *e);

/* comm_local_run_first - run only rank 0 of `size` ranks, on the calling thread. Use it only if all
 * ranks would send the same message in each collective: rank 0 receives copies of its own. A
 * reduction returns the number of rank 0, so fold must not depend on the number of ranks. fn must
 * neither send blocks nor call comm_alltoall. */
status comm_local_run_first(int size, rank_main *fn, void *arg, err *e);

/* The most virtual ranks in one process. A tag contains a number for each pair of sender and
 * receiver. With more ranks, tags would exceed 32767, the limit that every MPI guarantees. */
enum { COMM_MAX_VIRTUAL = 22 };

/* comm_virtual_run - collective over outer, in which each process is one rank: run count[i] virtual
 * ranks (1 to COMM_MAX_VIRTUAL) as threads of process i. Each calls fn(its comm, arg). Virtual
 * ranks are numbered in the order of the processes. count has an entry for each process and must be
 * the same in all processes. Return the status of the first rank of this process that failed, or
 * ST_OK. If any process cannot start a thread, no rank calls fn, and the result is ST_RESOURCE. */
status comm_virtual_run(comm *outer, const int *count, rank_main *fn, void *arg, err *e);

/* comm_mpi_launched - find out from the environment whether an MPI launcher started this
 * process. */
bool comm_mpi_launched(void);

/* comm_launched_run - under a launcher: start MPI, call fn(the comm of all ranks, arg), and end
 * MPI. No message of the network has more than max_msg bytes. Return the status of fn. If e is set,
 * MPI could not be loaded or the communicator could not be made. In this case fn was not called.
 * Other ranks may then wait for this one until it calls comm_launched_end(). */
status comm_launched_run(size_t max_msg, rank_main *fn, void *arg, err *e);

/* comm_launched_end - end the whole job by MPI_Abort. Return if MPI was not loaded. */
void comm_launched_end(int code);

/* comm_mpi_run - do the same as comm_launched_run with the MPI that this code is linked with. */
status comm_mpi_run(size_t max_msg, rank_main *fn, void *arg, err *e);

/* comm_mpi_end - end the whole job by MPI_Abort, or this process if MPI is not initialized. */
_Noreturn void comm_mpi_end(int code);

/* A pointer in a message to ranks of the same process. The receiver uses it only if `check`
 * matches, because the checksum of a message cannot detect damage that happened before this
 * checksum was computed. */
typedef struct process_pointer {
	void *at;
	uint64_t check; /* hash of `at`, different in each process */
} process_pointer;

process_pointer process_pointer_to(void *at);
bool process_pointer_is_whole(const process_pointer *p);

#endif
