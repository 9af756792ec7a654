/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The backend over MPI. No call blocks inside MPI: every operation is started, and then tested
 * again and again, with short sleeps between the tests. So the processor is free for threads that
 * compute. One mutex guards all calls, so MPI_THREAD_SERIALIZED is enough. A thread that starts a
 * block only puts it into a list; whichever thread drives the messages gives it to MPI, and tests
 * all blocks under way by one call. Messages longer than max_msg are sent in fragments, so no count
 * exceeds an int. */
#include "comm_mpi.h"
#include "base/clock.h"
#include "base/arith.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

typedef struct mpi {
	comm c;               /* first, so that a comm is an mpi */
	MPI_Comm ctl;         /* collectives */
	MPI_Comm data;        /* blocks */
	pthread_mutex_t lock; /* for calls of MPI, and the blocks under way */
	comm_req **of;        /* [count] blocks under way, and for each: */
	MPI_Request *handle;
	MPI_Status *came; /* of those that are done */
	int *done;        /* their indices */
	int count, room;
	pthread_mutex_t list; /* for the next members */
	comm_req *first;      /* blocks that MPI does not know yet, the last one first */
	atomic_bool listed;   /* there are some */
	size_t max_msg;
	char kind[96];
} mpi;

static mpi *mpi_of(comm *c)
{
	return (mpi *)c;
}

static status mpi_status_of(int rc)
{
	return rc == MPI_SUCCESS ? ST_OK : ST_PEER;
}

/* Start the next fragment of a block. The last one is shorter than max_msg, so that a receiver with
 * room for more finds the end. The caller holds the lock. */
static status next_fragment(mpi *m, const comm_req *r, MPI_Request *req)
{
	const int n = (int)size_min(m->max_msg, r->bytes - r->done);
	unsigned char *at = r->buf + r->done;
	return mpi_status_of(r->sending
				     ? MPI_Issend(at, n, MPI_BYTE, r->peer, r->tag, m->data, req)
				     : MPI_Irecv(at, n, MPI_BYTE, r->peer, r->tag, m->data, req));
}

/* Make room for one more block under way. */
static status mpi_grow(mpi *m)
{
	if (m->count < m->room)
		return ST_OK;
	const size_t room = 2 * (size_t)m->room + 16;
	comm_req **of = realloc(m->of, room * sizeof *of);
	m->of = of ? of : m->of;
	MPI_Request *handle = realloc(m->handle, room * sizeof(MPI_Request));
	m->handle = handle ? handle : m->handle;
	MPI_Status *came = realloc(m->came, room * sizeof *came);
	m->came = came ? came : m->came;
	int *done = realloc(m->done, room * sizeof *done);
	m->done = done ? done : m->done;
	if (!of || !handle || !came || !done)
		return ST_RESOURCE;
	m->room = (int)room;
	return ST_OK;
}

/* Give the listed blocks to MPI, in the order in which they were started. The caller holds the
 * lock. */
static status mpi_submit(mpi *m)
{
	status st = ST_OK;
	comm_req *next, *last = NULL;
	pthread_mutex_lock(&m->list);
	for (comm_req *r = m->first; r; r = next) { /* reverse the list */
		next = r->next;
		r->next = last;
		last = r;
	}
	m->first = NULL;
	atomic_store(&m->listed, false);
	pthread_mutex_unlock(&m->list);
	for (comm_req *r = last; r && st == ST_OK; r = r->next) {
		st = mpi_grow(m);
		if (st == ST_OK)
			st = next_fragment(m, r, &m->handle[m->count]);
		if (st == ST_OK)
			m->of[m->count++] = r;
	}
	return st;
}

/* Release the lock. Blocks that other threads have listed in the meantime go to MPI first. */
static status mpi_unlock(mpi *m)
{
	status st;
	do {
		st = mpi_submit(m);
		pthread_mutex_unlock(&m->lock);
	} while (st == ST_OK && atomic_load(&m->listed) && pthread_mutex_trylock(&m->lock) == 0);
	return st;
}

/* Wait until a request is complete. Test it `quick` times without sleeping, and sleep between later
 * tests. So short waits take microseconds, and long ones hardly any processor time. */
static status mpi_await(mpi *m, MPI_Request *req)
{
	const unsigned quick = 200;
	for (unsigned tries = 0;; tries++) {
		int flag = 0;
		pthread_mutex_lock(&m->lock);
		const int rc = MPI_Test(req, &flag, MPI_STATUS_IGNORE);
		const status st = mpi_unlock(m);
		if (rc != MPI_SUCCESS || flag || st != ST_OK)
			return rc != MPI_SUCCESS ? mpi_status_of(rc) : st;
		if (tries > quick)
			nap(tries - quick);
	}
}

/* Execute a collective of at most max_msg bytes per message. */
static status run_collective(mpi *m, const comm_call *k, const void *send, void *recv, size_t bytes)
{
	MPI_Request req;
	const int n = (int)bytes;
	int rc;
	pthread_mutex_lock(&m->lock);
	if (k->kind == COMM_BCAST)
		rc = MPI_Ibcast(recv, n, MPI_BYTE, k->root, m->ctl, &req);
	else if (k->kind == COMM_GATHER)
		rc = MPI_Igather(send, n, MPI_BYTE, recv, n, MPI_BYTE, k->root, m->ctl, &req);
	else if (k->kind == COMM_ALLGATHER)
		rc = MPI_Iallgather(send, n, MPI_BYTE, recv, n, MPI_BYTE, m->ctl, &req);
	else
		rc = MPI_Ialltoall(send, n, MPI_BYTE, recv, n, MPI_BYTE, m->ctl, &req);
	pthread_mutex_unlock(&m->lock);
	return rc == MPI_SUCCESS ? mpi_await(m, &req) : mpi_status_of(rc);
}

/* Copy n bytes of each of `blocks` messages. A stride is the distance from one message to the next
 * in an array. */
static void repack(char *to, size_t to_stride, const char *from, size_t from_stride, size_t n,
		   int blocks)
{
	for (int i = 0; i < blocks; i++)
		memcpy(to + (size_t)i * to_stride, from + (size_t)i * from_stride, n);
}

/* Execute a collective, in fragments if a message exceeds max_msg. MPI needs fragments of several
 * messages next to each other, so these are copied to and from arrays. */
static status mpi_collective(comm *c, const comm_call *k)
{
	mpi *m = mpi_of(c);
	const size_t bytes = k->bytes, fragment = size_min(m->max_msg, bytes);
	const int out = k->kind == COMM_ALLTOALL ? c->size : 1;
	const bool direct = k->kind == COMM_BCAST || bytes <= fragment;
	const bool receives = k->kind != COMM_GATHER || c->rank == k->root;
	char *s = direct ? NULL : malloc(fragment * (size_t)out);
	char *r = direct ? NULL : malloc(fragment * (size_t)c->size);
	status st = direct || (s && r) ? ST_OK : ST_RESOURCE;
	for (size_t at = 0; at < bytes && st == ST_OK; at += fragment) {
		const size_t n = size_min(fragment, bytes - at);
		if (direct) {
			st = run_collective(m, k, k->send, (char *)k->recv + at, n);
			continue;
		}
		repack(s, n, (const char *)k->send + at, bytes, n, out);
		st = run_collective(m, k, s, r, n);
		if (st == ST_OK && receives)
			repack((char *)k->recv + at, bytes, r, n, n, c->size);
	}
	free(s);
	free(r);
	return st;
}

/* List a block. If other threads may call MPI, give it to MPI now, or let the thread do it that
 * calls MPI at the moment. */
static status mpi_start(comm *c, comm_req *r)
{
	mpi *m = mpi_of(c);
	pthread_mutex_lock(&m->list);
	r->next = m->first;
	m->first = r;
	atomic_store(&m->listed, true);
	pthread_mutex_unlock(&m->list);
	return c->threads_allowed && pthread_mutex_trylock(&m->lock) == 0 ? mpi_unlock(m) : ST_OK;
}

/* Take the fragment of block i that is done, and start the next one. Set *end if it was the last.
 */
static status take_fragment(mpi *m, int i, MPI_Status *came, bool *end)
{
	comm_req *r = m->of[i];
	const size_t most = size_min(m->max_msg, r->bytes - r->done);
	int n = (int)most;
	status st = r->sending ? ST_OK : mpi_status_of(MPI_Get_count(came, MPI_BYTE, &n));
	if (st == ST_OK && (n < 0 || (size_t)n > most))
		st = ST_PEER;
	if (st != ST_OK)
		return st;
	r->done += (size_t)n;
	*end = (size_t)n < m->max_msg;
	return *end ? ST_OK : next_fragment(m, r, &m->handle[i]);
}

static status mpi_drive(comm *c, bool *moved)
{
	mpi *m = mpi_of(c);
	int done = 0;
	pthread_mutex_lock(&m->lock);
	status st = mpi_submit(m);
	if (st == ST_OK && m->count)
		st = mpi_status_of(MPI_Testsome(m->count, m->handle, &done, m->done, m->came));
	for (int k = 0; st == ST_OK && k < done; k++) {
		const int i = m->done[k];
		bool end = false;
		*moved = true;
		st = take_fragment(m, i, &m->came[k], &end);
		if (st == ST_OK && end) {
			comm_complete(m->of[i]);
			m->of[i] = NULL;
		}
	}
	int left = 0;
	for (int i = 0; done > 0 && i < m->count; i++) {
		if (!m->of[i])
			continue;
		m->handle[left] = m->handle[i];
		m->of[left++] = m->of[i];
	}
	if (done > 0)
		m->count = left;
	const status listed = mpi_unlock(m);
	return st == ST_OK ? listed : st;
}

/* end_job is missing here, because only the program can end the job: comm_mpi_run.c adds it. */
static const struct comm_ops mpi_ops = { mpi_collective, NULL, mpi_start, mpi_drive, NULL, NULL };

static void mpi_free_blocks(mpi *m)
{
	free(m->of);
	free(m->handle);
	free(m->came);
	free(m->done);
}

static void mpi_free_comms(mpi *m)
{
	if (m->data != MPI_COMM_NULL)
		MPI_Comm_free(&m->data);
	if (m->ctl != MPI_COMM_NULL)
		MPI_Comm_free(&m->ctl);
}

/* Exchange an empty message with every other rank, so that MPI makes all connections now, on the
 * main thread. If connections were made later, threads of two ranks could connect to each other at
 * the same time, and race. All messages are under way at once, so a slow rank does not delay the
 * others. If this rank waits for long, it cannot reach another rank. req has space for two requests
 * per rank. */
static status mpi_connect_all(mpi *m, MPI_Comm on, comm_waits *waits, MPI_Request *req)
{
	const int n = 2 * m->c.size;
	status st = ST_OK;
	for (int i = 0; i < n && st == ST_OK; i++)
		if (i / 2 == m->c.rank)
			req[i] = MPI_REQUEST_NULL;
		else
			st = mpi_status_of(
				i % 2 ? MPI_Issend(NULL, 0, MPI_BYTE, i / 2, 0, on, &req[i])
				      : MPI_Irecv(NULL, 0, MPI_BYTE, i / 2, 0, on, &req[i]));
	for (int i = 0; i < n && st == ST_OK; i++) {
		if (waits)
			waits(i / 2);
		st = mpi_await(m, &req[i]);
	}
	if (waits)
		waits(-1);
	return st;
}

/* Make communicators of our own, so that no message is mistaken for a message of the caller. A rank
 * that lacks memory must still call this, with req NULL, so that the other ranks do not wait for
 * it.
 *
 * In a job of hetsort, waits is set. Nobody else sends messages on parent there, so all connections
 * are made on parent, before MPI_Comm_dup needs them. So waits learns which rank does not answer. A
 * rank that lacks memory then returns at once, because its error ends the job. */
static status mpi_join(mpi *m, MPI_Comm parent, comm_waits *waits, MPI_Request *req, err *e)
{
	int have = req != NULL, all = 0;
	MPI_Request asked;
	if (waits && !req)
		return err_set(e, ST_RESOURCE, "no memory for a job of %d ranks", m->c.size);
	if (waits && mpi_connect_all(m, parent, waits, req) != ST_OK)
		return err_set(e, ST_PEER, "some other ranks cannot be reached");
	if (MPI_Comm_dup(parent, &m->ctl) != MPI_SUCCESS ||
	    MPI_Comm_dup(parent, &m->data) != MPI_SUCCESS ||
	    MPI_Comm_set_errhandler(m->ctl, MPI_ERRORS_RETURN) != MPI_SUCCESS ||
	    MPI_Comm_set_errhandler(m->data, MPI_ERRORS_RETURN) != MPI_SUCCESS)
		return err_set(e, ST_PEER, "cannot set up the MPI communicators");
	if (MPI_Iallreduce(&have, &all, 1, MPI_INT, MPI_MIN, m->ctl, &asked) != MPI_SUCCESS ||
	    mpi_await(m, &asked) != ST_OK || (req && !all))
		return err_set(e, ST_PEER, "another rank has no memory for the communicator");
	if (!req)
		return err_set(e, ST_RESOURCE, "no memory for a job of %d ranks", m->c.size);
	if (!waits && mpi_connect_all(m, m->data, NULL, req) != ST_OK) {
		/* freeing is collective, and other ranks might not do it, so free nothing */
		m->ctl = m->data = MPI_COMM_NULL;
		return err_set(e, ST_PEER, "some other ranks cannot be reached");
	}
	return ST_OK;
}

/* Return a hash of the name of this host and of a number that its kernel draws when it starts.
 * Containers on several machines may have one name. If the number cannot be read, only the name
 * counts. */
static uint64_t find_host_id(const char *name)
{
	char boot[64];
	const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd < 0 ? 0 : read(fd, boot, sizeof boot);
	if (fd >= 0)
		(void)close(fd);
	return XXH3_64bits_withSeed(name, strlen(name), XXH3_64bits(boot, n > 0 ? (size_t)n : 0));
}

/* Make the comm on the stack, because a rank without memory must call mpi_join too. Copy it to the
 * heap when all ranks have memory. It includes room for the first blocks: a rank that finds no
 * memory for a block later cannot agree with the other ranks any more. */
status comm_mpi_open(comm **c, MPI_Comm parent, comm_waits *waits, size_t max_msg, err *e)
{
	mpi found = { .ctl = MPI_COMM_NULL,
		      .data = MPI_COMM_NULL,
		      .lock = PTHREAD_MUTEX_INITIALIZER };
	char version[MPI_MAX_LIBRARY_VERSION_STRING];
	int level = MPI_THREAD_SINGLE, n;
	*c = NULL;
	if (MPI_Comm_rank(parent, &found.c.rank) != MPI_SUCCESS ||
	    MPI_Comm_size(parent, &found.c.size) != MPI_SUCCESS ||
	    MPI_Query_thread(&level) != MPI_SUCCESS)
		return err_set(e, ST_PEER, "cannot set up the MPI communicators");
	mpi *m = calloc(1, sizeof *m);
	void *room = calloc(1, comm_room_bytes(found.c.size));
	MPI_Request *req = calloc(2 * (size_t)found.c.size, sizeof(MPI_Request));
	const bool ready = mpi_grow(&found) == ST_OK && m && room;
	const status st = mpi_join(&found, parent, waits, ready ? req : NULL, e);
	free(req);
	if (st != ST_OK) {
		mpi_free_comms(&found);
		mpi_free_blocks(&found);
		free(room);
		free(m);
		return st;
	}
	*m = found;
	FAIL_RANK(m->c.rank);
	m->c.ops = &mpi_ops;
	m->max_msg = size_min(max_msg, COMM_MAX_MSG);
	m->c.processes = m->c.size;
	m->c.process_first = m->c.rank;
	m->c.process_ranks = 1;
	m->c.shares_memory = true;
	m->c.threads_allowed = level >= MPI_THREAD_SERIALIZED && !FAIL_DIFFER("threads");
	if (MPI_Get_library_version(version, &n) != MPI_SUCCESS)
		strcpy(version, "MPI");
	version[strcspn(version, ",\n")] = '\0';
	for (char *tab = version; (tab = strchr(tab, '\t'));)
		*tab = ' ';
	snprintf(m->kind, sizeof m->kind, "%.*s%s", (int)sizeof m->kind - 20, version,
		 m->c.threads_allowed ? "" : ", main thread only");
	m->c.kind = m->kind;
	host_name(m->c.host);
	m->c.host_id = find_host_id(m->c.host);
	pthread_mutex_init(&m->lock, NULL);
	pthread_mutex_init(&m->list, NULL);
	comm_give_room(&m->c, room);
	*c = &m->c;
	return ST_OK;
}

void comm_mpi_close(comm *c)
{
	mpi *m = mpi_of(c);
	if (!atomic_load(&c->broken)) /* freeing is collective, and other ranks might not do it */
		mpi_free_comms(m);
	pthread_mutex_destroy(&m->lock);
	pthread_mutex_destroy(&m->list);
	mpi_free_blocks(m);
	free(c->sums);
	free(m);
}
