/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The shared window
 *
 * Each rank owns one area of memory. An area contains a channel for each rank, a set of ranks that
 * have freed blocks, and slots for the blocks to each other rank. A channel has two counts, of the
 * blocks that were sent to that rank, and of those that it has freed. So all blocks from rank a to
 * rank b and both of their counts are in the area of a.
 *
 * Who writes. The owner of an area writes the blocks, `sent` of each channel, and `awaited`. The
 * rank of a channel writes only `freed` of the channel. All ranks that see the area set bits in the
 * set, and add to the counter `news`. The threads of the owner clear the bits, and count themselves
 * in `sleepers` while they sleep.
 *
 * In which order. A sender fills a slot and adds to `sent`. Then it looks whether the receiver
 * awaits a block from it; only then it adds to the receiver's `news`, and wakes the receiver's
 * sleepers, if any. A receiver reads `news`, names the rank that it awaits, and then reads `sent`.
 * When it has read a block, it stores `freed`, sets its bit in the owner's set, and adds to `news`
 * if the owner sleeps. All accesses except to the block itself are sequentially consistent atomic
 * operations.
 *
 * Why no wake is lost. A thread that may sleep reads `news` before it looks for what it waits for,
 * and a receiver has named the awaited rank before it looks. So either the thread sees the block,
 * or the other rank sees that it is awaited, and changes `news`. A thread counts itself in
 * `sleepers` before it calls futex, which sleeps only if `news` still has the value that was read.
 * In any case a sleep ends after MOST_SLEEP_S.
 *
 * Why stale data is harmless. Both counts only grow. A rank that reads an old `sent` finds the
 * block at its next look. A rank that reads an old `freed` believes a slot to be in use a little
 * longer. A bit that is set for old news leads to one look that finds nothing.
 *
 * Which invariants hold. freed <= sent <= freed + the number of slots for a rank. The exchange,
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
 * window. If a rank ends before it has sent its blocks, the others wait. Between sleeps they look
 * at their comm, and the watchdog limits the wait. If no memory can be shared, the rank uses
 * private memory, from which it sends messages. */
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

/* The counts of the blocks from the owner of an area to one rank. */
typedef struct channel {
	_Alignas(LINE_BYTES) atomic_uint_fast64_t sent;  /* written by the owner */
	_Alignas(LINE_BYTES) atomic_uint_fast64_t freed; /* written by the other rank */
} channel;

/* The shared memory of one rank. */
typedef struct area {
	uint64_t nonce;
	atomic_int users; /* threads of one process that still use this mapping */
	_Alignas(LINE_BYTES) atomic_int awaited; /* the rank whose block the owner awaits, or -1 */
	_Alignas(LINE_BYTES) _Atomic uint32_t news; /* counts news for the owner */
	_Atomic uint32_t sleepers[NEWS_KINDS]; /* threads of the owner that wait for each kind */
	int ranks;
	channel to[]; /* [ranks], then the set of ranks that have freed blocks, then, from the next
			 page on, the blocks */
} area;

/* The place of a rank's area, for ranks of other processes; sent as bytes. */
typedef struct address {
	uint64_t host, nonce, bytes;
	int64_t pid, fd; /* fd < 0: the area is private */
} address;

struct shared_window {
	comm *c;
	mem *m;
	size_t room_bytes, bytes; /* of the slots for one rank; of the whole area */
	area *own;
	bool inside; /* all ranks are threads of this process */
	int fd;      /* the file of own, until all are connected */
	area **of;   /* [size] the areas of the others; NULL: this rank does not see it */
};

/* Return the bytes of an area before its slots. */
static size_t head_bytes(int ranks)
{
	const size_t bytes = sizeof(area) + (size_t)ranks * sizeof(channel) +
			     rank_set_words(ranks) * sizeof(uint64_t);
	return (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

uint64_t shared_window_most_bytes(size_t bytes, int ranks)
{
	const uint64_t n = (uint64_t)ranks;
	return sizeof(shared_window) + n * (sizeof(area *) + 2 * sizeof(address)) +
	       head_bytes(ranks) + (n - 1) * bytes;
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
	w->own->awaited = -1;
	w->own->ranks = c->size;
	return ST_OK;
}

/* Stop using an area. Unmap it, unless other threads of this process still use it. */
static void window_unmap(const shared_window *w, area *a)
{
	if (a && (!w->inside || atomic_fetch_sub(&a->users, 1) == 1))
		(void)munmap(a, w->bytes);
}

status shared_window_open(shared_window **out, comm *c, mem *m, size_t bytes, err *e)
{
	const size_t size = (size_t)c->size;
	shared_window *w = *out = mem_array(m, 1, sizeof *w, "exchange", e);
	size_t room;
	if (!w)
		return ST_RESOURCE;
	*w = (shared_window){ .c = c, .m = m, .room_bytes = bytes, .fd = -1 };
	w->inside = comm_is_inside(c);
	if (!size_mul(bytes, size - 1, &room) ||
	    __builtin_add_overflow(room, head_bytes(c->size), &w->bytes))
		return err_set(e, ST_RESOURCE, "no memory for exchange windows");
	w->of = mem_array(m, size, sizeof(area *), "exchange", e);
	return w->of ? window_map_own(w, e) : ST_RESOURCE;
}

static void window_close_file(shared_window *w)
{
	if (w->fd >= 0)
		(void)close(w->fd);
	w->fd = -1;
}

void shared_window_close(shared_window *w)
{
	if (!w)
		return;
	for (int i = 0; w->of && i < w->c->size; i++)
		window_unmap(w, w->of[i]);
	if (w->own)
		mem_drop(w->m, w->bytes);
	window_unmap(w, w->own);
	window_close_file(w);
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
	if (w->fd < 0 || at->fd < 0 || at->bytes != w->bytes || at->host != w->c->host_id)
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
	if (a && (a->nonce != at->nonce || a->ranks != w->c->size)) {
		(void)munmap(a, at->bytes);
		a = NULL;
	}
	return a;
}

/* Map the areas of the other ranks. address: of the n windows of each rank, in this process
 * process_pointers. sees[rank * n + i] becomes 1 if this rank sees window i of that rank. */
static void window_map_others(shared_window *const *w, size_t n, const void *address_,
			      unsigned char *sees)
{
	for (size_t k = 0; k < (size_t)w[0]->c->size * n; k++) {
		shared_window *own = w[k % n];
		const size_t rank = k / n;
		const process_pointer *at = (const process_pointer *)address_ + k;
		if (rank == (size_t)own->c->rank)
			continue;
		if (!own->inside)
			own->of[rank] = map_area(own, (const address *)address_ + k);
		else if (process_pointer_is_whole(at))
			own->of[rank] = at->at;
		sees[k] = own->of[rank] != NULL;
	}
}

/* Drop the areas of ranks that do not see the area of this rank. Threads of one process see all. */
static status window_keep_mutual(shared_window *w, const unsigned char *seen, size_t stride)
{
	for (int i = 0; i < w->c->size; i++, seen += stride) {
		if (*seen > 1 || (w->inside && *seen != (i != w->c->rank)))
			return comm_noted(w->c, ST_PEER);
		if (*seen)
			continue;
		window_unmap(w, w->of[i]);
		w->of[i] = NULL;
	}
	return ST_OK;
}

status shared_window_connect(shared_window *const *w, size_t n, err *e)
{
	comm *c = w[0]->c;
	const bool inside = w[0]->inside;
	const size_t all = n * (size_t)c->size;
	const size_t one = inside ? sizeof(process_pointer) : sizeof(address);
	status rc = ST_OK;
	if (c->size <= MOST_RANKS || inside) {
		unsigned char *room = mem_array(w[0]->m, all + n, one + 2, "exchange", e);
		unsigned char *mine = room + all * one;
		unsigned char *sees = mine + n * one, *seen = sees + all;
		rc = comm_agree(c, room ? ST_OK : ST_RESOURCE);
		for (size_t i = 0; rc == ST_OK && i < n; i++) {
			w[i]->own->nonce = unique_number();
			if (inside) {
				w[i]->own->users = c->size;
				((process_pointer *)(void *)mine)[i] =
					process_pointer_to(w[i]->own);
			} else {
				((address *)(void *)mine)[i] = (address){ .host = c->host_id,
									  .nonce = w[i]->own->nonce,
									  .bytes = w[i]->bytes,
									  .pid = getpid(),
									  .fd = w[i]->fd };
			}
		}
		if (rc == ST_OK)
			rc = comm_allgather(c, mine, room, n * one);
		if (rc == ST_OK) {
			window_map_others(w, n, room, sees);
			rc = comm_alltoall(c, sees, seen, n);
		}
		for (size_t i = 0; rc == ST_OK && i < n; i++)
			rc = window_keep_mutual(w[i], seen + i, n);
		mem_free(w[0]->m, room);
	}
	for (size_t i = 0; i < n; i++)
		window_close_file(w[i]);
	return rc;
}

bool shared_window_with(const shared_window *w, int rank)
{
	return w->of[rank] != NULL;
}

/* Return the slots in the area of rank `of` for rank `to`. A rank has no slots for itself. */
static unsigned char *window_slots(const shared_window *w, area *a, int of, int to)
{
	const size_t at = (size_t)(to < of ? to : to - 1);
	return (unsigned char *)a + head_bytes(a->ranks) + at * w->room_bytes;
}

unsigned char *shared_window_to(const shared_window *w, int rank)
{
	return window_slots(w, w->own, w->c->rank, rank);
}

unsigned char *shared_window_from(const shared_window *w, int rank)
{
	return window_slots(w, w->of[rank], rank, w->c->rank);
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

/* Return the set of ranks that have freed blocks of the owner. */
static atomic_uint_fast64_t *freed_by(area *a)
{
	return (atomic_uint_fast64_t *)(void *)(a->to + a->ranks);
}

/* Give the owner of an area news of this rank. */
static void report_to_owner(area *a, shared_news kind, int rank)
{
	if (kind == NEWS_FREED)
		atomic_fetch_or(&freed_by(a)[rank / RANK_SET_BITS], rank_set_bit(rank));
	else if (atomic_load(&a->awaited) != rank)
		return;
	wake_owner(a, 1U << kind);
}

void shared_window_report(shared_window *w, shared_news kind, int rank)
{
	report_to_owner(w->own, kind, rank);
}

void shared_window_await(shared_window *w, int from)
{
	atomic_store(&w->own->awaited, from);
}

/* Read each word first, and clear it only if it has news. Usually it has none, and reading leaves
 * its cache line in the caches of both processors. */
void shared_window_news(shared_window *w, uint64_t *who)
{
	atomic_uint_fast64_t *news = freed_by(w->own);
	for (size_t i = 0; i < rank_set_words(w->c->size); i++)
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
	report_to_owner(w->of[to], NEWS_SENT, w->c->rank);
	return ST_OK;
}

uint64_t shared_window_freed(const shared_window *w, int to)
{
	return atomic_load(&w->own->to[to].freed);
}

uint64_t shared_window_sent(const shared_window *w, int from)
{
	return atomic_load(&w->of[from]->to[w->c->rank].sent);
}

void shared_window_free(shared_window *w, int from, uint64_t blocks)
{
	atomic_store(&w->of[from]->to[w->c->rank].freed, blocks);
	report_to_owner(w->of[from], NEWS_FREED, w->c->rank);
}
