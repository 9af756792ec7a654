/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The shared window: memory through which ranks of one host exchange blocks. A sender writes a
 * block into a slot of this memory, and the receiver reads it there. So no network copies these
 * blocks, and a waiting rank can sleep until a peer wakes it. Blocks for ranks of other hosts are
 * written into such slots too, and then sent as messages. This file also has sets of ranks. */
#ifndef HETSORT_COMM_SHARED_WINDOW_H
#define HETSORT_COMM_SHARED_WINDOW_H

#include "base/mem.h"
#include "comm.h"

/* A set of ranks has one bit for each. A search looks at 64 at a time. */
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

/* News from another rank: it has sent a block to this rank, or has freed a block of this rank. */
typedef enum shared_news { NEWS_SENT, NEWS_FREED, NEWS_KINDS } shared_news;

enum { NEWS_ANY = (1 << NEWS_KINDS) - 1 }; /* a bit for each kind */

/* shared_window_open - allocate the memory of this rank: `bytes` (a multiple of 8) for blocks to
 * each other rank. Not collective. Memory that cannot be shared is private. */
status shared_window_open(shared_window **out, comm *c, mem *m, size_t bytes, err *e);

/* shared_window_connect - collective, after all ranks have opened n windows each: find out which
 * ranks see each other's memory. Window i of a rank belongs to the windows i of the others. */
status shared_window_connect(shared_window *const *w, size_t n, err *e);

/* shared_window_with - return whether this rank and that rank see each other's memory. */
bool shared_window_with(const shared_window *w, int rank);

/* shared_window_to - return this rank's memory for blocks to a rank. */
unsigned char *shared_window_to(const shared_window *w, int rank);

/* shared_window_from - return the memory in which a rank writes blocks to this rank. That rank must
 * share its memory with this rank. */
unsigned char *shared_window_from(const shared_window *w, int rank);

/* The next functions are for ranks that share memory with this rank. In each direction, blocks sent
 * and blocks freed are counted. */

/* shared_window_send - send one more block: `bytes` at buf, in the memory of shared_window_to. */
status shared_window_send(shared_window *w, int to, unsigned char *buf, size_t bytes);

/* shared_window_freed - return how many blocks of this rank that rank has freed. */
uint64_t shared_window_freed(const shared_window *w, int to);

/* shared_window_sent - return how many blocks that rank has sent to this rank. */
uint64_t shared_window_sent(const shared_window *w, int from);

/* shared_window_free - report that this rank no longer needs the first `blocks` blocks of a
 * rank. */
void shared_window_free(shared_window *w, int from, uint64_t blocks);

/* A thread of the rank that receives blocks waits for one rank at a time, and only that rank wakes
 * it. A thread that sends blocks waits for any rank that has freed one. */

/* shared_window_await - name the rank whose block is awaited, -1 for none. Call it before looking
 * whether this block has arrived. */
void shared_window_await(shared_window *w, int from);

/* shared_window_report - give this rank news of a rank, such as a message from it. Any thread. */
void shared_window_report(shared_window *w, shared_news kind, int rank);

/* shared_window_news - add to `who`, a set of ranks, those that have freed blocks since the last
 * call. Only one thread may ask. */
void shared_window_news(shared_window *w, uint64_t *who);

/* shared_window_look - return a value for shared_window_sleep. Call it before looking for news, so
 * that later news prevents the sleep. */
uint32_t shared_window_look(const shared_window *w);

/* shared_window_sleep - sleep until there is news of these kinds since shared_window_look returned
 * `looked`, a thread has called shared_window_wake, or a second has passed. */
void shared_window_sleep(shared_window *w, uint32_t looked, unsigned kinds);
void shared_window_wake(shared_window *w);

void shared_window_close(shared_window *w);

/* shared_window_most_bytes - return an upper bound of the bytes that shared_window_open
 * allocates. */
uint64_t shared_window_most_bytes(size_t bytes, int ranks);

#endif
