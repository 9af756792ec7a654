/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A comm over simulated hosts, instead of threads or MPI. As comm.h requires, a block is sent when
 * both the sender and the receiver have asked for it, and know of each other. In a collective, all
 * ranks wait for the last one, and then for the time that an MPI library would take, by a formula.
 * The formula has trees for broadcasts and for short messages of all to all, otherwise one message
 * for each peer. */
#include "sim.h"
#include "comm/shared_window.h"
#include "base/size.h"
#include "engine.h"
#include "io/unfinished.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	TREE_BYTES = 4096, /* shorter messages of all to all use a tree */
	TREE_RANKS = 8,    /* if there are more ranks than this */
	LEAST_BUCKETS = 64,
	ROWS_AT_A_TIME = 32
};

typedef struct sim_rank {
	comm c; /* first, so that a comm is a sim_rank */
	status rc;
	const comm_call *call; /* its call of the present collective */
	actor *who;            /* the actor that waits in this call */
} sim_rank;

static struct {
	const platform *p;
	sim_rank *rank; /* [p->ranks] */
	rank_main *fn;  /* called by each rank */
	void *arg;
	comm_mailbox *box; /* [p->ranks][buckets] blocks that only one side has asked for, by
			    * receiver, sender and tag */
	size_t buckets;
	char *room;
	int arrived;
	comm_traffic traffic[PHASES];
	void (*at_end)(int code);
} net;

static comm_traffic *traffic_of(comm *c)
{
	return &net.traffic[(unsigned)atomic_load(&c->phase) % PHASES];
}

const comm_traffic *comm_sim_traffic(phase at)
{
	return &net.traffic[at];
}

double comm_sim_scale(void)
{
	if (!actor_self())
		return 1;
	return scale_in((phase)atomic_load(&net.rank[engine_here()->rank].c.phase));
}

/* ------------------------------------------------------------------------------- collectives */

/* Return the seconds of a collective after the last rank's call; infinite if a link is down. Inside
 * one host it needs no link. In messages of all to all, the ranks of a host share its link. */
static double collective_s(enum comm_kind kind, double bytes)
{
	const double p = net.p->ranks, levels = ceil(log2(p));
	double latency_s = 0, bytes_per_s = INFINITY, speed = INFINITY;
	unsigned sharing = 1;
	for (int i = 0; i < net.p->hosts; i++) {
		const sim_host *h = &engine_host(i)->is;
		speed = fmin(speed, h->speed);
		if (net.p->hosts == 1)
			break;
		latency_s = fmax(latency_s, h->latency_s);
		bytes_per_s = fmin(bytes_per_s, h->net_bytes_per_s);
		sharing = h->ranks > sharing ? h->ranks : sharing;
	}
	const double one = net.p->rates.message_s / speed;
	const double wire_s = network_bytes(bytes) / bytes_per_s;
	if (kind == COMM_BCAST)
		return levels * (latency_s + one + wire_s);
	if (kind == COMM_MEET) /* to rank 0, directly or by a tree, whichever is faster; back by a
				* tree */
		return fmin(latency_s + (p - 1) * fmax(one, wire_s),
			    levels * (latency_s + one) + network_bytes(p * bytes) / bytes_per_s) +
		       levels * (latency_s + one + wire_s);
	if (kind == COMM_ALLTOALL && bytes < TREE_BYTES && p > TREE_RANKS)
		return levels *
		       (latency_s + one + network_bytes(p / 2 * bytes) / bytes_per_s * sharing);
	return latency_s + (p - 1) * fmax(one, kind == COMM_ALLTOALL ? wire_s * sharing : wire_s);
}

/* Copy `bytes` from entry `at` of rank i's contribution to entry i of the result of rank `to`. */
static void collective_take(int i, int to, size_t bytes, size_t at)
{
	comm_copy((char *)net.rank[to].call->recv + (size_t)i * bytes,
		  (const char *)net.rank[i].call->send + at * bytes, bytes);
}

static void collective_move(const comm *c, const comm_call *k)
{
	const comm_call *root = net.rank[k->root].call;
	const int p = net.p->ranks;
	if (k->kind == COMM_ALLTOALL) {
		/* few receivers at a time, so that the rest of a cache line is used soon */
		for (int first = 0; first < p; first += ROWS_AT_A_TIME)
			for (int i = 0; i < p; i++)
				for (int to = first; to < first + ROWS_AT_A_TIME && to < p; to++)
					collective_take(i, to, k->bytes, (size_t)to);
		return;
	}
	for (int to = 0; to < p && k->kind != COMM_BCAST; to++)
		for (int i = 0; i < p && (k->kind == COMM_ALLGATHER || to == k->root); i++)
			collective_take(i, to, k->bytes, 0);
	if (k->kind == COMM_MEET)
		comm_decide(c, root);
	for (int to = 0; to < p; to++) {
		if (k->kind == COMM_BCAST)
			comm_copy(net.rank[to].call->recv, root->recv, k->bytes);
		if (k->kind == COMM_MEET)
			comm_copy(net.rank[to].call->answer, root->answer, k->bytes);
	}
}

/* End a collective call: wake all ranks. While a link is down, try again at the next change of the
 * platform; without one, the call never ends. A rank whose host has stopped is never woken. */
static void end_collective(void *unused)
{
	(void)unused;
	for (int i = 0; i < net.p->hosts && net.p->hosts > 1; i++)
		if (!(engine_host(i)->is.net_bytes_per_s > 0)) {
			const double at_s = engine_next_change_s();
			if (isfinite(at_s))
				engine_at(at_s, end_collective, NULL);
			return;
		}
	for (int i = 0; i < net.p->ranks; i++)
		actor_wake(net.rank[i].who, engine_now_s());
}

static status sim_collective(comm *c, const comm_call *k)
{
	actor_pay();
	net.rank[c->rank].call = k;
	net.rank[c->rank].who = actor_self();
	if (++net.arrived == net.p->ranks) {
		const double s = collective_s(k->kind, (double)k->bytes), p = net.p->ranks;
		const bool to_all = k->kind == COMM_ALLGATHER || k->kind == COMM_ALLTOALL;
		comm_traffic *t = traffic_of(c);
		net.arrived = 0;
		collective_move(c, k);
		t->collectives++;
		t->collective_bytes += (double)k->bytes * (p - 1) * (to_all ? p : 1);
		t->collective_s += isfinite(s) ? s : 0;
		engine_at(engine_now_s() + (isfinite(s) ? s : 0), end_collective, NULL);
	}
	actor_wait(INFINITY);
	return ST_OK;
}

/* ------------------------------------------------------------------------------------ blocks
 *
 * handle[0] of a request is the time at which its rank asked for the block. handle[1] contains this
 * rank (upper half) and the other rank (lower half). */

static double asked_s(const comm_req *r)
{
	double t;
	memcpy(&t, &r->handle[0], sizeof t);
	return t;
}

static void block_through(void *req)
{
	comm_req *r = req;
	const int rank = (int)r->handle[1];
	comm_complete(r);
	process_news(engine_process(rank));
}

static status sim_start(comm *c, comm_req *req)
{
	const double own = scale_messages(scale_block(req)) * net.p->rates.message_s;
	const int from = req->sending ? c->rank : req->peer,
		  to = req->sending ? req->peer : c->rank;
	actor_acts();
	actor_owe(own);
	const double now_s = engine_now_s();
	memcpy(&req->handle[0], &now_s, sizeof now_s);
	req->peer = from;
	const size_t k = ((size_t)from + (size_t)req->tag * 7) & (net.buckets - 1);
	comm_req *other = comm_pair(&net.box[(size_t)to * net.buckets + k], req);
	if (!other)
		return ST_OK;
	/* both sides have asked: the sender's request takes a latency, and the receiver's answer
	 * another one */
	comm_req *s = req->sending ? req : other, *r = req->sending ? other : req;
	const double bytes = scale_block(s);
	host *f = engine_process(from)->h, *t = engine_process(to)->h;
	comm_traffic *traffic = traffic_of(c);
	const status rc = comm_hand_over(s, r);
	if (rc != ST_OK)
		return rc;
	traffic->blocks += (uint64_t)scale_messages(bytes);
	traffic->block_bytes += bytes;
	s->handle[1] = (uint64_t)from;
	r->handle[1] = (uint64_t)to;
	const delivery d = { f, t, network_bytes(bytes), block_through, s, r };
	const double word_s = f == t ? 0 : (f->is.latency_s + t->is.latency_s) / 2;
	return network_send(&d, fmax(asked_s(s) + word_s, asked_s(r)) + word_s);
}

static void sim_end_job(comm *c, int code)
{
	(void)c;
	net.at_end(code);
	fflush(NULL);
	_exit(code);
}

static const struct comm_ops sim_ops = {
	sim_collective, sim_collective, sim_start, NULL, NULL, sim_end_job,
};

/* Threads of the exchange sleep in the queue of their kind of news, or in the queue of any news. */
static const void *queue_of_news(const shared_window *w, unsigned kinds)
{
	return (const char *)w + kinds;
}

WRAPPED(void, shared_window_sleep, shared_window *w, uint32_t looked, unsigned kinds)
{
	if (!actor_self())
		return __real_shared_window_sleep(w, looked, kinds);
	actor_pay();
	if (shared_window_look(w) == looked)
		(void)actor_wait_for(queue_of_news(w, kinds), INFINITY);
}

static void wake_sleepers(const shared_window *w, unsigned kinds)
{
	for (unsigned of = 1; of <= NEWS_ANY; of++)
		while ((of & kinds) && actor_wake_one(queue_of_news(w, of)))
			;
}

WRAPPED(void, shared_window_report, shared_window *w, shared_news kind, int rank)
{
	const uint32_t looked = shared_window_look(w);
	__real_shared_window_report(w, kind, rank);
	if (shared_window_look(w) != looked)
		wake_sleepers(w, 1U << kind);
}

WRAPPED(void, shared_window_wake, shared_window *w)
{
	__real_shared_window_wake(w);
	wake_sleepers(w, NEWS_ANY);
}

/* -------------------------------------------------------------------------------------- ranks */

void comm_sim_at_end(void (*fn)(int code))
{
	net.at_end = fn;
}

static void *sim_rank_run(void *rank_)
{
	sim_rank *r = rank_;
	r->rc = net.fn(&r->c, net.arg);
	return NULL;
}

/* Run all ranks. With --emulate, each of these ranks calls this again, and its virtual
 * ranks are its threads. */
WRAPPED(status, comm_local_run, int size, rank_main *fn, void *arg, err *e)
{
	if (actor_self())
		return __real_comm_local_run(size, fn, arg, e);
	net.p = engine_platform();
	net.fn = fn;
	net.arg = arg;
	const size_t p = (size_t)net.p->ranks;
	if (size != 1 && size != net.p->ranks)
		return err_set(e, ST_REFUSED, "--ranks is %d, but the platform has %d rank%s", size,
			       net.p->ranks, plural((uint64_t)net.p->ranks));
	net.rank = calloc(p, sizeof *net.rank);
	net.room = calloc(p, comm_room_bytes(net.p->ranks));
	for (net.buckets = LEAST_BUCKETS; net.buckets < p / 2;)
		net.buckets *= 2;
	net.box = calloc(p * net.buckets, sizeof *net.box);
	status rc = net.rank && net.room && net.box
			    ? ST_OK
			    : err_set(e, ST_RESOURCE, "no memory for a job of %zu ranks", p);
	for (int i = 0; i < net.p->ranks && rc == ST_OK; i++) {
		sim_rank *r = &net.rank[i];
		r->c = (comm){ .ops = &sim_ops,
			       .rank = i,
			       .size = net.p->ranks,
			       .processes = net.p->ranks,
			       .process_first = i,
			       .process_ranks = 1,
			       .threads_allowed = true,
			       .kind = "simulation" };
		comm_give_room(&r->c, net.room + (size_t)i * comm_room_bytes(net.p->ranks));
		snprintf(r->c.host, sizeof r->c.host, "h%d", engine_process(i)->h->number);
		r->c.host_id = (uint64_t)engine_process(i)->h->number;
		if (!actor_start(engine_process(i), sim_rank_run, r))
			rc = err_set(e, ST_RESOURCE, "no memory for rank %d", i);
	}
	if (rc == ST_OK && engine_run() > 0) {
		unfinished_give_up();
		rc = err_set(e, ST_PEER,
			     "after %.6f simulated seconds all ranks wait, and nothing can happen "
			     "any more: a host has stopped or cannot be reached",
			     engine_now_s());
		return rc; /* the report looks at the ranks */
	}
	for (int i = 0; i < net.p->ranks && rc == ST_OK; i++)
		rc = net.rank[i].rc;
	free(net.rank);
	free(net.room);
	free(net.box);
	return rc;
}

/* Run all ranks, because rank 0 cannot represent the others: their hosts differ. */
WRAPPED(status, comm_local_run_first, int size, rank_main *fn, void *arg, err *e)
{
	return __wrap_comm_local_run(size, fn, arg, e);
}
