/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory that ranks of one host see together, for blocks from each to its peers: the sender fills a
 * slot in place, and the receiver reads it there. No block is copied by a network, and who waits
 * sleeps until something has changed. What ranks of other hosts get goes by messages, from the same
 * slots.
 */
#ifndef HETSORT_COMM_SHARED_WINDOW_H
#define HETSORT_COMM_SHARED_WINDOW_H

#include "base/mem.h"
#include "comm.h"

typedef struct shared_window shared_window;

/* What another rank has done: it has sent a block to this one, or freed one of this one's. */
typedef enum shared_news { NEWS_SENT, NEWS_FREED, NEWS_KINDS } shared_news;

enum { NEWS_ANY = (1 << NEWS_KINDS) - 1 }; /* a bit for each kind */

/* shared_window_open - room for `bytes` (a multiple of 8) from this rank to each other one of its
 * peers, whose list lives as long. Not collective. Where memory cannot be shared it is this rank's
 * own. */
status shared_window_open(shared_window **out, comm *c, mem *m, const peer_list *p, size_t bytes,
			  err *e);

/* shared_window_connect - collective, once all ranks have opened theirs: find out who sees whose.
 */
status shared_window_connect(shared_window *w);

/* From here on a peer is named by its place among the peers. */

/* shared_window_with - do this rank and another one see each other's memory? */
bool shared_window_with(const shared_window *w, int peer);

/* shared_window_to - where what goes to a peer is put. shared_window_from - what another one has
 * put for this rank, if they see each other's memory. */
unsigned char *shared_window_to(const shared_window *w, int peer);
unsigned char *shared_window_from(const shared_window *w, int peer);

/* Between ranks that see each other's memory, in each direction two counts, of blocks that have
 * been sent, and of those that the receiver does not need any more.
 *
 *   shared_window_send   one more block: bytes at buf, in the room of that rank
 *   shared_window_freed  how many of those sent the receiver has freed
 *   shared_window_sent   how many the other rank has sent
 *   shared_window_free   this rank has no need any more of the first `blocks` of them
 */
status shared_window_send(shared_window *w, int to, unsigned char *buf, size_t bytes);
uint64_t shared_window_freed(const shared_window *w, int to);
uint64_t shared_window_sent(const shared_window *w, int from);
void shared_window_free(shared_window *w, int from, uint64_t blocks);

/* shared_window_news - add to `who` (rank_set.h, of places) those peers that have done this since
 * it was last asked for. Of each kind one thread may ask. */
void shared_window_news(shared_window *w, shared_news kind, uint64_t *who);

/* shared_window_look - to be called before looking at the counts. shared_window_sleep - unless
 * there has been news since that look: until there is some of these kinds, or somebody calls
 * shared_window_wake; a second at most. Any thread. */
uint32_t shared_window_look(const shared_window *w);
void shared_window_sleep(shared_window *w, uint32_t looked, unsigned kinds);
void shared_window_wake(shared_window *w);

void shared_window_close(shared_window *w);

/* shared_window_most_bytes - at most what shared_window_open allocates for so many peers. */
uint64_t shared_window_most_bytes(size_t bytes, int peers, int ranks);

#endif
