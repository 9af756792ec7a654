/* SPDX-License-Identifier: GPL-3.0-or-later */
/* comm over virtual ranks: those of one process are threads and meet on an inner comm, processes
 * meet on an outer one. In a collective the ranks of a process show their buffers to its first one,
 * which does the work for all of them, in blocks as long as the most ranks of a process need.
 * Blocks of the exchange go straight to their rank, with a tag that names both ends. No MPI. A
 * collective costs one of the outer comm, two of the inner, and a copy. */
#include "comm_virtual.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a rank has for a collective. */
typedef struct ends {
	const void *send;
	void *recv;
} ends;

/* One process. */
typedef struct process {
	comm *outer;
	const int *count; /* ranks of each process */
	int size, most;   /* ranks of all processes, and of one at most */
	int *home;        /* [size] the process of each rank */
	int *place;       /* [size] and which of its ranks it is */
	int first, here;  /* this process's ranks */
	ends *shown;      /* [here] */
	int32_t *codes;   /* [here][size] for the ranks' comms */
	rank_main *fn;
	void *arg;
	bool moved_in; /* its threads are there */
	char kind[160];
} process;

typedef struct virtual_rank {
	comm c; /* first, so that a comm is a lodger */
	process *h;
	comm *inner;
} virtual_rank;

static virtual_rank *virtual_rank_of(comm *c)
{
	return (virtual_rank *)c;
}

static void take(void *to, const void *from, size_t bytes)
{
	if (bytes && to != from)
		memcpy(to, from, bytes);
}

typedef status work(process *h, size_t bytes, int root);

/* The first rank does it, the others wait, and all learn how it went. */
static status by_first(comm *c, work *fn, ends mine, size_t bytes, int root)
{
	process *h = virtual_rank_of(c)->h;
	comm *in = virtual_rank_of(c)->inner;
	int32_t went = ST_OK;
	status rc = in->ops->gather(in, &mine, h->shown, sizeof mine, 0);
	if (rc == ST_OK && in->rank == 0)
		went = fn(h, bytes, root);
	if (rc == ST_OK)
		rc = in->ops->bcast(in, &went, sizeof went, 0);
	return rc == ST_OK ? (status)went : rc;
}

static status do_bcast(process *h, size_t bytes, int root)
{
	const int from = h->home[root];
	void *buf = h->shown[from == h->outer->rank ? h->place[root] : 0].recv;
	const status rc = h->outer->ops->bcast(h->outer, buf, bytes, from);
	for (int i = 0; i < h->here && rc == ST_OK; i++)
		take(h->shown[i].recv, buf, bytes);
	return rc;
}

static status virtual_bcast(comm *c, void *buf, size_t bytes, int root)
{
	return by_first(c, do_bcast, (ends){ buf, buf }, bytes, root);
}

/* n equal blocks; NULL where they are more than memory can hold. */
static char *blocks(size_t n, size_t a, size_t b)
{
	size_t bytes;
	if (__builtin_mul_overflow(a, b, &bytes) || __builtin_mul_overflow(bytes, n, &bytes))
		return NULL;
	return calloc(bytes ? bytes : 1, 1);
}

/* To one rank's packed array, from blocks of `most` ranks a process. */
static void unpack(const process *h, char *to, const char *all, size_t bytes)
{
	for (int i = 0; i < h->size; i++) {
		const size_t at = (size_t)h->home[i] * (size_t)h->most + (size_t)h->place[i];
		take(to + (size_t)i * bytes, all + at * bytes, bytes);
	}
}

enum { EVERYWHERE = -1 };

static status do_gather(process *h, size_t bytes, int root)
{
	comm *out = h->outer;
	const size_t most = (size_t)h->most, block = most * bytes;
	char *mine = blocks(1, most, bytes), *all = blocks((size_t)out->size, most, bytes);
	status rc = mine && all ? ST_OK : ST_RESOURCE;
	for (int i = 0; i < h->here && rc == ST_OK; i++)
		take(mine + (size_t)i * bytes, h->shown[i].send, bytes);
	if (rc == ST_OK)
		rc = root == EVERYWHERE ? out->ops->allgather(out, mine, all, block)
					: out->ops->gather(out, mine, all, block, h->home[root]);
	for (int i = 0; i < h->here && rc == ST_OK; i++)
		if (root == EVERYWHERE || root == h->first + i)
			unpack(h, h->shown[i].recv, all, bytes);
	free(mine);
	free(all);
	return rc;
}

static status virtual_gather(comm *c, const void *mine, void *all, size_t bytes, int root)
{
	return by_first(c, do_gather, (ends){ mine, all }, bytes, root);
}

static status virtual_allgather(comm *c, const void *mine, void *all, size_t bytes)
{
	return by_first(c, do_gather, (ends){ mine, all }, bytes, EVERYWHERE);
}

/* Between two processes goes a square of most x most blocks, by sender and receiver. */
static status do_alltoall(process *h, size_t bytes, int root)
{
	comm *out = h->outer;
	const size_t most = (size_t)h->most, row = most * bytes, square = most * row;
	char *send = blocks((size_t)out->size * most, most, bytes);
	char *recv = blocks((size_t)out->size * most, most, bytes);
	status rc = send && recv ? ST_OK : ST_RESOURCE;
	(void)root;
	for (int i = 0; i < h->here && rc == ST_OK; i++)
		for (int to = 0; to < h->size; to++)
			take(send + (size_t)h->home[to] * square + (size_t)i * row +
				     (size_t)h->place[to] * bytes,
			     (const char *)h->shown[i].send + (size_t)to * bytes, bytes);
	if (rc == ST_OK)
		rc = out->ops->alltoall(out, send, recv, square);
	for (int i = 0; i < h->here && rc == ST_OK; i++)
		for (int from = 0; from < h->size; from++)
			take((char *)h->shown[i].recv + (size_t)from * bytes,
			     recv + (size_t)h->home[from] * square + (size_t)h->place[from] * row +
				     (size_t)i * bytes,
			     bytes);
	free(send);
	free(recv);
	return rc;
}

static status virtual_alltoall(comm *c, const void *send, void *recv, size_t bytes)
{
	return by_first(c, do_alltoall, (ends){ send, recv }, bytes, 0);
}

static status virtual_start(comm *c, comm_req *req)
{
	const virtual_rank *l = virtual_rank_of(c);
	const process *h = l->h;
	const int own = l->inner->rank, other = h->place[req->peer];
	const int from = req->sending ? own : other, to = req->sending ? other : own;
	const int home = h->home[req->peer];
	req->inside = home == h->outer->rank;
	req->peer = req->inside ? other : home;
	if (req->inside)
		return l->inner->ops->start(l->inner, req);
	req->tag += COMM_TAGS * (from * h->most + to);
	return h->outer->ops->start(h->outer, req);
}

static status virtual_test(comm *c, comm_req *req, bool *done)
{
	comm *way = req->inside ? virtual_rank_of(c)->inner : virtual_rank_of(c)->h->outer;
	return way->ops->test(way, req, done);
}

static void virtual_end_job(comm *c, int code)
{
	comm *out = virtual_rank_of(c)->h->outer;
	out->ops->end_job(out, code);
}

static const struct comm_ops virtual_ops = {
	virtual_bcast, virtual_gather, virtual_allgather, virtual_alltoall,
	virtual_start, virtual_test,   virtual_end_job,
};

/* One virtual rank; none begins before the threads of all processes are there. */
static status move_in(comm *inner, void *process_)
{
	process *h = process_;
	int32_t all = ST_OK;
	virtual_rank l = { .h = h, .inner = inner };
	if (inner->rank == 0) {
		h->moved_in = true;
		all = comm_agree(h->outer, ST_OK);
	}
	const status rc = inner->ops->bcast(inner, &all, sizeof all, 0);
	if (rc != ST_OK || all != ST_OK)
		return rc != ST_OK ? rc : (status)all;
	l.c = (comm){ .ops = &virtual_ops,
		      .rank = h->first + inner->rank,
		      .size = h->size,
		      .max_msg = h->outer->max_msg,
		      .processes = h->outer->processes,
		      .process_ranks = h->outer->process_ranks > 1 ? h->size : h->here,
		      .threads_allowed = h->outer->threads_allowed,
		      .codes = h->codes + (size_t)inner->rank * (size_t)h->size,
		      .kind = h->kind };
	memcpy(l.c.host, h->outer->host, sizeof l.c.host);
	return h->fn(&l.c, h->arg);
}

/* Which rank lives where. */
static status survey(process *h, err *e)
{
	comm *out = h->outer;
	for (int p = 0; p < out->size; p++) {
		h->first += p < out->rank ? h->count[p] : 0;
		h->size += h->count[p];
		h->most = h->count[p] > h->most ? h->count[p] : h->most;
	}
	const size_t size = (size_t)h->size, here = (size_t)h->here;
	if (size == 0 || here == 0)
		return err_set(e, ST_INTERNAL, "a rank without virtual ranks");
	h->home = calloc(size, sizeof *h->home);
	h->place = calloc(size, sizeof *h->place);
	h->shown = calloc(here, sizeof *h->shown);
	h->codes = calloc(here * size, sizeof *h->codes);
	if (!h->home || !h->place || !h->shown || !h->codes)
		return err_set(e, ST_RESOURCE, "no memory for %d ranks", h->size);
	for (int p = 0, i = 0; p < out->size; p++)
		for (int k = 0; k < h->count[p]; k++, i++) {
			h->home[i] = p;
			h->place[i] = k;
		}
	snprintf(h->kind, sizeof h->kind, "%.100s, %d virtual ranks on %d", out->kind, h->size,
		 out->size);
	return ST_OK;
}

status comm_virtual_run(comm *outer, const int *count, rank_main *fn, void *arg, err *e)
{
	process h = {
		.outer = outer, .count = count, .here = count[outer->rank], .fn = fn, .arg = arg
	};
	status rc = comm_agree(outer, survey(&h, e));
	if (rc == ST_OK) {
		rc = comm_local_run(h.here, outer->max_msg, move_in, &h, e);
		if (!h.moved_in)
			rc = comm_agree(outer, rc);
	}
	free(h.home);
	free(h.place);
	free(h.shown);
	free(h.codes);
	return rc;
}
