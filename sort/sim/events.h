/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Events in the order of their times; events of the same time in the order in which they were
 * added. Most events are not in the heap: events of the present time wait in a queue. Events that
 * come in order, as messages through a port do, wait in lanes: the heap has only the first event of
 * each lane. */
#ifndef HETSORT_SIM_EVENTS_H
#define HETSORT_SIM_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void event_fn(void *arg);

typedef struct event {
	double at_s;
	uint64_t number; /* set by events_add() */
	uint64_t turn;
	event_fn *fn;
	void *arg;
} event;

typedef struct lane_event {
	double at_s;
	uint64_t number;
	void *arg;
} lane_event;

/* Calls of one function, first in, first out. */
typedef struct lane {
	event_fn *fn;
	lane_event *ring; /* [room], a power of 2 */
	size_t at, n, room;
} lane;

/* events_add - add an event at now_s or later. events_add_in - add a call of the lane's function;
 * an event out of order goes to the heap. */
void events_add(event e, double now_s);
void events_add_in(lane *l, double at_s, void *arg);

/* events_next - take the first event; return false if none is left. events_pending - return the
 * number of entries in the queues; a lane that is not empty counts as one. events_count - return
 * the number of events that were ever added. */
bool events_next(event *e);
uint64_t events_pending(void);
uint64_t events_count(void);

#endif
