/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The engine of the simulation: a clock, events in the order of time, actors, and messages between
 * hosts. Actors are the threads of the simulated hosts; they run as coroutines of one real thread.
 * A process has one simulation, whose state is static. Nothing depends on real time or on
 * addresses, so equal jobs take equal simulated times. */
#ifndef HETSORT_SIM_ENGINE_H
#define HETSORT_SIM_ENGINE_H

#include "events.h"
#include "platform.h"

#include <math.h>

typedef struct actor actor;

/* A deadline that may be moved. Most deadlines move to a later time; then the queued event stays,
 * and when it comes, it checks whether the deadline has come, too. */
typedef struct deadline {
	double due_s;   /* INFINITY: never */
	double event_s; /* time of the earliest queued event; INFINITY: none */
	event_fn *fn;   /* called with `of` at due_s */
	void *of;
} deadline;

/* The present state of a host, and its totals. */
typedef struct host {
	sim_host is;
	int number;
	bool stopped;
	double disk_free_s, out_free_s, in_free_s; /* each is free from this time on */
	double busy_s, disk_s, out_s, in_s; /* use of processors, disk, and both ways of the link */
	actor *computing;
	unsigned actors;
	uint64_t working;  /* number of threads that use a processor or the disk */
	double advanced_s; /* computing is accounted for up to this time */
	deadline ends;     /* the end of the first computation */
	lane departing, leaving, arriving, landing; /* events of messages, see network.c */
} host;

/* A rank: a process on a host, and its threads. */
typedef struct process {
	host *h;
	int rank;
	actor *napping;
	uint64_t news; /* number of messages received and work steps done so far */
	double cpu_s;
} process;

/* engine_open - open the engine with a platform, which must outlive the engine. Short work of an
 * actor (actor_owe) is charged when its sum exceeds least_work_s. */
status engine_open(const platform *p, double least_work_s, err *e);

/* engine_platform - return the platform, or an empty one before engine_open. */
const platform *engine_platform(void);

/* engine_host - return the host with this number. */
host *engine_host(int number);

/* engine_process - return the process of this rank. */
process *engine_process(int rank);

/* engine_here - return the process of the current actor. */
process *engine_here(void);

/* engine_now_s - return the simulated time for the current actor, or for the current event outside
 * actors. */
double engine_now_s(void);

/* engine_at - call fn(arg) at this time; no actor runs during the call. */
void engine_at(double at_s, event_fn *fn, void *arg);

/* engine_next_change_s - return the time of the next change of the platform, for an event that
 * waits for a link or a host. INFINITY: there are no more changes. */
double engine_next_change_s(void);

/* engine_run - run until all actors have ended, or until nothing can happen any more because all
 * actors wait or only nap. Returns the number of actors that have not ended. */
uint64_t engine_run(void);

/* actor_self - return the current actor; NULL outside the simulation. */
actor *actor_self(void);

/* actor_start - start a thread of this process. Returns NULL without memory. */
actor *actor_start(process *of, void *(*fn)(void *), void *arg);

/* actor_join - wait for the end of an actor, free it, and return its result. */
void *actor_join(actor *a);

/* actor_wait - let the current actor wait until another actor wakes it, or until this time
 * (INFINITY: no limit). Returns whether it was woken. */
bool actor_wait(double until_s);

/* actor_wake - wake a waiting actor at this time. */
void actor_wake(actor *a, double at_s);

/* actor_wait_for - like actor_wait(), in the queue of an address, such as a lock. The first actor
 * in the queue is woken first. */
bool actor_wait_for(const void *what, double until_s);

/* actor_wake_one - wake the first actor in the queue of an address. Returns false if there is
 * none. */
bool actor_wake_one(const void *what);

/* actor_sleep - let the current actor use the disk until this time. */
void actor_sleep(double until_s);

/* actor_compute - do work that takes s seconds on a processor of speed 1. The threads of a host
 * share its processors equally. */
void actor_compute(double s);

/* actor_owe - add work that is too short for its own event. It is done (paid) together with other
 * such work, or by actor_pay() before the actor waits. */
void actor_owe(double s);
void actor_pay(void);

/* actor_cpu_s - return the processor time of the actor so far. */
double actor_cpu_s(void);

/* actor_nap - simulate a loop in which a thread naps for s seconds and then looks whether other
 * threads or messages have made progress (news of the process). The actor waits until there is
 * news, and then for s/2, which is the average delay of a real nap. */
void actor_nap(double s);

/* actor_acts - report that the current actor makes progress, so its work is news. After a nap, an
 * actor that only looks does not call this. */
void actor_acts(void);

/* process_news - end the naps of all actors of a process, except of the current one. */
void process_news(process *of);

/* ----------------------------------------------------------------------------------- messages
 *
 * A message passes the sender's port, the switch and the receiver's port. Each of these passes one
 * message after the other, in the order of their arrival. A message of one packet does not wait for
 * longer ones. A message inside a host takes no time: its ranks share memory. */

/* The headers of Ethernet, IP and TCP in each packet, and the bytes of the message in a packet. */
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

/* network_send - send a message, at this time at the earliest. Calls d->through(d->sender) when the
 * last byte has left its host, and d->through(d->receiver) when that byte has arrived. The message
 * waits while a link has no bandwidth, and is lost if a host has stopped. Returns ST_RESOURCE
 * without memory. */
status network_send(const delivery *d, double at_s);

#endif
