/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The one seam to the network: ranks, a few collectives on bytes, and nonblocking blocks.
 * comm_local.c runs the ranks as threads of this process, comm_mpi.c over MPI, comm_virtual.c
 * several as threads of each process. Collectives: called by every rank's main thread in the same
 * order, while no other thread of the rank uses the comm. Block messages: any thread of the rank.
 */
#ifndef HETSORT_COMM_COMM_H
#define HETSORT_COMM_COMM_H

#include "testing/failpoint.h"
#include "base/status.h"

#include <stdatomic.h>
#include <stdint.h>

enum { HOST_BYTES = 64, COMM_MAX_MSG = 256 << 20, COMM_TAGS = 64 /* below this is every tag */ };

typedef struct comm comm;

/* A block message under way; the caller keeps it at its place until comm_test says done. */
typedef struct comm_req {
	unsigned char *buf;
	size_t bytes, done;
	int peer, tag;
	bool sending;
	bool inside;           /* comm_virtual: between threads of this process */
	atomic_bool complete;  /* comm_local */
	struct comm_req *next; /* comm_local: waiting list */
	uint64_t handle[2];    /* comm_mpi: the MPI_Request */
} comm_req;

struct comm_ops {
	status (*bcast)(comm *c, void *buf, size_t bytes, int root);
	status (*gather)(comm *c, const void *mine, void *all, size_t bytes, int root);
	status (*allgather)(comm *c, const void *mine, void *all, size_t bytes);
	status (*alltoall)(comm *c, const void *send, void *recv, size_t bytes);
	status (*start)(comm *c, comm_req *req);
	status (*test)(comm *c, comm_req *req, bool *done);
	void (*end_job)(comm *c, int code);
};

struct comm {
	const struct comm_ops *ops;
	int rank, size;
	size_t max_msg;   /* bytes in one network message at most; a variable so that tests reach it
			   */
	atomic_int phase; /* where the rank is, for the watch */
	atomic_int waiting; /* > 0: for other ranks; the watch does not hold it against this one */
	atomic_uint_fast64_t ticks; /* blocks moved: a sign of life */
	atomic_bool broken;         /* a call failed: ranks can no longer agree */
	int processes;              /* of the job */
	int process_ranks;          /* that are threads of this process */
	bool threads_allowed;       /* may other threads than the main one use the comm? */
	int32_t *codes;             /* room for one of each rank: agreeing must not need memory */
	const char *kind;           /* "threads", or the MPI library's name and version */
	char host[HOST_BYTES];
};

/* After a failure nothing is asked of the network any more: the others may never answer. */
#define COMM_CALL(c, call) \
	(atomic_load(&(c)->broken) ? ST_PEER : comm_noted(c, FAIL_COMM_CALL((c)->ops->call)))

/* A collective waits for the others. */
#define COLLECTIVE(c, call) (comm_wait_begin(c), comm_wait_end(c, COMM_CALL(c, call)))

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

static inline status comm_noted(comm *c, status rc)
{
	if (rc != ST_OK)
		atomic_store(&c->broken, true);
	return rc;
}

/* comm_bcast - root's bytes to every rank. */
static inline status comm_bcast(comm *c, void *buf, size_t bytes, int root)
{
	void *said = c->rank == root ? FAIL_LIE(buf, bytes) : buf;
	return COLLECTIVE(c, bcast(c, said, bytes, root));
}

/* comm_gather - bytes of each rank to root, in rank order; all is only used at the root. */
static inline status comm_gather(comm *c, const void *mine, void *all, size_t bytes, int root)
{
	return COLLECTIVE(c, gather(c, FAIL_LIE(mine, bytes), all, bytes, root));
}

/* comm_allgather - bytes of each rank to every rank, in rank order. */
static inline status comm_allgather(comm *c, const void *mine, void *all, size_t bytes)
{
	return COLLECTIVE(c, allgather(c, FAIL_LIE(mine, bytes), all, bytes));
}

/* comm_alltoall - bytes from send + i * bytes to rank i, from rank i to recv + i * bytes. */
static inline status comm_alltoall(comm *c, const void *send, void *recv, size_t bytes)
{
	return COLLECTIVE(c, alltoall(c, FAIL_LIE(send, bytes * (size_t)c->size), recv, bytes));
}

/* comm_send, comm_recv - start moving a block. A send is synchronous: it is done only when the peer
 * has taken it, so at most what a rank has asked for is under way. Blocks of one (sender, receiver,
 * tag) pair off in order, and both sides must know the size; not more than one of a tag may be
 * under way between two ranks at a time. buf stays untouched until done. */
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

/* comm_test - has it arrived, or been taken? Never blocks; nothing moves on without it. */
static inline status comm_test(comm *c, comm_req *req, bool *done)
{
	status rc = atomic_load(&c->broken) ? ST_PEER : c->ops->test(c, req, done);
	/* a fault only then: how often one asks is a matter of chance */
	return comm_noted(c, rc == ST_OK && *done ? FAIL_COMM_CALL(rc) : rc);
}

/* comm_agree - the border of a phase: every rank learns the worst status of all, and leaves with it
 * (its own where it failed itself). A rank that fails must still come here. */
status comm_worst(comm *c, status mine);

/* comm_said - what another rank says it came to. Whoever says what is no status cannot be agreed
 * with: ST_PEER, and the comm is broken. */
status comm_said(comm *c, int32_t code);

static inline status comm_agree(comm *c, status mine)
{
	const status all = comm_worst(c, mine);
	return all == ST_OK ? mine : all; /* here, where every caller's compiler sees it */
}

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

/* comm_mpi_launched - was this process started by an MPI launcher? By the environment alone. */
bool comm_mpi_launched(void);

/* comm_mpi_run - MPI_Init, fn on this rank over all ranks, MPI_Finalize. With e set the ranks have
 * not come together, and fn was not called: the others wait until comm_mpi_end(). */
status comm_mpi_run(size_t max_msg, rank_main *fn, void *arg, err *e);

/* comm_mpi_end - ends the whole job, as far as MPI is up to it. */
_Noreturn void comm_mpi_end(int code);

#endif
