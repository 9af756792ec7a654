/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Events in the order of their times; events of the same time in the order in which they were
 * added. To keep the heap small, events of the present time are in a queue. Events that are added
 * in the order of their times, such as messages through a port, are in lanes. The heap contains
 * only the first event of a lane. */
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

/* A queue of calls of one function, first in, first out. */
typedef struct lane {
	event_fn *fn;
	lane_event *ring;   /* [room], a power of 2 */
	size_t at, n, room; /* first entry, entries */
} lane;

/* events_add - add an event at now_s or later. */
void events_add(event e, double now_s);

/* events_add_in - add a call of the lane's function. A call that is earlier than the last one goes
 * to the heap. */
void events_add_in(lane *l, double at_s, void *arg);

/* events_next - remove the first event. Returns false if none is left. */
bool events_next(event *e);

/* events_pending - return the number of events that are left. A lane that is not empty counts as
 * one. */
uint64_t events_pending(void);

/* events_count - return the number of events that were ever added. */
uint64_t events_count(void);

#endif
