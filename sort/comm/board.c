/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An entry for each rank: who is here is looked at when somebody asks. Memory: 150 bytes a rank. */
#include "board.h"
#include "base/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct entry {
	comm *here; /* NULL: in another process, or it has left */
	rank_seen seen;
	double heard_s; /* when, by the clock; 0: it is, or was, here */
} entry;

/* Ranks in other processes tell of themselves so often at least, unless they hang. */
static const double BEAT_S = 0.5;

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
	n->seen.at = progress_look(&n->here->progress, moment_now());
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
		board.of[rank] = (entry){ .seen = *seen, .heard_s = now_s() };
	pthread_mutex_unlock(&board.lock);
}

/* What was told a moment ago, as it is now. */
static rank_seen seen_now(const entry *n)
{
	rank_seen seen = n->seen;
	const double age_s = n->heard_s > 0 ? now_s() - n->heard_s : 0;
	if (seen.at.left_s > 0)
		seen.at.left_s = fmax(seen.at.left_s - fmin(age_s, BEAT_S), 0);
	return seen;
}

int board_look(board_take *take, void *to)
{
	pthread_mutex_lock(&board.lock);
	for (int i = 0; i < board.size; i++) {
		look_at(&board.of[i]);
		const rank_seen seen = seen_now(&board.of[i]);
		take(to, i, &seen);
	}
	const int size = board.size;
	pthread_mutex_unlock(&board.lock);
	return size;
}
