/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Events, see events.h. A node of the heap has four adjacent children. A process has one set of
 * events. */
#include "events.h"

#include <stdlib.h>

enum { FIRST_ROOM = 16, CHILDREN = 4 };

static struct {
	event *heap;
	size_t n, room;
	event *now; /* events of the present time; those before `at` are done */
	size_t at, now_n, now_room;
	uint64_t count;
} all;

/* Double the size of an array, and return it. End the program without memory, because the callers
 * cannot report a failure. */
static void *events_grow(void *old, size_t *room, size_t bytes)
{
	*room = *room ? 2 * *room : FIRST_ROOM;
	void *p = realloc(old, *room * bytes);
	if (!p)
		abort();
	return p;
}

static bool event_before(const event *a, const event *b)
{
	return a->at_s < b->at_s || (a->at_s == b->at_s && a->number < b->number);
}

static void heap_put(event e)
{
	if (all.n == all.room)
		all.heap = events_grow(all.heap, &all.room, sizeof *all.heap);
	size_t i = all.n++;
	for (; i > 0 && event_before(&e, &all.heap[(i - 1) / CHILDREN]); i = (i - 1) / CHILDREN)
		all.heap[i] = all.heap[(i - 1) / CHILDREN];
	all.heap[i] = e;
}

/* Replace the first event of the heap by e. */
static void heap_replace(event e)
{
	size_t i = 0;
	for (size_t c; (c = CHILDREN * i + 1) < all.n; i = c) {
		const size_t end = c + CHILDREN < all.n ? c + CHILDREN : all.n;
		for (size_t k = c + 1; k < end; k++)
			if (event_before(&all.heap[k], &all.heap[c]))
				c = k;
		if (!event_before(&all.heap[c], &e))
			break;
		all.heap[i] = all.heap[c];
	}
	all.heap[i] = e;
}

/* Mark, as the function of an entry, that the entry represents a lane. Never called. */
static void stand_in(void *lane_)
{
	(void)lane_;
}

static event standing_in(lane *l)
{
	const lane_event *e = &l->ring[l->at];
	return (event){ e->at_s, e->number, 0, stand_in, l };
}

void events_add_in(lane *l, double at_s, void *arg)
{
	const lane_event e = { at_s, all.count++, arg };
	if (l->n && at_s < l->ring[(l->at + l->n - 1) & (l->room - 1)].at_s) {
		heap_put((event){ at_s, e.number, 0, l->fn, arg });
		return;
	}
	const size_t old = l->room;
	if (l->n == l->room) {
		l->ring = events_grow(l->ring, &l->room, sizeof *l->ring);
		for (size_t i = 0; i < l->at; i++) /* move the entries that had wrapped around */
			l->ring[old + i] = l->ring[i];
	}
	l->ring[(l->at + l->n++) & (l->room - 1)] = e;
	if (l->n == 1)
		heap_put(standing_in(l));
}

void events_add(event e, double now_s)
{
	e.number = all.count++;
	if (e.at_s > now_s) {
		heap_put(e);
		return;
	}
	if (all.at == all.now_n)
		all.at = all.now_n = 0;
	if (all.now_n == all.now_room)
		all.now = events_grow(all.now, &all.now_room, sizeof *all.now);
	all.now[all.now_n++] = e;
}

/* At equal times, events of the heap come first, because they were added earlier. */
bool events_next(event *e)
{
	if (all.at < all.now_n && (all.n == 0 || event_before(&all.now[all.at], &all.heap[0]))) {
		*e = all.now[all.at++];
		return true;
	}
	if (all.n == 0)
		return false;
	*e = all.heap[0];
	lane *l = e->fn == stand_in ? e->arg : NULL;
	if (l) {
		const lane_event first = l->ring[l->at];
		*e = (event){ first.at_s, first.number, 0, l->fn, first.arg };
		l->at = (l->at + 1) & (l->room - 1);
		l->n--;
	}
	if (l && l->n)
		heap_replace(standing_in(l));
	else if (--all.n)
		heap_replace(all.heap[all.n]);
	return true;
}

uint64_t events_pending(void)
{
	return all.n + (all.now_n - all.at);
}

uint64_t events_count(void)
{
	return all.count;
}
