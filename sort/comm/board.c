/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An entry for each rank: who is here is looked at when somebody asks. Memory: 150 bytes a rank. */
#include "board.h"
#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

typedef struct entry {
	comm *here; /* NULL: in another process, or it has left */
	rank_seen seen;
} entry;

static struct {
	pthread_mutex_t lock;
	entry *of;
	int size;
} board = { .lock = PTHREAD_MUTEX_INITIALIZER };

void board_open(int size)
{
	pthread_mutex_lock(&board.lock);
	board.of = calloc((size_t)size, sizeof *board.of);
	board.size = board.of ? size : 0;
	pthread_mutex_unlock(&board.lock);
}

void board_close(void)
{
	pthread_mutex_lock(&board.lock);
	free(board.of);
	board.of = NULL;
	board.size = 0;
	pthread_mutex_unlock(&board.lock);
}

/* Under the lock. */
static void look_at(entry *n)
{
	if (!n->here)
		return;
	n->seen.at = stages_look(&n->here->stages, now_s());
	n->seen.phase = atomic_load(&n->here->phase);
	n->seen.waiting = atomic_load(&n->here->waiting) > 0;
	memcpy(n->seen.host, n->here->host, sizeof n->seen.host);
}

void board_join(comm *c)
{
	pthread_mutex_lock(&board.lock);
	if (c->rank < board.size)
		board.of[c->rank].here = c;
	pthread_mutex_unlock(&board.lock);
}

void board_leave(const comm *c)
{
	pthread_mutex_lock(&board.lock);
	if (c->rank < board.size) {
		look_at(&board.of[c->rank]);
		board.of[c->rank].here = NULL;
	}
	pthread_mutex_unlock(&board.lock);
}

void board_tell(int rank, const rank_seen *seen)
{
	pthread_mutex_lock(&board.lock);
	if (rank < board.size && !board.of[rank].here)
		board.of[rank].seen = *seen;
	pthread_mutex_unlock(&board.lock);
}

int board_look(board_take *take, void *to)
{
	pthread_mutex_lock(&board.lock);
	for (int i = 0; i < board.size; i++) {
		look_at(&board.of[i]);
		take(to, i, &board.of[i].seen);
	}
	const int size = board.size;
	pthread_mutex_unlock(&board.lock);
	return size;
}
