/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The shared window: memory through which ranks of one host exchange blocks. A sender writes a
 * block into a slot of this memory, and the receiver reads it there. So no network copies these
 * blocks, and a waiting rank can sleep until a peer wakes it. Blocks for ranks of other hosts are
 * written into such slots too, and then sent as messages. This file also has sets of ranks, which
 * contain the peers with news. */
#ifndef HETSORT_COMM_SHARED_WINDOW_H
#define HETSORT_COMM_SHARED_WINDOW_H

#include "base/mem.h"
#include "comm.h"

/* A set of ranks, or of places of peers, has one bit for each. A search looks at 64 at a time. */
enum { RANK_SET_BITS = 64 }; /* in a word */

/* rank_set_words - return the number of words of a set of `ranks` ranks. */
static inline size_t rank_set_words(int ranks)
{
	return ((size_t)ranks + RANK_SET_BITS - 1) / RANK_SET_BITS;
}

static inline uint64_t rank_set_bit(int rank)
{
	return UINT64_C(1) << rank % RANK_SET_BITS;
}

static inline void rank_set_add(uint64_t *s, int rank)
{
	s[rank / RANK_SET_BITS] |= rank_set_bit(rank);
}

static inline void rank_set_remove(uint64_t *s, int rank)
{
	s[rank / RANK_SET_BITS] &= ~rank_set_bit(rank);
}

/* rank_set_next - return the first member in [from, end), or `end` if none exists. */
static inline int rank_set_next(const uint64_t *s, int from, int end)
{
	while (from < end) {
		const uint64_t left = s[from / RANK_SET_BITS] >> from % RANK_SET_BITS;
		if (left) {
			from += __builtin_ctzll(left);
			return from < end ? from : end;
		}
		from += RANK_SET_BITS - from % RANK_SET_BITS;
	}
	return end;
}

typedef struct shared_window shared_window;

/* News from a peer: it has sent a block to this rank, or has freed a block of this rank. */
typedef enum shared_news { NEWS_SENT, NEWS_FREED, NEWS_KINDS } shared_news;

enum { NEWS_ANY = (1 << NEWS_KINDS) - 1 }; /* a bit for each kind */

/* shared_window_open - allocate the memory of this rank: `bytes` (a multiple of 8) for blocks to
 * each peer but itself. p->rank must outlive the window. Not collective. Memory that cannot be
 * shared is private. */
status shared_window_open(shared_window **out, comm *c, mem *m, const peer_list *p, size_t bytes,
			  err *e);

/* shared_window_connect - collective, after all ranks have opened their windows: find out which
 * ranks see each other's memory. */
status shared_window_connect(shared_window *w);

/* From here on, peers (`peer`, `to`, `from`) are named by their places in the list of peers. */

/* shared_window_with - return whether this rank and the peer see each other's memory. */
bool shared_window_with(const shared_window *w, int peer);

/* shared_window_to - return this rank's memory for blocks to a peer. */
unsigned char *shared_window_to(const shared_window *w, int peer);

/* shared_window_from - return the memory in which a peer writes blocks to this rank. The peer must
 * share its memory with this rank. */
unsigned char *shared_window_from(const shared_window *w, int peer);

/* The functions below are for peers that share memory with this rank. In each direction, blocks
 * sent and blocks freed are counted. */

/* shared_window_send - send one more block: `bytes` at buf, in the memory of shared_window_to. */
status shared_window_send(shared_window *w, int to, unsigned char *buf, size_t bytes);

/* shared_window_freed - return how many blocks of this rank the peer has freed. */
uint64_t shared_window_freed(const shared_window *w, int to);

/* shared_window_sent - return how many blocks the peer has sent to this rank. */
uint64_t shared_window_sent(const shared_window *w, int from);

/* shared_window_free - report that this rank no longer needs the peer's first `blocks` blocks. */
void shared_window_free(shared_window *w, int from, uint64_t blocks);

/* shared_window_news - add to `who`, a set of places, the peers with news of this kind since the
 * last call. Only one thread may ask for news of a kind. */
void shared_window_news(shared_window *w, shared_news kind, uint64_t *who);

/* shared_window_look - return a value for shared_window_sleep. Call it before reading counts, so
 * that later news prevents the sleep. */
uint32_t shared_window_look(const shared_window *w);

/* shared_window_sleep - sleep until news of these kinds has arrived since shared_window_look
 * returned `looked`, a thread has called shared_window_wake, or a second has passed. Any thread of
 * the rank may call both. */
void shared_window_sleep(shared_window *w, uint32_t looked, unsigned kinds);
void shared_window_wake(shared_window *w);

void shared_window_close(shared_window *w);

/* shared_window_most_bytes - return an upper bound of the bytes that shared_window_open
 * allocates. */
uint64_t shared_window_most_bytes(size_t bytes, int peers, int ranks);

#endif
