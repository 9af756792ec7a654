/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A clock of its own, events in its order, and actors: the threads of all hosts, as coroutines of
 * one thread. One simulation a process, whose state is static. Nothing here depends on real time
 * or on addresses, so that the same run takes the same times again. */
#ifndef HETSORT_SIM_ENGINE_H
#define HETSORT_SIM_ENGINE_H

#include "events.h"
#include "platform.h"

typedef struct actor actor;

/* What a host is at the moment, and what it has done. */
typedef struct host {
	sim_host is;
	int number;
	bool stopped;
	double disk_free_s, out_free_s, in_free_s; /* free from then on */
	double busy_s, disk_s, out_s, in_s;        /* processors, disk, and both ways of the link */
	actor *computing, *napping;
	unsigned actors;
	uint64_t working;  /* of its threads, with a processor or the disk */
	double advanced_s; /* until when what computes has been accounted for */
	double ends_s;     /* the first work that does */
	double timer_s;    /* the next of its timers */
	uint64_t news;     /* messages that came through, or work of a thread, so far */
	lane departing, leaving, arriving, landing; /* of messages from here, and to here */
} host;

/* engine_open - simulate this platform, which stays the caller's. What actors owe is charged
 * together up to least_work_s. engine_platform - return it, or an empty one. */
status engine_open(const platform *p, double least_work_s, err *e);
const platform *engine_platform(void);

/* engine_host - of this number. engine_here - of the actor that runs. */
host *engine_host(int number);
host *engine_here(void);

/* engine_now_s - of the actor that runs, or of the event. */
double engine_now_s(void);

/* engine_at - call fn(arg) at this time. Nothing runs beside it. events.h has those in order. */
void engine_at(double at_s, event_fn *fn, void *arg);

/* engine_next_change_s - when the platform changes next, for what waits for a link or a host;
 * INFINITY if it does not change any more. */
double engine_next_change_s(void);

/* engine_run - run until all actors have ended, or until nothing can happen any more because all of
 * them wait or only nap. Return the number of actors that have not ended. */
uint64_t engine_run(void);

/* actor_self - the one that runs; NULL outside the simulation. */
actor *actor_self(void);

/* actor_start - a thread of this host; NULL without memory. actor_join - frees it. */
actor *actor_start(host *h, void *(*fn)(void *), void *arg);
void *actor_join(actor *a);

/* actor_wait - of the actor that runs: until it is woken, or until this time (INFINITY: no limit);
 * was it woken? actor_wake - it goes on then; not a second time. */
bool actor_wait(double until_s);
void actor_wake(actor *a, double at_s);

/* actor_wait_for - the same in a queue: what others name, first come, first served. actor_wake_one
 * - the first one in it; was there any? */
bool actor_wait_for(const void *what, double until_s);
bool actor_wake_one(const void *what);

/* actor_sleep - of the actor that runs. */
void actor_sleep(double until_s);

/* actor_compute - so many seconds of a processor of speed 1, of which the threads of a host get
 * equal parts. actor_owe - the same for what is too short for an event of its own: it is paid with
 * others, or by actor_pay, before it waits. actor_cpu_s - what it has had. */
void actor_compute(double s);
void actor_owe(double s);
void actor_pay(void);
double actor_cpu_s(void);

/* actor_nap - a nap while it waits for others: until there is news of its host, and half a nap
 * more, since a real one would notice that late on average. host_news - there is. What the actor
 * does after a nap is no news to others that nap, until it acts: it may only look. */
void actor_nap(double s);
void actor_acts(void);
void host_news(host *h);

#endif
