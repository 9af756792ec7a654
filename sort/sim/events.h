/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is to happen, by time, and of the same time in the order in which it was said. Most events
 * are not in the heap: those of now wait in a queue, and those that come in order, as messages do
 * through a port, in lanes, of which the heap has the first alone. */
#ifndef HETSORT_SIM_EVENTS_H
#define HETSORT_SIM_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void event_fn(void *arg);

typedef struct event {
	double at_s;
	uint64_t number; /* events_add() gives it */
	uint64_t turn;
	event_fn *fn;
	void *arg;
} event;

/* Calls of one function, first in, first out, in a ring. */
typedef struct lane_event {
	double at_s;
	uint64_t number;
	void *arg;
} lane_event;

typedef struct lane {
	event_fn *fn;
	lane_event *ring; /* [room], a power of 2 */
	size_t at, n, room;
} lane;

/* events_add - at now_s or later. events_add_in - a call of the lane's function; out of order it
 * goes to the heap. */
void events_add(event e, double now_s);
void events_add_in(lane *l, double at_s, void *arg);

/* events_next - take the first event; false if there is none. events_pending - how many entries the
 * queues have; a lane that is not empty counts as one. events_count - how many events were ever
 * added. */
bool events_next(event *e);
uint64_t events_pending(void);
uint64_t events_count(void);

#endif
