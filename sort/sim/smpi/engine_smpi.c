/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The engine (engine.h) of a rank under SMPI. SimGrid runs actors, their work and their sleep under
 * its clock. SMPI gives each rank a copy of all static data, so this file has one host, which runs
 * this rank. Unlike in hetsim, news does not end naps, because messages do not report it. */
#include "sim/engine.h"

#include <math.h>
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/semaphore.h>
#include <stdlib.h>

struct actor {
	void *(*fn)(void *);
	void *arg, *result;
	double owes_s, cpu_s;
	bool ended, woken;
	sg_sem_t sem; /* the actor waits for it */
	const void *for_;
	actor *next, *next_woken;
};

static struct {
	const platform *p;
	host here;
	process mine;
	double least_work_s;
	actor *waiting; /* the queues of all addresses, as one list */
	actor *woken;   /* actors whose semaphore is not yet released */
} sim;

/* Return the current actor. SimGrid also needs this outside of actors, while it ends the process.
 */
actor *actor_self(void)
{
	return sg_actor_self_get_pid() > 0 ? sg_actor_self_get_data() : NULL;
}

const platform *engine_platform(void)
{
	return sim.p;
}

process *engine_here(void)
{
	return &sim.mine;
}

double engine_now_s(void)
{
	const actor *a = actor_self();
	return simgrid_get_clock() + (a ? a->owes_s / sim.here.is.speed : 0);
}

/* ------------------------------------------------------------------------------------ actors */

static actor *new_actor(void *(*fn)(void *), void *arg)
{
	actor *a = calloc(1, sizeof *a);
	if (a) {
		a->sem = sg_sem_init(0);
		a->fn = fn;
		a->arg = arg;
	}
	return a;
}

/* Release the semaphores of woken actors. Other actors may run in each call of SimGrid, so this is
 * delayed until the current actor waits. */
static void release_woken(void)
{
	for (actor *a; (a = sim.woken);) {
		sim.woken = a->next_woken;
		sg_sem_release(a->sem);
	}
}

bool actor_wait(double until_s)
{
	actor *a = actor_self();
	release_woken();
	if (until_s == INFINITY)
		sg_sem_acquire(a->sem);
	else if (sg_sem_acquire_timeout(a->sem, fmax(until_s - simgrid_get_clock(), 0)) != 0 &&
		 a->woken)
		sg_sem_acquire(a->sem); /* woken at the time limit: take the semaphore */
	const bool woken = a->woken;
	a->woken = false;
	return woken;
}

static void smpi_actor_main(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	actor *a = actor_self();
	a->result = a->fn(a->arg);
	actor_pay();
	a->ended = true;
	actor_wake_one(a); /* the actor that joins it */
	release_woken();
}

actor *actor_start(process *of, void *(*fn)(void *), void *arg)
{
	actor_pay();
	actor *a = new_actor(fn, arg);
	(void)of;
	if (!a)
		return NULL;
	sg_actor_t is = sg_actor_init("thread", sg_host_self());
	sg_actor_set_data(is, a);
	sg_actor_start(is, smpi_actor_main, 0, NULL);
	return a;
}

void *actor_join(actor *a)
{
	actor_pay();
	while (!a->ended)
		actor_wait_for(a, INFINITY);
	void *result = a->result;
	sg_sem_destroy(a->sem);
	free(a);
	return result;
}

/* ------------------------------------------------------------------------------------ queues */

bool actor_wait_for(const void *what, double until_s)
{
	actor *a = actor_self(), **at = &sim.waiting;
	a->for_ = what;
	a->next = NULL;
	while (*at)
		at = &(*at)->next;
	*at = a;
	if (actor_wait(until_s))
		return true;
	for (at = &sim.waiting; *at && *at != a;)
		at = &(*at)->next;
	if (*at)
		*at = a->next;
	return false;
}

bool actor_wake_one(const void *what)
{
	actor **at = &sim.waiting, **last = &sim.woken;
	while (*at && (*at)->for_ != what)
		at = &(*at)->next;
	actor *a = *at;
	if (!a)
		return false;
	*at = a->next;
	while (*last)
		last = &(*last)->next_woken;
	*last = a;
	a->woken = true;
	a->next_woken = NULL;
	return true;
}

/* ---------------------------------------------------------------------------- work and sleep */

void actor_compute(double s)
{
	release_woken();
	if (!(s > 0))
		return;
	actor_self()->cpu_s += s / sim.here.is.speed;
	sim.here.busy_s += s / sim.here.is.speed;
	sim.mine.cpu_s = sim.here.busy_s;
	sg_actor_execute(s * PLATFORM_XML_OPS);
}

void actor_pay(void)
{
	actor *a = actor_self();
	const double s = a->owes_s;
	a->owes_s = 0;
	actor_compute(s);
}

void actor_owe(double s)
{
	actor *a = actor_self();
	a->owes_s += s;
	if (a->owes_s > sim.least_work_s)
		actor_pay();
}

double actor_cpu_s(void)
{
	const actor *a = actor_self();
	return a->cpu_s + a->owes_s / sim.here.is.speed;
}

void actor_sleep(double until_s)
{
	actor_pay();
	if (until_s > simgrid_get_clock())
		sg_actor_sleep_until(until_s);
}

void actor_nap(double s)
{
	actor_pay();
	sg_actor_sleep_for(s);
}

void actor_acts(void)
{
}

/* -------------------------------------------------------------------------------------- host */

/* Open the engine of the current actor, a rank that SMPI has started on host hN of the platform. */
status engine_open(const platform *p, double least_work_s, err *e)
{
	const int n = atoi(sg_host_self_get_name() + 1);
	actor *a = new_actor(NULL, NULL);
	if (!a)
		return err_set(e, ST_RESOURCE, "no memory for a rank");
	if (n >= p->hosts)
		return err_set(e, ST_REFUSED, "the platform has no host %d", n);
	if (p->ranks != p->hosts)
		return err_set(e, ST_REFUSED, "only one rank per host");
	sim.p = p;
	sim.least_work_s = least_work_s;
	sim.here.is = p->host[n];
	sim.here.number = n;
	sim.mine = (process){ .h = &sim.here, .rank = n };
	sg_actor_self_set_data(a);
	return ST_OK;
}
