/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The backend of virtual ranks. Each process has several ranks. They are threads that share an
 * inner comm of comm_local.c, and the processes are the ranks of an outer comm. In a collective the
 * first rank of each process collects the data of its process, and makes one collective of the
 * outer comm for all ranks. Each process sends as many bytes as the process with the most ranks
 * needs. Blocks are sent directly from rank to rank. Between processes, the tag of a block contains
 * the indices of sender and receiver in their processes. Uses no MPI itself. A collective costs one
 * collective of the outer comm, two of the inner comm, and a copy. */
#include "comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct process {
	comm *outer;
	const int *count;       /* ranks of each process */
	int size, most;         /* number of ranks: of all processes, and the most of one process */
	int *process_of;        /* [size] the process of each rank */
	int *index_of;          /* [size] its index among the ranks of its process */
	int first, here;        /* first rank of this process, and number of its ranks */
	const comm_call **call; /* [here] arguments of each rank here to the collective under way */
	char *room;             /* [here] memory of the ranks' comms */
	rank_main *fn;
	void *arg;
	bool started; /* all threads of this process run */
	char kind[160];
} process;

typedef struct virtual_rank {
	comm c; /* first, so that a comm is a virtual_rank */
	process *p;
	comm *inner;
} virtual_rank;

static const virtual_rank *virtual_rank_of(const comm *c)
{
	return (const virtual_rank *)c;
}

/* Execute a COMM_BCAST for all ranks of this process. */
static status outer_bcast(const process *p, const comm_call *k)
{
	comm_call out = *k;
	const int index = p->index_of[k->root];
	out.root = p->process_of[k->root];
	out.send = out.recv = p->call[out.root == p->outer->rank ? index : 0]->recv;
	const status rc = p->outer->ops->collective(p->outer, &out);
	for (int i = 0; i < p->here && rc == ST_OK; i++)
		comm_copy(p->call[i]->recv, out.recv, k->bytes);
	return rc;
}

/* Execute a collective of any other kind for all ranks of this process. The message from one
 * process to another has `of_rank` bytes for each rank of the sending process. In COMM_ALLTOALL,
 * these consist of `bytes` bytes for each rank of the receiving process. */
static status outer_collective(const process *p, const comm_call *k)
{
	const bool each = k->kind == COMM_ALLTOALL;
	const size_t most = (size_t)p->most, bytes = k->bytes, row = each ? most : 1;
	const size_t processes = (size_t)p->outer->size;
	size_t of_rank, part, all; /* bytes */
	if (__builtin_mul_overflow(row, bytes, &of_rank) ||
	    __builtin_mul_overflow(most, of_rank, &part) ||
	    __builtin_mul_overflow(processes, part, &all))
		return ST_RESOURCE;
	char *send = calloc(1, (each ? all : part) + 1), *recv = calloc(1, all + 1);
	const comm_call out = { k->kind, send, recv, part, .root = p->process_of[k->root] };
	status rc = send && recv ? ST_OK : ST_RESOURCE;
	for (int i = 0; i < p->here && rc == ST_OK; i++)
		for (int to = 0; to < (each ? p->size : 1); to++) {
			const size_t at = each ? (size_t)p->process_of[to] * part +
							  (size_t)p->index_of[to] * bytes
					       : 0;
			comm_copy(send + at + (size_t)i * of_rank,
				  (const char *)p->call[i]->send + (size_t)to * bytes, bytes);
		}
	if (rc == ST_OK)
		rc = p->outer->ops->collective(p->outer, &out);
	for (int i = 0; i < p->here && rc == ST_OK; i++)
		for (int from = 0; from < p->size; from++)
			if (k->kind != COMM_GATHER || k->root == p->first + i)
				comm_copy((char *)p->call[i]->recv + (size_t)from * bytes,
					  recv + (size_t)p->process_of[from] * part +
						  (size_t)p->index_of[from] * of_rank +
						  (each ? (size_t)i * bytes : 0),
					  bytes);
	free(send);
	free(recv);
	return rc;
}

static status inner_collective(comm *in, enum comm_kind kind, const void *send, void *recv,
			       size_t bytes)
{
	return in->ops->collective(in, &(comm_call){ kind, send, recv, bytes, .root = 0 });
}

/* Execute the collective on the first rank of the process. The other ranks wait for its status. */
static status virtual_collective(comm *c, const comm_call *k)
{
	const process *p = virtual_rank_of(c)->p;
	comm *in = virtual_rank_of(c)->inner;
	int32_t outer = ST_OK;
	status rc = inner_collective(in, COMM_GATHER, &k, p->call, sizeof k);
	if (rc == ST_OK && in->rank == 0)
		outer = (int32_t)(k->kind == COMM_BCAST ? outer_bcast(p, k)
							: outer_collective(p, k));
	if (rc == ST_OK)
		rc = inner_collective(in, COMM_BCAST, &outer, &outer, sizeof outer);
	return rc == ST_OK ? (status)outer : rc;
}

static status virtual_start(comm *c, comm_req *req)
{
	const virtual_rank *v = virtual_rank_of(c);
	const process *p = v->p;
	const int own = v->inner->rank, other = p->index_of[req->peer];
	const int from = req->sending ? own : other, to = req->sending ? other : own;
	const int to_process = p->process_of[req->peer];
	req->inside = to_process == p->outer->rank;
	req->peer = req->inside ? other : to_process;
	if (req->inside)
		return v->inner->ops->start(v->inner, req);
	req->tag += COMM_TAGS * (from * p->most + to);
	return p->outer->ops->start(p->outer, req);
}

static status virtual_drive(comm *c, bool *moved)
{
	comm *out = virtual_rank_of(c)->p->outer;
	return out->ops->drive ? out->ops->drive(out, moved) : ST_OK;
}

static void virtual_withdraw(comm *c)
{
	comm *in = virtual_rank_of(c)->inner;
	in->ops->withdraw(in); /* of comm_local */
}

static void virtual_end_job(comm *c, int code)
{
	comm *out = virtual_rank_of(c)->p->outer;
	out->ops->end_job(out, code);
}

static const struct comm_ops virtual_ops = {
	virtual_collective, NULL, virtual_start, virtual_drive, virtual_withdraw, virtual_end_job,
};

/* Call fn for a virtual rank, after the threads of all processes have started. */
static status virtual_rank_main(comm *inner, void *process_)
{
	process *p = process_;
	int32_t all = ST_OK;
	virtual_rank v = { .p = p, .inner = inner };
	if (inner->rank == 0) {
		p->started = true;
		all = comm_agree(p->outer, ST_OK);
	}
	const status rc = inner_collective(inner, COMM_BCAST, &all, &all, sizeof all);
	if (rc != ST_OK || all != ST_OK)
		return rc != ST_OK ? rc : (status)all;
	v.c = (comm){ .ops = &virtual_ops,
		      .rank = p->first + inner->rank,
		      .size = p->size,
		      .processes = p->outer->processes,
		      .process_first = p->outer->process_ranks > 1 ? 0 : p->first,
		      .process_ranks = p->outer->process_ranks > 1 ? p->size : p->here,
		      .shares_memory = p->outer->shares_memory,
		      .threads_allowed = p->outer->threads_allowed,
		      .kind = p->kind };
	comm_give_room(&v.c, p->room + (size_t)inner->rank * comm_room_bytes(p->size));
	memcpy(v.c.host, p->outer->host, sizeof v.c.host);
	v.c.host_id = p->outer->host_id;
	return p->fn(&v.c, p->arg);
}

/* Find the process of each rank, and its index there. */
static status virtual_place_ranks(process *p, err *e)
{
	comm *out = p->outer;
	for (int i = 0; i < out->size; i++) {
		p->first += i < out->rank ? p->count[i] : 0;
		p->size += p->count[i];
		p->most = p->count[i] > p->most ? p->count[i] : p->most;
	}
	const size_t size = (size_t)p->size, here = (size_t)p->here;
	if (size == 0 || here == 0)
		return err_set(e, ST_INTERNAL, "a process without virtual ranks");
	p->process_of = calloc(size, 2 * sizeof *p->process_of);
	p->call = calloc(here, sizeof *p->call);
	p->room = calloc(here, comm_room_bytes(p->size));
	if (!p->process_of || !p->call || !p->room)
		return err_set(e, ST_RESOURCE, "no memory for a job of %d ranks", p->size);
	p->index_of = p->process_of + size;
	for (int i = 0, r = 0; i < out->size; i++)
		for (int k = 0; k < p->count[i]; k++, r++) {
			p->process_of[r] = i;
			p->index_of[r] = k;
		}
	snprintf(p->kind, sizeof p->kind, "%.100s, %d virtual ranks on %d", out->kind, p->size,
		 out->size);
	return ST_OK;
}

status comm_virtual_run(comm *outer, const int *count, rank_main *fn, void *arg, err *e)
{
	process p = {
		.outer = outer, .count = count, .here = count[outer->rank], .fn = fn, .arg = arg
	};
	status rc = comm_agree(outer, virtual_place_ranks(&p, e));
	if (rc == ST_OK) {
		rc = comm_local_run(p.here, virtual_rank_main, &p, e);
		if (!p.started)
			rc = comm_agree(outer, rc);
	}
	free(p.process_of);
	free(p.call);
	free(p.room);
	return rc;
}
