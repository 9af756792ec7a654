/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The backend of ranks that are threads of one process. In a collective each rank puts a pointer to
 * its arguments on a board, an array that all ranks can read. In an allgather or an all-to-all,
 * each rank then copies for itself, between two barriers. In other collectives, the last rank to
 * arrive copies the few bytes for all, because a second barrier of thousands of threads would cost
 * more. The two requests of a block meet in the receiver's mailbox, and the thread that brings the
 * second one copies the block. Uses no MPI. A block costs one memcpy outside any lock. */
#include "comm.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUCKETS = 64 }; /* of a mailbox, because thousands of ranks may each have a request in it */

typedef struct mailbox {
	pthread_mutex_t lock;
	atomic_int copying; /* threads that copy a block after its requests have met here */
	comm_mailbox of[BUCKETS];
} mailbox;

typedef struct world {
	int size;
	pthread_mutex_t lock;
	pthread_cond_t turn;
	int arrived;
	unsigned long round;
	bool in_step;            /* all ranks have called the same collectives so far */
	const comm_call **board; /* [size] arguments of each rank to the collective under way */
	mailbox *box;
	char *room; /* [size] memory of the ranks' comms */
	int gate;   /* 0: threads wait; 1: they run their ranks; -1: they end */
} world;

typedef struct local {
	comm c; /* first, so that a comm is a local */
	world *w;
	rank_main *fn;
	void *arg;
	status rc;
	pthread_t thread;
} local;

static world *world_of(comm *c)
{
	return ((local *)c)->w;
}

/* Copy message `at` of each rank to `all`, in rank order. */
static void board_copy(const world *w, void *all, size_t bytes, size_t at)
{
	for (int i = 0; i < w->size; i++)
		comm_copy((char *)all + (size_t)i * bytes,
			  (const char *)w->board[i]->send + at * bytes, bytes);
}

/* Execute the collective for all ranks, on the last one to arrive. For ALLGATHER and ALLTOALL copy
 * nothing, because each rank does this itself. Return false if the ranks have called different
 * collectives: wrong data that a rank received may lead to that. */
static bool board_move(const comm *c, const world *w)
{
	const comm_call *first = w->board[0], *root = w->board[first->root];
	for (int i = 1; i < w->size; i++)
		if (w->board[i]->kind != first->kind || w->board[i]->bytes != first->bytes ||
		    w->board[i]->root != first->root)
			return false;
	if (root->kind == COMM_GATHER || root->kind == COMM_MEET)
		board_copy(w, root->recv, root->bytes, 0);
	if (root->kind == COMM_MEET)
		comm_decide(c, root);
	for (int i = 0; i < w->size; i++) {
		if (root->kind == COMM_BCAST)
			comm_copy(w->board[i]->recv, root->send, root->bytes);
		if (root->kind == COMM_MEET)
			comm_copy(w->board[i]->answer, root->answer, root->bytes);
	}
	return true;
}

/* Wait until all ranks have arrived; the last one executes board_move. Return ST_PEER if ranks have
 * called different collectives. The last rank releases the lock before it wakes the others, because
 * thousands of ranks then take it. */
static status board_barrier(const comm *c, world *w)
{
	pthread_mutex_lock(&w->lock);
	const unsigned long round = w->round;
	if (++w->arrived == w->size) {
		w->in_step = w->in_step && board_move(c, w);
		w->arrived = 0;
		w->round++;
	}
	const bool last = round != w->round;
	while (round == w->round)
		pthread_cond_wait(&w->turn, &w->lock);
	const status rc = w->in_step ? ST_OK : ST_PEER;
	pthread_mutex_unlock(&w->lock);
	if (last)
		pthread_cond_broadcast(&w->turn);
	return rc;
}

/* Put the arguments on the board before the first barrier. If ranks copy for themselves, the second
 * barrier keeps the arguments valid until all have copied. */
static status local_collective(comm *c, const comm_call *k)
{
	world *w = world_of(c);
	w->board[c->rank] = k;
	const status rc = board_barrier(c, w);
	if (rc != ST_OK || (k->kind != COMM_ALLGATHER && k->kind != COMM_ALLTOALL))
		return rc;
	board_copy(w, k->recv, k->bytes, k->kind == COMM_ALLTOALL ? (size_t)c->rank : 0);
	return board_barrier(c, w);
}

static status local_start(comm *c, comm_req *req)
{
	mailbox *box = &world_of(c)->box[req->sending ? req->peer : c->rank];
	req->peer = req->sending ? c->rank : req->peer;
	pthread_mutex_lock(&box->lock);
	comm_req *other =
		comm_pair(&box->of[((unsigned)req->peer + (unsigned)req->tag) % BUCKETS], req);
	if (other)
		atomic_fetch_add(&box->copying, 1);
	pthread_mutex_unlock(&box->lock);
	if (!other)
		return ST_OK;
	const status rc = comm_hand_over(req, other);
	comm_complete(other);
	comm_complete(req);
	atomic_fetch_sub(&box->copying, 1);
	return rc;
}

/* Take the requests of this rank out of all mailboxes, and wait for the blocks that are being
 * copied. */
static void local_withdraw(comm *c)
{
	const world *w = world_of(c);
	for (int to = 0; w->box && to < w->size; to++) {
		mailbox *box = &w->box[to];
		pthread_mutex_lock(&box->lock);
		for (size_t i = 0; i < BUCKETS; i++) {
			if (to == c->rank)
				box->of[i].recvs = NULL;
			for (comm_req **at = &box->of[i].sends; *at;)
				if ((*at)->peer == c->rank)
					*at = (*at)->next;
				else
					at = &(*at)->next;
		}
		pthread_mutex_unlock(&box->lock);
		while (atomic_load(&box->copying) > 0)
			sched_yield();
	}
}

static void local_end_job(comm *c, int code)
{
	(void)c;
	_exit(code);
}

static const struct comm_ops local_ops = {
	local_collective, local_collective, local_start, NULL, local_withdraw, local_end_job,
};

static void *local_rank_main(void *arg)
{
	local *l = arg;
	world *w = l->w;
	pthread_mutex_lock(&w->lock);
	while (w->gate == 0)
		pthread_cond_wait(&w->turn, &w->lock);
	const bool go = w->gate > 0;
	pthread_mutex_unlock(&w->lock);
	if (go)
		l->rc = l->fn(&l->c, l->arg);
	return NULL;
}

/* Start a thread for each rank but rank 0, and execute rank 0 here. No rank calls fn unless all
 * threads have started. Return the status of the first rank that failed. */
static status local_run_ranks(world *w, local *ranks, err *e)
{
	int up = 1, rc = 0;
	status worst = ST_OK;
	for (; up < w->size; up++)
		if ((rc = pthread_create(&ranks[up].thread, NULL, local_rank_main, &ranks[up])) !=
		    0)
			break;
	if (rc)
		worst = err_set(e, ST_RESOURCE, "cannot start thread %d of %d: %s", up, w->size,
				strerror(rc));
	pthread_mutex_lock(&w->lock);
	w->gate = rc ? -1 : 1;
	pthread_cond_broadcast(&w->turn);
	pthread_mutex_unlock(&w->lock);
	if (!rc)
		local_rank_main(&ranks[0]);
	for (int i = 1; i < up; i++)
		pthread_join(ranks[i].thread, NULL);
	for (int i = 0; i < w->size && worst == ST_OK; i++)
		worst = ranks[i].rc;
	return worst;
}

static void local_rank_init(local *l, world *w, int rank)
{
	l->w = w;
	l->c = (comm){ .ops = &local_ops,
		       .rank = rank,
		       .size = w->size,
		       .processes = 1,
		       .process_ranks = w->size,
		       .shares_memory = true,
		       .threads_allowed = true,
		       .kind = "threads" };
	comm_give_room(&l->c, w->room + (size_t)rank * comm_room_bytes(w->size));
	host_name(l->c.host);
}

status comm_local_run_first(int size, rank_main *fn, void *arg, err *e)
{
	world w = { .size = size, .in_step = true, .room = calloc(1, comm_room_bytes(size)) };
	local first;
	if (!w.room)
		return err_set(e, ST_RESOURCE, "no memory for a job of %d ranks", size);
	local_rank_init(&first, &w, 0);
	first.c.for_all = true;
	const status rc = fn(&first.c, arg);
	free(w.room);
	return rc;
}

status comm_local_run(int size, rank_main *fn, void *arg, err *e)
{
	if (size < 1)
		return err_set(e, ST_REFUSED, "cannot run %d ranks: use at least one", size);
	world w = { .size = size, .in_step = true };
	status rc = ST_RESOURCE;
	local *ranks = calloc((size_t)size, sizeof *ranks);
	w.board = calloc((size_t)size, sizeof *w.board);
	w.box = calloc((size_t)size, sizeof *w.box);
	w.room = calloc((size_t)size, comm_room_bytes(size));
	if (!ranks || !w.board || !w.box || !w.room) {
		err_set(e, rc, "no memory for a job of %d ranks", size);
		goto out;
	}
	pthread_mutex_init(&w.lock, NULL);
	pthread_cond_init(&w.turn, NULL);
	for (int i = 0; i < size; i++) {
		pthread_mutex_init(&w.box[i].lock, NULL);
		local_rank_init(&ranks[i], &w, i);
		ranks[i].fn = fn;
		ranks[i].arg = arg;
	}
	rc = local_run_ranks(&w, ranks, e);
	for (int i = 0; i < size; i++)
		pthread_mutex_destroy(&w.box[i].lock);
	pthread_cond_destroy(&w.turn);
	pthread_mutex_destroy(&w.lock);
out:
	free(ranks);
	free(w.board);
	free(w.box);
	free(w.room);
	return rc;
}
