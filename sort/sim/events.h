/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Events in the order of their times; events of the same time in the order in which they were
 * added. The heap does not contain most events. Events of the present time wait in a queue. Events
 * that come in order, such as messages through a port, wait in lanes, of which the heap has only
 * the first event. */
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

/* events_add - add an event at now_s or later. */
void events_add(event e, double now_s);

/* events_add_in - add a call of the lane's function. An event out of order goes to the heap. */
void events_add_in(lane *l, double at_s, void *arg);

/* events_next - remove the first event. Returns false if none is left. */
bool events_next(event *e);

/* events_pending - return the number of entries in the queues. A lane that is not empty counts as
 * one. */
uint64_t events_pending(void);

/* events_count - return the number of events that were ever added. */
uint64_t events_count(void);

#endif
