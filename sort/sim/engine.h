/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Simulated time: a clock, events in its order, actors, and messages between hosts. Actors are the
 * threads of all hosts, run as coroutines of one thread. A process has one simulation, whose state
 * is static. Nothing depends on real time or on addresses, so equal jobs take equal simulated
 * times. */
#ifndef HETSORT_SIM_ENGINE_H
#define HETSORT_SIM_ENGINE_H

#include "events.h"
#include "platform.h"

#include <math.h>

typedef struct actor actor;

/* A time that may change before it comes. Most deadlines move to a later time, so a queued event is
 * kept. When it comes, it checks whether the deadline has come too. */
typedef struct deadline {
	double due_s;   /* INFINITY: never */
	double event_s; /* of the earliest event that is queued; INFINITY: none */
	event_fn *fn;   /* called with `of` */
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
	deadline ends;     /* the end of the first computation */
	uint64_t news;     /* messages received and work done by threads so far */
	lane departing, leaving, arriving, landing; /* of messages from here, and to here */
} host;

/* engine_open - simulate this platform, which the caller keeps. Work that actors owe is charged
 * together, up to least_work_s. */
status engine_open(const platform *p, double least_work_s, err *e);

/* engine_platform - return the platform, or an empty one before engine_open. */
const platform *engine_platform(void);

/* engine_host - return the host with this number. */
host *engine_host(int number);

/* engine_here - return the host that runs the current actor. */
host *engine_here(void);

/* engine_now_s - return the time of the current actor, or of the event. */
double engine_now_s(void);

/* engine_at - call fn(arg) at this time; no actor runs during the call. */
void engine_at(double at_s, event_fn *fn, void *arg);

/* engine_next_change_s - return the time of the next change of the platform, for an event that
 * waits for a link or a host. INFINITY if it does not change any more. */
double engine_next_change_s(void);

/* engine_run - run until all actors have ended, or until nothing can happen any more because all of
 * them wait or only nap. Returns the number of actors that have not ended. */
uint64_t engine_run(void);

/* actor_self - return the current actor; NULL outside the simulation. */
actor *actor_self(void);

/* actor_start - start a thread of this host. Returns NULL without memory. */
actor *actor_start(host *h, void *(*fn)(void *), void *arg);

/* actor_join - wait for the end of an actor, free it, and return its result. */
void *actor_join(actor *a);

/* actor_wait - let the current actor wait until it is woken, or until this time (INFINITY: no
 * limit). Returns whether it was woken. */
bool actor_wait(double until_s);

/* actor_wake - wake an actor at this time, once. */
void actor_wake(actor *a, double at_s);

/* actor_wait_for - wait in the queue of an address, in which the first to come is the first to be
 * woken. Returns whether it was woken. */
bool actor_wait_for(const void *what, double until_s);

/* actor_wake_one - wake the first actor of a queue. Returns whether there was one. */
bool actor_wake_one(const void *what);

/* actor_sleep - let the current actor use the disk until this time. */
void actor_sleep(double until_s);

/* actor_compute - use a processor of speed 1 for s seconds. The threads of a host share its
 * processors equally. */
void actor_compute(double s);

/* actor_owe - compute as well, for work that is too short for an event of its own. It is paid
 * together with other work, or by actor_pay before the actor waits. */
void actor_owe(double s);
void actor_pay(void);

/* actor_cpu_s - return the processor time of the actor so far. */
double actor_cpu_s(void);

/* actor_nap - nap while waiting for others. The nap lasts until there is news of the host, and then
 * for half a nap, which is the average delay of a real nap. */
void actor_nap(double s);

/* actor_acts - let the work of the current actor be news. An actor that has napped may only look
 * around, so its work is not news before this call. */
void actor_acts(void);

/* host_news - report news to all actors that nap on a host, except the current one. */
void host_news(host *h);

/* ----------------------------------------------------------------------------------- messages
 *
 * A message passes the sender's port, the switch and the receiver's port. Each of these passes one
 * message after the other, in the order of their arrival; a message of one packet waits for none.
 */

/* Ethernet, IP and TCP add a header to each packet, which has this part of the message. */
enum { NETWORK_HEADER_BYTES = 66, NETWORK_PACKET_BYTES = 1448 };

/* network_bytes - return how many bytes a message of this size has on the wire. */
static inline double network_bytes(double bytes)
{
	return bytes + NETWORK_HEADER_BYTES * fmax(1, ceil(bytes / NETWORK_PACKET_BYTES));
}

typedef struct delivery {
	host *from, *to;
	double bytes;
	event_fn *through;
	void *sender, *receiver;
} delivery;

/* network_send - send a message at this time at the earliest. Calls through(sender) when its last
 * byte has left its host, and through(receiver) when that byte has arrived. Makes no call while a
 * link on the way has no bandwidth or a host has stopped. Returns ST_RESOURCE without memory. */
status network_send(const delivery *d, double at_s);

#endif
