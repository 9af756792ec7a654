/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Simulated time: a clock, events in its order, and actors, which are the threads of all hosts run
 * as coroutines of one thread. A process has one simulation, whose state is static. Nothing depends
 * on real time or on addresses, so equal runs take equal simulated times. */
#ifndef HETSORT_SIM_ENGINE_H
#define HETSORT_SIM_ENGINE_H

#include "events.h"
#include "platform.h"

typedef struct actor actor;

/* A time that may change before it comes. Most deadlines move to later, so an event that is already
 * queued is kept: when it comes, it looks whether the deadline has come too. */
typedef struct deadline {
	double due_s;   /* INFINITY: never */
	double event_s; /* of the earliest event that is queued; INFINITY: none */
	event_fn *fn;   /* is called with `of` */
	void *of;
} deadline;

/* The present state of a host, and its totals. */
typedef struct host {
	sim_host is;
	int number;
	bool stopped;
	double disk_free_s, out_free_s, in_free_s; /* each is free from this time on */
	double busy_s, disk_s, out_s, in_s;        /* processors, disk, and both ways of the link */
	actor *computing, *napping;
	unsigned actors;
	uint64_t working;  /* threads that use a processor or the disk */
	double advanced_s; /* computing is accounted for up to this time */
	deadline ends;     /* of the first computation to end */
	uint64_t news;     /* messages that came through, or work of a thread, so far */
	lane departing, leaving, arriving, landing; /* of messages from here, and to here */
} host;

/* engine_open - simulate this platform, which stays the caller's. What actors owe is charged
 * together up to least_work_s. engine_platform - return it, or an empty one. */
status engine_open(const platform *p, double least_work_s, err *e);
const platform *engine_platform(void);

/* engine_host - return the host with this number. engine_here - that runs the current actor. */
host *engine_host(int number);
host *engine_here(void);

/* engine_now_s - return the time of the current actor, or of the event. */
double engine_now_s(void);

/* engine_at - call fn(arg) at this time; no actor runs during the call. */
void engine_at(double at_s, event_fn *fn, void *arg);

/* engine_next_change_s - return when the platform changes next, for an event that waits for a link
 * or a host; INFINITY if it does not change any more. */
double engine_next_change_s(void);

/* engine_run - run until all actors have ended, or until nothing can happen any more because all of
 * them wait or only nap. Return the number of actors that have not ended. */
uint64_t engine_run(void);

/* actor_self - return the current actor; NULL outside the simulation. */
actor *actor_self(void);

/* actor_start - start a thread of this host; NULL without memory. actor_join - wait for its end,
 * free it, and return its result. */
actor *actor_start(host *h, void *(*fn)(void *), void *arg);
void *actor_join(actor *a);

/* actor_wait - let the current actor wait until it is woken, or until this time (INFINITY: no
 * limit). Return whether it was woken. actor_wake - wake an actor at this time, once. */
bool actor_wait(double until_s);
void actor_wake(actor *a, double at_s);

/* actor_wait_for - wait in the queue of an address, in which the first to come is the first to be
 * woken. actor_wake_one - wake the first actor of a queue. Return whether there was any. */
bool actor_wait_for(const void *what, double until_s);
bool actor_wake_one(const void *what);

/* actor_sleep - let the current actor use the disk until this time. */
void actor_sleep(double until_s);

/* actor_compute - take this many seconds of a processor of speed 1. The threads of a host share its
 * processors equally. actor_owe - do so for work that is too short for an event of its own: it is
 * paid together with other work, or by actor_pay before the actor waits. actor_cpu_s - return the
 * processor time of the actor so far. */
void actor_compute(double s);
void actor_owe(double s);
void actor_pay(void);
double actor_cpu_s(void);

/* actor_nap - nap while waiting for others: until there is news of the host, and then for half a
 * nap, since a real nap would notice that late on average. host_news - report news to all that nap,
 * except for the current actor. An actor that has napped may only look: its work is news again
 * after it has called actor_acts. */
void actor_nap(double s);
void actor_acts(void);
void host_news(host *h);

#endif
