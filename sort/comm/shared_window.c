/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One memfd for each rank, which the others of its host open by /proc: no name is left anywhere,
 * and no limit of a file system holds. A number drawn by its owner tells that it is the right one.
 * All of it is reserved at once, so that no access can fail. Each rank maps for itself, so one that
 * ends takes nothing away from the others. Where all ranks are threads of one process, none has to
 * map anything: memory stays until the last of them has left it. */
#include "shared_window.h"
#include "base/clock.h"
#include "base/splitmix.h"
#include "process_pointer.h"
#include "rank_set.h"

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
	MOST_SLEEP_S = 1, /* whoever changes something wakes */
	MOST_RANKS = 128  /* of several processes: each maps the memory of all others of its host */
};

static const char NAME[] = "hetsort";

/* The counts of the stream from the owner of the memory to one rank. */
typedef struct channel {
	_Alignas(LINE_BYTES) atomic_uint_fast64_t sent;  /* by the owner */
	_Alignas(LINE_BYTES) atomic_uint_fast64_t freed; /* by that rank */
} channel;

/* What is shared: the memory of one rank. */
typedef struct area {
	uint64_t nonce;
	atomic_int users; /* ranks of one process that have not left it yet */
	_Alignas(LINE_BYTES) _Atomic uint32_t
		news;                          /* grows with each change that its owner waits for */
	_Atomic uint32_t sleepers[NEWS_KINDS]; /* threads of the owner that wait for them */
	channel to[]; /* [size], then a set of ranks for each kind of news, then the room from the
		       * next page on */
} area;

/* How to find the memory of a rank; travels as it is. */
typedef struct address {
	char host[HOST_BYTES];
	uint64_t nonce, bytes;
	int64_t pid, fd; /* fd < 0: it is not shared */
	process_pointer own;
} address;

struct shared_window {
	comm *c;
	mem *m;
	size_t room_bytes, bytes; /* for each rank; of an area */
	area *own;
	bool inside;                /* all ranks are threads of this process */
	int fd;                     /* the file of own, until all are connected */
	area **of;                  /* [size] NULL: not seen */
	address *address;           /* [size] */
	unsigned char *sees, *seen; /* [size] */
};

/* A line of the cache has one kind of news alone. */
static size_t news_bytes(int ranks)
{
	const size_t bytes = rank_set_words(ranks) * sizeof(uint64_t);
	return (bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
}

static size_t head_bytes(int ranks)
{
	const size_t bytes =
		sizeof(area) + (size_t)ranks * sizeof(channel) + NEWS_KINDS * news_bytes(ranks);
	return (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

uint64_t shared_window_most_bytes(size_t bytes, int ranks)
{
	const uint64_t p = (uint64_t)ranks;
	return sizeof(shared_window) + p * (sizeof(area *) + sizeof(address) + 2) +
	       head_bytes(ranks) + (p - 1) * bytes;
}

/* ------------------------------------------------------------------------------------- memory */

static void *map(int fd, size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	return p == MAP_FAILED ? NULL : p;
}

static area *map_file(shared_window *w)
{
	area *a = NULL;
	const int fd = memfd_create(NAME, MFD_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (ftruncate(fd, (off_t)w->bytes) == 0 && fallocate(fd, 0, 0, (off_t)w->bytes) == 0)
		a = map(fd, w->bytes);
	if (a)
		w->fd = fd;
	else
		(void)close(fd);
	return a;
}

/* Only ranks of this process can see it. */
static area *map_here(shared_window *w, err *e)
{
	void *p = mmap(NULL, w->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p != MAP_FAILED)
		return p;
	err_set(e, ST_RESOURCE, "no memory for exchange windows");
	return NULL;
}

static status take_own(shared_window *w, err *e)
{
	const comm *c = w->c;
	w->inside = c->shares_memory && c->process_ranks == c->size;
	if (c->shares_memory && !w->inside && c->size <= MOST_RANKS)
		w->own = map_file(w);
	if (!w->own)
		w->own = map_here(w, e);
	if (!w->own)
		return ST_RESOURCE;
	mem_hold(w->m, w->bytes);
	w->own->users = 1;
	return ST_OK;
}

/* This rank has no need any more of the memory of a rank. */
static void leave(const shared_window *w, area *a)
{
	if (a && (!w->inside || atomic_fetch_sub(&a->users, 1) == 1))
		(void)munmap(a, w->bytes);
}

status shared_window_open(shared_window **out, comm *c, mem *m, size_t bytes, err *e)
{
	const size_t p = (size_t)c->size;
	shared_window *w = *out = mem_array(m, 1, sizeof *w, "exchange", e);
	size_t room;
	if (!w)
		return ST_RESOURCE;
	*w = (shared_window){ .c = c, .m = m, .room_bytes = bytes, .fd = -1 };
	if (!size_mul(bytes, p - 1, &room) ||
	    __builtin_add_overflow(room, head_bytes(c->size), &w->bytes))
		return err_set(e, ST_RESOURCE, "no memory for exchange windows");
	w->of = mem_array(m, p, sizeof *w->of, "exchange", e);
	w->address = mem_array(m, p, sizeof *w->address, "exchange", e);
	w->sees = mem_array(m, p, 1, "exchange", e);
	w->seen = mem_array(m, p, 1, "exchange", e);
	return w->of && w->address && w->sees && w->seen ? take_own(w, e) : ST_RESOURCE;
}

void shared_window_close(shared_window *w)
{
	if (!w)
		return;
	for (int i = 0; w->of && i < w->c->size; i++)
		leave(w, w->of[i]);
	if (w->fd >= 0)
		(void)close(w->fd);
	if (w->own)
		mem_drop(w->m, w->bytes);
	leave(w, w->own);
	mem_free(w->m, w->of);
	mem_free(w->m, w->address);
	mem_free(w->m, w->sees);
	mem_free(w->m, w->seen);
	mem_free(w->m, w);
}

/* --------------------------------------------------------------------------------- connecting */

static address address_of(const shared_window *w)
{
	address a = { .nonce = w->own->nonce,
		      .bytes = w->bytes,
		      .pid = getpid(),
		      .fd = w->fd,
		      .own = process_pointer_to(w->own) };
	memcpy(a.host, w->c->host, sizeof a.host);
	return a;
}

/* Does the path lead to shared memory of this program? Nothing else may be opened: on another
 * machine of the same name it may be anything. */
static bool leads_to_memory(const char *path)
{
	char to[PAGE_BYTES / 16], want[sizeof NAME + 32];
	const ssize_t n = readlink(path, to, sizeof to - 1);
	if (n < 0)
		return false;
	to[n] = '\0';
	(void)snprintf(want, sizeof want, "/memfd:%s (deleted)", NAME);
	return strcmp(to, want) == 0;
}

static area *see(const shared_window *w, const address *at)
{
	char path[64];
	struct stat st;
	area *a = NULL;
	if (w->inside)
		return process_pointer_is_whole(&at->own) ? at->own.at : NULL;
	if (w->fd < 0 || at->fd < 0 || at->bytes != w->bytes ||
	    memcmp(at->host, w->c->host, sizeof at->host) != 0)
		return NULL;
	(void)snprintf(path, sizeof path, "/proc/%" PRId64 "/fd/%" PRId64, at->pid, at->fd);
	const int fd = leads_to_memory(path) ? open(path, O_RDWR | O_CLOEXEC) : -1;
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && (uint64_t)st.st_size == w->bytes)
		a = map(fd, w->bytes);
	(void)close(fd);
	if (a && a->nonce != at->nonce) {
		(void)munmap(a, w->bytes);
		a = NULL;
	}
	return a;
}

static uint64_t draw(const comm *c)
{
	uint64_t seed = (uint64_t)getpid() << 32 ^ (uint64_t)(now_s() * 1e9) ^ (uint64_t)c->rank;
	return splitmix(&seed);
}

status shared_window_connect(shared_window *w)
{
	comm *c = w->c;
	if (c->size > MOST_RANKS && !w->inside)
		return ST_OK;
	w->own->nonce = draw(c);
	if (w->inside)
		w->own->users = c->size;
	const address mine = address_of(w);
	status rc = comm_allgather(c, &mine, w->address, sizeof mine);
	for (int i = 0; rc == ST_OK && i < c->size; i++) {
		w->of[i] = i == c->rank ? NULL : see(w, &w->address[i]);
		w->sees[i] = w->of[i] != NULL;
	}
	if (rc == ST_OK)
		rc = comm_alltoall(c, w->sees, w->seen, 1);
	for (int i = 0; rc == ST_OK && i < c->size; i++)
		w->sees[i] &= w->seen[i];
	if (w->fd >= 0)
		(void)close(w->fd);
	w->fd = -1;
	return rc;
}

bool shared_window_with(const shared_window *w, int rank)
{
	return w->sees[rank];
}

/* In the owner's memory; it has no room for itself. */
static unsigned char *room(const shared_window *w, area *a, int owner, int to)
{
	const size_t at = (size_t)(to < owner ? to : to - 1);
	return (unsigned char *)a + head_bytes(w->c->size) + at * w->room_bytes;
}

unsigned char *shared_window_to(const shared_window *w, int rank)
{
	return room(w, w->own, w->c->rank, rank);
}

unsigned char *shared_window_from(const shared_window *w, int rank)
{
	return room(w, w->of[rank], rank, w->c->rank);
}

/* -------------------------------------------------------------------------------------- waking */

static long futex(_Atomic uint32_t *word, int op, uint32_t value, const struct timespec *until,
		  unsigned kinds)
{
	return syscall(SYS_futex, word, op, value, until, NULL, kinds);
}

static bool any_sleeps(area *a, unsigned kinds)
{
	bool any = false;
	for (unsigned k = 0; k < NEWS_KINDS; k++)
		any |= kinds >> k & 1 && atomic_load(&a->sleepers[k]) > 0;
	return any;
}

/* Both sides touch the words in the same order: no wake is lost. */
static void ring(area *a, unsigned kinds)
{
	atomic_fetch_add(&a->news, 1);
	if (any_sleeps(a, kinds))
		(void)futex(&a->news, FUTEX_WAKE_BITSET, INT32_MAX, NULL, kinds);
}

static atomic_uint_fast64_t *news_of(const shared_window *w, area *a, shared_news kind)
{
	unsigned char *first = (unsigned char *)&a->to[w->c->size];
	return (void *)(first + (size_t)kind * news_bytes(w->c->size));
}

/* This rank has done something for the owner. */
static void tell(const shared_window *w, area *a, shared_news kind)
{
	const int rank = w->c->rank;
	atomic_fetch_or(&news_of(w, a, kind)[rank / RANK_SET_BITS], rank_set_bit(rank));
	ring(a, 1U << kind);
}

/* Asked for in vain most of the time: then the line stays in both caches. */
void shared_window_news(shared_window *w, shared_news kind, uint64_t *who)
{
	atomic_uint_fast64_t *news = news_of(w, w->own, kind);
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
	ring(w->own, NEWS_ANY);
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
	tell(w, w->of[to], NEWS_SENT);
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
	tell(w, w->of[from], NEWS_FREED);
}
