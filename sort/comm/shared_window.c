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
	int rank;                                        /* that it is for */
	_Alignas(LINE_BYTES) atomic_uint_fast64_t freed; /* by that rank */
} channel;

/* What is shared: the memory of one rank. */
typedef struct area {
	uint64_t nonce;
	atomic_int users; /* ranks of one process that have not left it yet */
	_Alignas(LINE_BYTES) _Atomic uint32_t
		news;                          /* grows with each change that its owner waits for */
	_Atomic uint32_t sleepers[NEWS_KINDS]; /* threads of the owner that wait for them */
	int peers, own;                        /* of the owner, and its place among them */
	channel to[]; /* [peers], then a set of peers for each kind of news, then the room from the
		       * next page on */
} area;

/* How to find the memory of a rank; travels as it is. */
typedef struct address {
	char host[HOST_BYTES];
	uint64_t nonce, bytes;
	int64_t pid, fd; /* fd < 0: it is not shared */
} address;

/* The area of a peer; a NULL: it is not seen. */
typedef struct seen_area {
	area *a;
	size_t bytes;
	int place; /* of this rank among its owner's peers */
} seen_area;

struct shared_window {
	comm *c;
	mem *m;
	peer_list p;
	size_t room_bytes, bytes; /* for each peer; of own */
	area *own;
	bool inside;   /* all ranks are threads of this process */
	int fd;        /* the file of own, until all are connected */
	seen_area *of; /* [peers] */
	/* until all are connected, [size] */
	void *address;        /* or, inside, a process_pointer */
	int32_t *sent, *told; /* 1 + the place of that rank in the list of this one, */
			      /* and of this one in its list; 0: not seen */
};

/* A line of the cache has one kind of news alone. */
static size_t news_bytes(int peers)
{
	const size_t bytes = rank_set_words(peers) * sizeof(uint64_t);
	return (bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
}

static size_t head_bytes(int peers)
{
	const size_t bytes =
		sizeof(area) + (size_t)peers * sizeof(channel) + NEWS_KINDS * news_bytes(peers);
	return (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

uint64_t shared_window_most_bytes(size_t bytes, int peers, int ranks)
{
	const uint64_t n = (uint64_t)peers, p = (uint64_t)ranks;
	return sizeof(shared_window) + n * sizeof(seen_area) +
	       p * (sizeof(address) + 2 * sizeof(int32_t)) + head_bytes(peers) + (n - 1) * bytes;
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
	if (c->shares_memory && !w->inside && c->size <= MOST_RANKS)
		w->own = map_file(w);
	if (!w->own)
		w->own = map_here(w, e);
	if (!w->own)
		return ST_RESOURCE;
	mem_hold(w->m, w->bytes);
	w->own->users = 1;
	w->own->peers = w->p.count;
	w->own->own = w->p.own;
	for (int i = 0; i < w->p.count; i++)
		w->own->to[i].rank = peers_rank(&w->p, i);
	return ST_OK;
}

/* This rank has no need any more of the memory of a rank. */
static void leave(const shared_window *w, area *a, size_t bytes)
{
	if (a && (!w->inside || atomic_fetch_sub(&a->users, 1) == 1))
		(void)munmap(a, bytes);
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
	w->of = mem_array(m, (size_t)p->count, sizeof *w->of, "exchange", e);
	w->address = mem_array(m, size, w->inside ? sizeof(process_pointer) : sizeof(address),
			       "exchange", e);
	w->sent = mem_array(m, size, sizeof *w->sent, "exchange", e);
	w->told = mem_array(m, size, sizeof *w->told, "exchange", e);
	return w->of && w->address && w->sent && w->told ? take_own(w, e) : ST_RESOURCE;
}

/* What only connecting takes. */
static void drop_addresses(shared_window *w)
{
	if (w->fd >= 0)
		(void)close(w->fd);
	w->fd = -1;
	mem_free(w->m, w->address);
	mem_free(w->m, w->sent);
	mem_free(w->m, w->told);
	w->address = NULL;
	w->sent = w->told = NULL;
}

void shared_window_close(shared_window *w)
{
	if (!w)
		return;
	for (int i = 0; w->of && i < w->p.count; i++)
		leave(w, w->of[i].a, w->of[i].bytes);
	if (w->own)
		mem_drop(w->m, w->bytes);
	leave(w, w->own, w->bytes);
	drop_addresses(w);
	mem_free(w->m, w->of);
	mem_free(w->m, w);
}

/* --------------------------------------------------------------------------------- connecting */

static address address_of(const shared_window *w)
{
	address a = { .nonce = w->own->nonce, .bytes = w->bytes, .pid = getpid(), .fd = w->fd };
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

/* Is the memory as long as its head says? */
static bool is_sound(const shared_window *w, const area *a, uint64_t bytes)
{
	const uint64_t n = (uint64_t)a->peers;
	return a->peers > 0 && a->peers <= w->c->size && a->own >= 0 && a->own < a->peers &&
	       bytes == head_bytes(a->peers) + (n - 1) * w->room_bytes;
}

/* The memory of a rank of this host; NULL: it is not to be seen. */
static area *map_of(const shared_window *w, const address *at)
{
	char path[64];
	struct stat st;
	area *a = NULL;
	if (w->fd < 0 || at->fd < 0 || at->bytes < sizeof(area) ||
	    memcmp(at->host, w->c->host, sizeof at->host) != 0)
		return NULL;
	(void)snprintf(path, sizeof path, "/proc/%" PRId64 "/fd/%" PRId64, at->pid, at->fd);
	const int fd = leads_to_memory(path) ? open(path, O_RDWR | O_CLOEXEC) : -1;
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && (uint64_t)st.st_size == at->bytes)
		a = map(fd, at->bytes);
	(void)close(fd);
	if (a && (a->nonce != at->nonce || !is_sound(w, a, at->bytes))) {
		(void)munmap(a, at->bytes);
		a = NULL;
	}
	return a;
}

static seen_area see(const shared_window *w, int rank)
{
	if (!w->inside) {
		const address *at = (const address *)w->address + rank;
		return (seen_area){ map_of(w, at), at->bytes, 0 };
	}
	const process_pointer *at = (const process_pointer *)w->address + rank;
	area *a = process_pointer_is_whole(at) ? at->at : NULL;
	return (seen_area){ a,
			    a ? head_bytes(a->peers) + ((size_t)a->peers - 1) * w->room_bytes : 0,
			    0 };
}

static uint64_t draw(const comm *c)
{
	uint64_t seed = (uint64_t)getpid() << 32 ^ (uint64_t)(now_s() * 1e9) ^ (uint64_t)c->rank;
	return splitmix(&seed);
}

static status tell_addresses(shared_window *w)
{
	if (w->inside) {
		const process_pointer mine = process_pointer_to(w->own);
		return comm_allgather(w->c, &mine, w->address, sizeof mine);
	}
	const address mine = address_of(w);
	return comm_allgather(w->c, &mine, w->address, sizeof mine);
}

/* Two see each other, or neither sees the other. What a peer takes for the place of this rank has
 * to be that: the counts of another one would never come. */
static status keep_mutual(shared_window *w)
{
	for (int i = 0; i < w->p.count; i++) {
		seen_area *s = &w->of[i];
		const int32_t told = w->told[peers_rank(&w->p, i)];
		s->place = told - 1;
		if (!s->a || told == 0) {
			leave(w, s->a, s->bytes);
			s->a = NULL;
		} else if (told < 0 || told > s->a->peers ||
			   s->a->to[s->place].rank != w->c->rank) {
			return comm_noted(w->c, ST_PEER);
		}
	}
	return ST_OK;
}

status shared_window_connect(shared_window *w)
{
	comm *c = w->c;
	status rc = ST_OK;
	if (c->size <= MOST_RANKS || w->inside) {
		w->own->nonce = draw(c);
		if (w->inside)
			w->own->users = w->p.count;
		rc = tell_addresses(w);
		for (int i = 0; rc == ST_OK && i < w->p.count; i++) {
			const int rank = peers_rank(&w->p, i);
			if (i != w->p.own)
				w->of[i] = see(w, rank);
			w->sent[rank] = w->of[i].a ? i + 1 : 0;
		}
		if (rc == ST_OK)
			rc = comm_alltoall(c, w->sent, w->told, sizeof *w->told);
		if (rc == ST_OK)
			rc = keep_mutual(w);
	}
	drop_addresses(w);
	return rc;
}

bool shared_window_with(const shared_window *w, int peer)
{
	return w->of[peer].a != NULL;
}

/* In the owner's memory; it has no room for itself. */
static unsigned char *room(const shared_window *w, area *a, int to)
{
	const size_t at = (size_t)(to < a->own ? to : to - 1);
	return (unsigned char *)a + head_bytes(a->peers) + at * w->room_bytes;
}

unsigned char *shared_window_to(const shared_window *w, int peer)
{
	return room(w, w->own, peer);
}

unsigned char *shared_window_from(const shared_window *w, int peer)
{
	return room(w, w->of[peer].a, w->of[peer].place);
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

static atomic_uint_fast64_t *news_of(area *a, shared_news kind)
{
	unsigned char *first = (unsigned char *)&a->to[a->peers];
	return (void *)(first + (size_t)kind * news_bytes(a->peers));
}

/* This rank has done something for the owner. */
static void tell(const seen_area *s, shared_news kind)
{
	atomic_fetch_or(&news_of(s->a, kind)[s->place / RANK_SET_BITS], rank_set_bit(s->place));
	ring(s->a, 1U << kind);
}

/* Asked for in vain most of the time: then the line stays in both caches. */
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
	tell(&w->of[to], NEWS_SENT);
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
	tell(s, NEWS_FREED);
}
