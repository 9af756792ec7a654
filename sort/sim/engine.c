/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What computes on a host shares its processors: with n threads on c of them each gets min(1, c /
 * n), which is worked out anew whenever n or the speed changes. */
#include "engine.h"
#include "coroutine.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { QUEUE_BITS = 16 };

/* A nap without any news ends by itself, the next one later. */
static const double FIRST_NAP_S = 20e-3, LONGEST_NAP_S = 1;

/* If nothing has changed for this time, nothing can happen any more. It is longer than any wait
 * that a thread ends by looking at the clock between naps, such as the wait for another job's lock.
 */
static const double IDLE_S = 600;

struct actor {
	coroutine co;
	host *h;
	void *(*fn)(void *);
	void *arg, *result;
	double owes_s, left_s, cpu_s;
	double longest_nap_s;
	double until_s; /* goes on then, if nobody wakes it */
	double timer_s; /* when the next of its timers ends */
	bool ended, woken;
	bool looking;     /* it naps, looks whether there is news, and naps again */
	bool works;       /* until its present wait ends: with a processor or a disk */
	uint64_t turn;    /* wakes of earlier waits are void */
	uint64_t seen;    /* of the host's news */
	const void *for_; /* what it waits for, in a queue */
	actor *joiner, *next;
};

static const platform none;

static struct {
	const platform *p;
	host *host;
	uint64_t actors;
	double now_s, least_work_s;
	double moved_s;   /* when something last changed, see moves() */
	uint64_t own;     /* events to come that wake threads, or end their waits and their work */
	uint64_t working; /* threads */
	bool acted;       /* a thread did more than look in the present event */
	actor *spare;     /* that have ended, for new ones */
	actor *queue[1 << QUEUE_BITS];
} sim = { .p = &none };

/* Not the simulation's: real threads of the process ask, too. */
static _Thread_local actor *self;

/* ------------------------------------------------------------------------------------ events */

void engine_at(double at_s, event_fn *fn, void *arg)
{
	events_add((event){ .at_s = at_s, .fn = fn, .arg = arg }, sim.now_s);
}

/* What it owes has passed for the actor, if it had a processor. */
double engine_now_s(void)
{
	return sim.now_s + (self ? self->owes_s / self->h->is.speed : 0);
}

/* ------------------------------------------------------------------------------------ actors */

actor *actor_self(void)
{
	return self;
}

const platform *engine_platform(void)
{
	return sim.p;
}

host *engine_host(int number)
{
	return &sim.host[number];
}

host *engine_here(void)
{
	return self->h;
}

void actor_wake(actor *a, double at_s)
{
	a->woken = true;
	a->until_s = INFINITY;
	sim.own++;
	events_add((event){ .at_s = at_s, .arg = a, .turn = ++a->turn }, sim.now_s);
}

/* The call that the actor is in may be read for its errno yet. */
static void leave(actor *a)
{
	const int kept = errno;
	coroutine_leave(&a->co);
	errno = kept;
}

static void run_actor(actor *a);
static void start_timer(actor *a);

static void timer_ends(void *actor_)
{
	actor *a = actor_;
	sim.own--;
	if (a->timer_s != sim.now_s) /* an earlier one has come between */
		return;
	a->timer_s = INFINITY;
	if (a->until_s <= sim.now_s)
		run_actor(a);
	else
		start_timer(a);
}

/* Most waits end before their time: a timer that runs is enough for later ones, too. */
static void start_timer(actor *a)
{
	if (a->until_s >= a->timer_s)
		return;
	a->timer_s = a->until_s;
	sim.own++;
	engine_at(a->timer_s, timer_ends, a);
}

static void wait_until(actor *a, double until_s)
{
	a->woken = false;
	a->turn++;
	a->until_s = until_s;
	start_timer(a);
	const unsigned works = a->works;
	a->h->working += works;
	sim.working += works;
	leave(a);
	a->h->working -= works;
	sim.working -= works;
	a->works = false;
}

void actor_pay(void)
{
	const double s = self->owes_s;
	self->owes_s = 0;
	actor_compute(s);
}

bool actor_wait(double until_s)
{
	actor *a = self;
	wait_until(a, until_s);
	return a->woken;
}

void actor_sleep(double until_s)
{
	actor_pay();
	self->works = true;
	wait_until(self, until_s);
}

static void live(void)
{
	actor *a = self;
	a->result = a->fn(a->arg);
	actor_pay();
	a->ended = sim.acted = true;
	a->looking = false;
	a->h->actors--;
	sim.actors--;
	if (a->joiner)
		actor_wake(a->joiner, sim.now_s);
	leave(a);
}

static actor *new_actor(void)
{
	actor *a = sim.spare;
	if (a) {
		sim.spare = a->next;
		return a;
	}
	a = calloc(1, sizeof *a);
	if (a)
		a->timer_s = INFINITY;
	return a;
}

actor *actor_start(host *h, void *(*fn)(void *), void *arg)
{
	if (self)
		actor_pay();
	actor *a = new_actor();
	if (!a || !coroutine_prepare(&a->co, live)) {
		free(a);
		return NULL;
	}
	/* wakes of the actor that was here before stay void, and its timers end some day */
	*a = (actor){ .co = a->co,
		      .turn = a->turn,
		      .timer_s = a->timer_s,
		      .until_s = INFINITY,
		      .longest_nap_s = FIRST_NAP_S,
		      .h = h,
		      .fn = fn,
		      .arg = arg };
	h->actors++;
	sim.actors++;
	actor_wake(a, sim.now_s);
	return a;
}

void *actor_join(actor *a)
{
	actor_pay();
	while (!a->ended) {
		a->joiner = self;
		actor_wait(INFINITY);
	}
	void *result = a->result;
	a->next = sim.spare;
	sim.spare = a;
	return result;
}

/* ------------------------------------------------------------------------------------ queues */

static actor **queue_of(const void *what)
{
	const uint64_t mixed = (uintptr_t)what * UINT64_C(0x9e3779b97f4a7c15);
	return &sim.queue[mixed >> (64 - QUEUE_BITS)];
}

static void append(actor **list, actor *a)
{
	while (*list)
		list = &(*list)->next;
	a->next = NULL;
	*list = a;
}

static void drop(actor **list, const actor *a)
{
	while (*list && *list != a)
		list = &(*list)->next;
	if (*list)
		*list = a->next;
}

bool actor_wait_for(const void *what, double until_s)
{
	actor *a = self;
	a->for_ = what;
	append(queue_of(what), a);
	if (actor_wait(until_s))
		return true;
	drop(queue_of(what), a);
	return false;
}

bool actor_wake_one(const void *what)
{
	actor **at = queue_of(what);
	while (*at && (*at)->for_ != what)
		at = &(*at)->next;
	actor *a = *at;
	if (!a)
		return false;
	*at = a->next;
	sim.acted = true;
	actor_wake(a, engine_now_s());
	return true;
}

/* -------------------------------------------------------------------------------- processors */

static double rate(const host *h, unsigned n)
{
	return h->is.speed * (n > h->is.cores ? (double)h->is.cores / n : 1);
}

static unsigned computing(const host *h)
{
	unsigned n = 0;
	for (const actor *a = h->computing; a; a = a->next)
		n++;
	return n;
}

/* What computes has done so until now. */
static void advance(host *h)
{
	const unsigned n = computing(h);
	const double s = sim.now_s - h->advanced_s;
	for (actor *a = h->computing; a; a = a->next) {
		a->left_s -= s * rate(h, n);
		a->cpu_s += s * rate(h, n) / h->is.speed;
	}
	h->busy_s += s * (n < h->is.cores ? n : h->is.cores);
	h->advanced_s = sim.now_s;
}

static void first_ends(void *host_);

static void start_turn_timer(host *h)
{
	if (h->ends_s >= h->timer_s)
		return;
	h->timer_s = h->ends_s;
	sim.own++;
	engine_at(h->timer_s, first_ends, h);
}

/* When the next work ends, if nothing changes. */
static void plan_turn(host *h)
{
	double least_s = INFINITY;
	for (const actor *a = h->computing; a; a = a->next)
		least_s = fmin(least_s, a->left_s);
	h->ends_s = INFINITY;
	if (h->computing && !h->stopped)
		h->ends_s = sim.now_s + fmax(least_s, 0) / rate(h, computing(h));
	start_turn_timer(h);
}

/* Work that is added has all end later: a timer that runs is enough then. */
static bool is_too_early(host *h)
{
	if (h->timer_s != sim.now_s) /* another one has come between */
		return true;
	h->timer_s = INFINITY;
	if (h->ends_s <= sim.now_s)
		return false;
	start_turn_timer(h);
	return true;
}

static void first_ends(void *host_)
{
	host *h = host_;
	double least_s = INFINITY;
	sim.own--;
	if (is_too_early(h))
		return;
	advance(h);
	for (const actor *a = h->computing; a; a = a->next)
		least_s = fmin(least_s, a->left_s);
	for (actor **at = &h->computing; *at;) {
		actor *a = *at;
		if (a->left_s > least_s + 1e-12) {
			at = &a->next;
			continue;
		}
		*at = a->next;
		actor_wake(a, sim.now_s);
	}
	plan_turn(h);
}

void actor_compute(double s)
{
	actor *a = self;
	host *h = a->h;
	if (!(s > 0))
		return;
	advance(h);
	a->left_s = s;
	a->works = !a->looking || s > LONGEST_NAP_S;
	append(&h->computing, a);
	plan_turn(h);
	actor_wait(INFINITY);
}

void actor_owe(double s)
{
	self->owes_s += s;
	if (self->owes_s > sim.least_work_s)
		actor_pay();
}

double actor_cpu_s(void)
{
	return self->cpu_s + self->owes_s / self->h->is.speed;
}

/* -------------------------------------------------------------------------------------- naps */

static void wake_nappers(host *h, const actor *but)
{
	h->news++;
	for (actor **at = &h->napping; *at;) {
		actor *a = *at;
		if (a == but) {
			at = &a->next;
			continue;
		}
		*at = a->next;
		actor_wake(a, sim.now_s + a->left_s / 2);
	}
}

void host_news(host *h)
{
	wake_nappers(h, NULL);
}

void actor_acts(void)
{
	self->looking = false;
}

void actor_nap(double s)
{
	actor *a = self;
	a->looking = true;
	actor_pay();
	if (a->seen != a->h->news) { /* since it looked */
		a->seen = a->h->news;
		a->longest_nap_s = FIRST_NAP_S;
		wait_until(a, sim.now_s + s / 2);
		return;
	}
	a->left_s = s;
	append(&a->h->napping, a);
	if (!actor_wait(sim.now_s + fmax(s, a->longest_nap_s))) {
		drop(&a->h->napping, a);
		a->longest_nap_s = fmin(2 * a->longest_nap_s, LONGEST_NAP_S);
	}
	a->seen = a->h->news;
}

/* -------------------------------------------------------------------------------- simulation */

/* A thread that does more than look may be what others of its rank wait for. */
static void run_actor(actor *a)
{
	host *h = a->h;
	if (h->stopped)
		return;
	self = a;
	coroutine_enter(&a->co);
	self = NULL;
	if (!a->looking) {
		const bool own = a->seen == h->news;
		wake_nappers(h, a);
		a->seen += own;
	}
}

/* Did the present event change anything, or can one that is still to come? A thread that looks at
 * the clock, as the one that prints progress, or naps, changes nothing until it wakes another
 * thread, works, or sends. */
static bool moves(void)
{
	const bool acted = sim.acted;
	sim.acted = false;
	return acted || sim.working || events_pending() > sim.own;
}

uint64_t engine_run(void)
{
	for (event e; sim.actors && events_next(&e);) {
		sim.now_s = e.at_s;
		if (!e.fn) {
			actor *a = e.arg;
			sim.own--;
			if (e.turn == a->turn)
				run_actor(a);
		} else {
			e.fn(e.arg);
		}
		if (moves())
			sim.moved_s = sim.now_s;
		else if (sim.now_s - sim.moved_s > IDLE_S)
			break;
	}
	if (sim.actors)
		sim.now_s = sim.moved_s;
	return sim.actors;
}

/* ----------------------------------------------------------------------------------- changes */

/* Its threads wait for nothing any more. */
static void stop(host *h)
{
	h->stopped = true;
	sim.working -= h->working;
	h->working = 0;
}

double engine_next_change_s(void)
{
	double next_s = INFINITY;
	for (size_t i = 0; i < sim.p->changes; i++)
		if (sim.p->change[i].at_s > sim.now_s)
			next_s = fmin(next_s, sim.p->change[i].at_s);
	return next_s;
}

static void change(void *change_)
{
	const sim_change *c = change_;
	host *h = &sim.host[c->host];
	advance(h);
	if (c->what == SIM_STOP)
		stop(h);
	else if (c->what == SIM_SPEED)
		h->is.speed = c->value;
	else if (c->what == SIM_DISK)
		h->is.disk_bytes_per_s = c->value;
	else
		h->is.net_bytes_per_s = c->value;
	plan_turn(h);
}

status engine_open(const platform *p, double least_work_s, err *e)
{
	sim.p = p;
	sim.least_work_s = least_work_s;
	sim.host = calloc((size_t)p->hosts, sizeof *sim.host);
	if (!sim.host)
		return err_set(e, ST_RESOURCE, "no memory for %d hosts", p->hosts);
	for (int i = 0; i < p->hosts; i++) {
		sim.host[i].is = p->host[i];
		sim.host[i].ends_s = sim.host[i].timer_s = INFINITY;
		sim.host[i].number = i;
	}
	for (size_t i = 0; i < p->changes; i++)
		engine_at(p->change[i].at_s, change, &p->change[i]);
	return ST_OK;
}
