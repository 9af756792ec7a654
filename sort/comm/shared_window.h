/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory that ranks of one host share, for blocks from each rank to its peers. The sender fills a
 * slot in place, and the receiver reads it there. No network copies a block, and a waiting rank
 * sleeps until something has changed. Blocks for ranks of other hosts are sent as messages, from
 * the same slots. Also sets of ranks, in which the peers with news are found. */
#ifndef HETSORT_COMM_SHARED_WINDOW_H
#define HETSORT_COMM_SHARED_WINDOW_H

#include "base/mem.h"
#include "comm.h"

/* A set of ranks, or of places of ranks, has one bit for each. Members among thousands of ranks are
 * found without a look at all of them. */
enum { RANK_SET_BITS = 64 }; /* of a word */

/* rank_set_words - return the number of words of a set. */
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

/* rank_set_next - return the first member in [from, end), or `end`. */
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

/* An action of another rank: it has sent a block to this rank, or freed a block of this rank. */
typedef enum shared_news { NEWS_SENT, NEWS_FREED, NEWS_KINDS } shared_news;

enum { NEWS_ANY = (1 << NEWS_KINDS) - 1 }; /* a bit for each kind */

/* shared_window_open - allocate `bytes` (a multiple of 8) for each other peer of this rank. The
 * list of the peers must outlive the window. Not collective. If memory cannot be shared, only this
 * rank sees it. */
status shared_window_open(shared_window **out, comm *c, mem *m, const peer_list *p, size_t bytes,
			  err *e);

/* shared_window_connect - collective, after all ranks have opened their windows: find out which
 * ranks see each other's memory. */
status shared_window_connect(shared_window *w);

/* From here on a peer is named by its place among the peers. */

/* shared_window_with - return whether this rank and the peer see each other's memory. */
bool shared_window_with(const shared_window *w, int peer);

/* shared_window_to - return the memory for blocks to a peer. */
unsigned char *shared_window_to(const shared_window *w, int peer);

/* shared_window_from - return the memory with blocks of a peer that shares its memory. */
unsigned char *shared_window_from(const shared_window *w, int peer);

/* Ranks that see each other's memory count the blocks in each direction. */

/* shared_window_send - send one more block: bytes at buf, in the memory for that peer. */
status shared_window_send(shared_window *w, int to, unsigned char *buf, size_t bytes);

/* shared_window_freed - return how many of these blocks the peer has freed. */
uint64_t shared_window_freed(const shared_window *w, int to);

/* shared_window_sent - return how many blocks the peer has sent. */
uint64_t shared_window_sent(const shared_window *w, int from);

/* shared_window_free - report that this rank no longer needs the first `blocks` of them. */
void shared_window_free(shared_window *w, int from, uint64_t blocks);

/* shared_window_news - add to `who`, a set of places, the peers with news of this kind since the
 * last call. Only one thread may ask for news of a kind. */
void shared_window_news(shared_window *w, shared_news kind, uint64_t *who);

/* shared_window_look - return a value for shared_window_sleep; call it before reading counts. */
uint32_t shared_window_look(const shared_window *w);

/* shared_window_sleep - sleep until there is news of these kinds since that look, a thread calls
 * shared_window_wake, or a second has passed. Any thread. */
void shared_window_sleep(shared_window *w, uint32_t looked, unsigned kinds);
void shared_window_wake(shared_window *w);

void shared_window_close(shared_window *w);

/* shared_window_most_bytes - return an upper bound of the memory that shared_window_open
 * allocates. */
uint64_t shared_window_most_bytes(size_t bytes, int peers, int ranks);

#endif
