/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The shared window
 *
 * Each rank owns one area of memory. An area contains a channel for each peer of its owner, two
 * sets of peers with news, and slots for the blocks to each peer. A channel has two counts, of the
 * blocks that were sent to the peer, and of those that the peer has freed. So all blocks from rank
 * a to rank b and both of their counts are in the area of a.
 *
 * Who writes. The owner of an area writes the blocks, and `sent` of each channel. The peer of a
 * channel writes only `freed` of the channel. All ranks that see the area set bits in the sets of
 * news, and add to the counter `news`. The threads of the owner clear the bits, and count
 * themselves in `sleepers` while they sleep.
 *
 * In which order. A sender fills a slot and adds to `sent`. Then it sets its bit in the receiver's
 * set of news and adds to the receiver's `news`. Last, it wakes the receiver's sleepers, if any. A
 * receiver reads in the opposite order: `news`, the set, `sent`, and then the block. When it has
 * read a block, it stores `freed` and reports news to the owner in the same way. All accesses
 * except to the block itself are sequentially consistent atomic operations.
 *
 * Why no wake is lost. A thread that may sleep reads `news` before it reads the counts. Then it
 * counts itself in `sleepers` and calls futex, which sleeps only if `news` still has the value that
 * was read. A thread that reports news adds to `news` before it reads `sleepers`. So either the
 * sleeper sees the news, or the reporter sees the sleeper. In any case a sleep ends after
 * MOST_SLEEP_S.
 *
 * Why stale data is harmless. Both counts only grow. A rank that reads an old `sent` finds the
 * block at its next look. A rank that reads an old `freed` believes a slot to be in use a little
 * longer. A bit that is set for old news leads to one look that finds nothing.
 *
 * Which invariants hold. freed <= sent <= freed + the number of slots for a peer. The exchange,
 * which knows this number, ensures it. So no slot is read and written at the same time. Two ranks
 * use each other's areas only if each of them sees the area of the other (window_keep_mutual);
 * otherwise they send messages.
 *
 * How an area is found. It is a memfd, a file without a name, which the other ranks of the host
 * open through /proc. So no file can be left over, and no limit of a file system applies. A random
 * number of the owner, in the area and in a message, proves that the right file was opened. The
 * whole area is reserved at the start, so that no later access can fail. If all ranks are threads
 * of one process, they receive a pointer to the owner's mapping.
 *
 * Consequences of a failure. Each process has its own mapping of an area, so the area remains when
 * its owner ends. A mapping that threads share remains until the last of them has closed its
 * window. If a rank ends before it has sent its blocks, its peers wait. Between sleeps they look at
 * their comm, and the watchdog limits the wait. If no memory can be shared, the rank uses private
 * memory, from which it sends messages. */
#include "shared_window.h"
#include "base/clock.h"
#include "base/arith.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	LINE_BYTES = 64,
	PAGE_BYTES = 4096,
	MOST_SLEEP_S = 1, /* a safeguard: news wakes the sleepers earlier */
	MOST_RANKS = 128 /* of a job of several processes that shares memory, because each rank maps
			    the areas of all others on its host */
};

#define MEMORY_NAME "hetsort"

/* The counts of the blocks from the owner of an area to one peer. */
typedef struct channel {
	_Alignas(LINE_BYTES) atomic_uint_fast64_t sent;  /* written by the owner */
	int rank;                                        /* the peer */
	_Alignas(LINE_BYTES) atomic_uint_fast64_t freed; /* written by the peer */
} channel;

/* The shared memory of one rank. */
typedef struct area {
	uint64_t nonce;
	atomic_int users; /* threads of one process that still use this mapping */
	/* counts all news for the owner */
	_Alignas(LINE_BYTES) _Atomic uint32_t news;
	_Atomic uint32_t sleepers[NEWS_KINDS]; /* threads of the owner that wait for each kind */
	int peers, own; /* number of the owner's peers, and the owner's place among them */
	channel to[];   /* [peers], then a set of peers for each kind of news, then, from the next
			   page on, the blocks */
} area;

/* The place of a rank's area, for ranks of other processes; sent as bytes. */
typedef struct address {
	uint64_t host, nonce, bytes;
	int64_t pid, fd; /* fd < 0: the area is private */
} address;

/* The area of a peer. a is NULL if this rank does not see it. */
typedef struct seen_area {
	area *a;
	int place; /* of this rank among the peers of the area's owner */
} seen_area;

struct shared_window {
	comm *c;
	mem *m;
	peer_list p;
	size_t room_bytes, bytes; /* of the slots for one peer; of the whole area */
	area *own;
	bool inside;   /* all ranks are threads of this process */
	int fd;        /* the file of own, until all are connected */
	seen_area *of; /* [peers] */
	/* until all are connected: three arrays of [size] in one allocation */
	void *address; /* addresses or, if inside, process_pointers */
	/* 1: this rank sees the area of that rank; that rank sees the area of this one */
	unsigned char *sees, *seen;
};

/* Return the bytes of a set of peers, in whole cache lines: kinds of news share no line. */
static size_t news_bytes(int peers)
{
	const size_t bytes = rank_set_words(peers) * sizeof(uint64_t);
	return (bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
}

/* Return the bytes of an area before its slots. */
static size_t head_bytes(int peers)
{
	const size_t bytes =
		sizeof(area) + (size_t)peers * sizeof(channel) + NEWS_KINDS * news_bytes(peers);
	return (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

static size_t area_bytes(const shared_window *w, const area *a)
{
	return head_bytes(a->peers) + ((size_t)a->peers - 1) * w->room_bytes;
}

uint64_t shared_window_most_bytes(size_t bytes, int peers, int ranks)
{
	const uint64_t n = (uint64_t)peers, p = (uint64_t)ranks;
	return sizeof(shared_window) + n * sizeof(seen_area) + p * (sizeof(address) + 2) +
	       head_bytes(peers) + (n - 1) * bytes;
}

static void *map_shared(int fd, size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	return p == MAP_FAILED ? NULL : p;
}

/* Allocate the area of this rank, shared if possible. */
static status window_map_own(shared_window *w, err *e)
{
	const comm *c = w->c;
	const off_t bytes = (off_t)w->bytes;
	if (c->shares_memory && !w->inside && c->size <= MOST_RANKS)
		w->fd = memfd_create(MEMORY_NAME, MFD_CLOEXEC);
	if (w->fd >= 0 && ftruncate(w->fd, bytes) == 0 && fallocate(w->fd, 0, 0, bytes) == 0)
		w->own = map_shared(w->fd, w->bytes);
	if (w->fd >= 0 && !w->own) {
		(void)close(w->fd);
		w->fd = -1;
	}
	if (!w->own) { /* only ranks of this process can see it */
		void *p = mmap(NULL, w->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);
		if (p == MAP_FAILED)
			return err_set(e, ST_RESOURCE, "no memory for exchange windows");
		w->own = p;
	}
	mem_hold(w->m, w->bytes);
	w->own->users = 1;
	w->own->peers = w->p.count;
	w->own->own = w->p.own;
	for (int i = 0; i < w->p.count; i++)
		w->own->to[i].rank = peers_rank(&w->p, i);
	return ST_OK;
}

/* Stop using an area. Unmap it, unless other threads of this process still use it. */
static void window_unmap(const shared_window *w, area *a)
{
	if (a && (!w->inside || atomic_fetch_sub(&a->users, 1) == 1))
		(void)munmap(a, area_bytes(w, a));
}

status shared_window_open(shared_window **out, comm *c, mem *m, const peer_list *p, size_t bytes,
			  err *e)
{
	const size_t size = (size_t)c->size;
	shared_window *w = *out = mem_array(m, 1, sizeof *w, "exchange", e);
	size_t room;
	if (!w)
		return ST_RESOURCE;
	*w = (shared_window){ .c = c, .m = m, .p = *p, .room_bytes = bytes, .fd = -1 };
	w->inside = c->shares_memory && c->process_ranks == c->size;
	if (!size_mul(bytes, (size_t)p->count - 1, &room) ||
	    __builtin_add_overflow(room, head_bytes(p->count), &w->bytes))
		return err_set(e, ST_RESOURCE, "no memory for exchange windows");
	const size_t one = w->inside ? sizeof(process_pointer) : sizeof(address);
	w->of = mem_array(m, (size_t)p->count, sizeof *w->of, "exchange", e);
	w->address = mem_array(m, size, one + 2, "exchange", e);
	if (!w->of || !w->address)
		return ST_RESOURCE;
	w->sees = (unsigned char *)w->address + size * one;
	w->seen = w->sees + size;
	return window_map_own(w, e);
}

/* Free everything that is needed only for connecting. */
static void drop_addresses(shared_window *w)
{
	if (w->fd >= 0)
		(void)close(w->fd);
	w->fd = -1;
	mem_free(w->m, w->address);
	w->address = NULL;
}

void shared_window_close(shared_window *w)
{
	if (!w)
		return;
	for (int i = 0; w->of && i < w->p.count; i++)
		window_unmap(w, w->of[i].a);
	if (w->own)
		mem_drop(w->m, w->bytes);
	window_unmap(w, w->own);
	drop_addresses(w);
	mem_free(w->m, w->of);
	mem_free(w->m, w);
}

/* --------------------------------------------------------------------------------- connecting */

/* Map the area of a rank of this host, or return NULL. Open no other file: if the rank is in
 * a container with other numbers of processes, its path may lead to any file here. */
static area *map_area(const shared_window *w, const address *at)
{
	static const char memory[] = "/memfd:" MEMORY_NAME " (deleted)";
	char path[64], to[sizeof memory] = "";
	struct stat st;
	area *a = NULL;
	if (w->fd < 0 || at->fd < 0 || at->bytes < sizeof(area) || at->host != w->c->host_id)
		return NULL;
	(void)snprintf(path, sizeof path, "/proc/%" PRId64 "/fd/%" PRId64, at->pid, at->fd);
	if (readlink(path, to, sizeof to) != sizeof to - 1 || strcmp(to, memory) != 0)
		return NULL;
	const int fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && (uint64_t)st.st_size == at->bytes)
		a = map_shared(fd, at->bytes);
	(void)close(fd);
	if (a && (a->nonce != at->nonce || a->peers <= 0 || a->peers > w->c->size || a->own < 0 ||
		  a->own >= a->peers || at->bytes != area_bytes(w, a))) {
		(void)munmap(a, at->bytes);
		a = NULL;
	}
	return a;
}

/* Send the address of this rank's area to all ranks, and map the area of each peer. */
static status window_map_peers(shared_window *w)
{
	comm *c = w->c;
	const process_pointer here = process_pointer_to(w->own);
	address mine = { .host = c->host_id,
			 .nonce = unique_number(),
			 .bytes = w->bytes,
			 .pid = getpid(),
			 .fd = w->fd };
	w->own->nonce = mine.nonce;
	if (w->inside)
		w->own->users = w->p.count;
	const status rc = w->inside ? comm_allgather(c, &here, w->address, sizeof here)
				    : comm_allgather(c, &mine, w->address, sizeof mine);
	for (int i = 0; rc == ST_OK && i < w->p.count; i++) {
		const int rank = peers_rank(&w->p, i);
		const process_pointer *at = (const process_pointer *)w->address + rank;
		if (i == w->p.own)
			continue;
		if (!w->inside)
			w->of[i].a = map_area(w, (const address *)w->address + rank);
		else if (process_pointer_is_whole(at))
			w->of[i].a = at->at;
		w->sees[rank] = w->of[i].a != NULL;
	}
	return rc;
}

/* Drop the areas of peers that do not see this rank's area. In each other area, find the place of
 * this rank among the peers of the owner. */
static status window_keep_mutual(shared_window *w)
{
	const int own = w->c->rank;
	for (int i = 0; i < w->p.count; i++) {
		seen_area *s = &w->of[i];
		const unsigned char seen = w->seen[peers_rank(&w->p, i)];
		if (seen > 1)
			return comm_noted(w->c, ST_PEER);
		if (!s->a || !seen) {
			window_unmap(w, s->a);
			s->a = NULL;
			continue;
		}
		lower_bound b = { .lo = 0, .hi = (uint64_t)s->a->peers };
		while (lower_bound_open(&b))
			lower_bound_step(&b, s->a->to[b.mid].rank < own);
		s->place = (int)b.lo;
		if (s->place == s->a->peers || s->a->to[s->place].rank != own)
			return comm_noted(w->c, ST_PEER);
	}
	return ST_OK;
}

status shared_window_connect(shared_window *w)
{
	comm *c = w->c;
	status rc = ST_OK;
	if (c->size <= MOST_RANKS || w->inside) {
		rc = window_map_peers(w);
		if (rc == ST_OK)
			rc = comm_alltoall(c, w->sees, w->seen, sizeof *w->seen);
		if (rc == ST_OK)
			rc = window_keep_mutual(w);
	}
	drop_addresses(w);
	return rc;
}

bool shared_window_with(const shared_window *w, int peer)
{
	return w->of[peer].a != NULL;
}

/* Return the slots in area a for the peer at place `to`. The owner has no slots for itself. */
static unsigned char *window_slots(const shared_window *w, area *a, int to)
{
	const size_t at = (size_t)(to < a->own ? to : to - 1);
	return (unsigned char *)a + head_bytes(a->peers) + at * w->room_bytes;
}

unsigned char *shared_window_to(const shared_window *w, int peer)
{
	return window_slots(w, w->own, peer);
}

unsigned char *shared_window_from(const shared_window *w, int peer)
{
	return window_slots(w, w->of[peer].a, w->of[peer].place);
}

/* -------------------------------------------------------------------------------------- waking */

static long futex(_Atomic uint32_t *word, int op, uint32_t value, const struct timespec *until,
		  unsigned kinds)
{
	return syscall(SYS_futex, word, op, value, until, NULL, kinds);
}

/* Count news of these kinds, and wake the threads of the owner that wait for one of them. */
static void wake_owner(area *a, unsigned kinds)
{
	bool any = false;
	atomic_fetch_add(&a->news, 1);
	for (unsigned k = 0; k < NEWS_KINDS; k++)
		any |= kinds >> k & 1 && atomic_load(&a->sleepers[k]) > 0;
	if (any)
		(void)futex(&a->news, FUTEX_WAKE_BITSET, INT32_MAX, NULL, kinds);
}

static atomic_uint_fast64_t *news_of(area *a, shared_news kind)
{
	unsigned char *first = (unsigned char *)&a->to[a->peers];
	return (void *)(first + (size_t)kind * news_bytes(a->peers));
}

/* Report news to the owner of the area. */
static void report_news(const seen_area *s, shared_news kind)
{
	atomic_fetch_or(&news_of(s->a, kind)[s->place / RANK_SET_BITS], rank_set_bit(s->place));
	wake_owner(s->a, 1U << kind);
}

/* Read each word first, and clear it only if it has news. Usually it has none, and reading leaves
 * its cache line in the caches of both processors. */
void shared_window_news(shared_window *w, shared_news kind, uint64_t *who)
{
	atomic_uint_fast64_t *news = news_of(w->own, kind);
	for (size_t i = 0; i < rank_set_words(w->p.count); i++)
		if (atomic_load(&news[i]))
			who[i] |= atomic_exchange(&news[i], 0);
}

uint32_t shared_window_look(const shared_window *w)
{
	return atomic_load(&w->own->news);
}

void shared_window_sleep(shared_window *w, uint32_t looked, unsigned kinds)
{
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += MOST_SLEEP_S;
	for (unsigned k = 0; k < NEWS_KINDS; k++)
		atomic_fetch_add(&w->own->sleepers[k], kinds >> k & 1);
	(void)futex(&w->own->news, FUTEX_WAIT_BITSET, looked, &until, kinds);
	for (unsigned k = 0; k < NEWS_KINDS; k++)
		atomic_fetch_sub(&w->own->sleepers[k], kinds >> k & 1);
}

void shared_window_wake(shared_window *w)
{
	wake_owner(w->own, NEWS_ANY);
}

/* -------------------------------------------------------------------------------------- counts */

status shared_window_send(shared_window *w, int to, unsigned char *buf, size_t bytes)
{
	const void *said = FAIL_LIE(buf, bytes);
	if (said != buf)
		memcpy(buf, said, bytes);
	const status rc = comm_noted(w->c, FAIL_COMM_CALL(ST_OK));
	if (rc != ST_OK)
		return rc;
	progress_add(PROGRESS_SENT, bytes);
	atomic_fetch_add(&w->own->to[to].sent, 1);
	report_news(&w->of[to], NEWS_SENT);
	return ST_OK;
}

uint64_t shared_window_freed(const shared_window *w, int to)
{
	return atomic_load(&w->own->to[to].freed);
}

uint64_t shared_window_sent(const shared_window *w, int from)
{
	const seen_area *s = &w->of[from];
	return atomic_load(&s->a->to[s->place].sent);
}

void shared_window_free(shared_window *w, int from, uint64_t blocks)
{
	const seen_area *s = &w->of[from];
	atomic_store(&s->a->to[s->place].freed, blocks);
	report_news(s, NEWS_FREED);
}
