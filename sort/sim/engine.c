/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Events in a heap, by time and then by the order in which they were made. What computes on a host
 * shares its processors: with n threads on c of them each gets min(1, c / n), which is worked out
 * anew whenever n or the speed changes. */
#include "engine.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { STACK_BYTES = 512 << 10, GUARD_BYTES = 64 << 10, FIRST_EVENTS = 1024, QUEUES = 1024 };

/* A nap without any news ends by itself, the next one later. */
static const double FIRST_NAP_S = 20e-3, LONGEST_NAP_S = 1;

struct actor {
	ucontext_t at;
	char *stack;
	host *h;
	void *(*fn)(void *);
	void *arg, *result;
	double owes_s, left_s, cpu_s;
	double longest_nap_s;
	bool ended, woken;
	bool looking;     /* it naps, looks whether there is news, and naps again */
	uint64_t turn;    /* wakes of earlier waits are void */
	uint64_t seen;    /* of the host's news */
	const void *for_; /* what it waits for, in a queue */
	actor *joiner, *next;
};

typedef struct event {
	double at_s;
	uint64_t number, turn;
	engine_fn *fn; /* NULL: wakes the actor arg */
	void *arg;
} event;

static struct {
	host *host;
	event *heap;
	size_t n, room;
	uint64_t events, actors;
	double now_s, least_work_s;
	actor *spare; /* that have ended, for new ones */
	actor *queue[QUEUES];
	ucontext_t loop;
} sim;

/* Not the simulation's: real threads of the process ask, too. */
static _Thread_local actor *self;

/* ------------------------------------------------------------------------------------ events */

static bool before(const event *a, const event *b)
{
	return a->at_s < b->at_s || (a->at_s == b->at_s && a->number < b->number);
}

/* There is no way on without memory, and nobody to tell. */
static void make_room(void)
{
	if (sim.n < sim.room)
		return;
	sim.room = sim.room ? 2 * sim.room : FIRST_EVENTS;
	event *more = realloc(sim.heap, sim.room * sizeof *more);
	if (!more)
		abort();
	sim.heap = more;
}

static void push(event e)
{
	size_t i = sim.n;
	make_room();
	sim.n++;
	e.number = sim.events++;
	for (; i > 0 && before(&e, &sim.heap[(i - 1) / 2]); i = (i - 1) / 2)
		sim.heap[i] = sim.heap[(i - 1) / 2];
	sim.heap[i] = e;
}

static event pop(void)
{
	const event first = sim.heap[0], last = sim.heap[--sim.n];
	size_t i = 0;
	for (size_t c; (c = 2 * i + 1) < sim.n; i = c) {
		c += c + 1 < sim.n && before(&sim.heap[c + 1], &sim.heap[c]);
		if (!before(&sim.heap[c], &last))
			break;
		sim.heap[i] = sim.heap[c];
	}
	if (sim.n)
		sim.heap[i] = last;
	return first;
}

void engine_at(double at_s, engine_fn *fn, void *arg)
{
	push((event){ .at_s = at_s, .fn = fn, .arg = arg });
}

uint64_t engine_events(void)
{
	return sim.events;
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
	push((event){ .at_s = at_s, .arg = a, .turn = ++a->turn });
}

/* The call that the actor is in may be read for its errno yet. */
static void leave(actor *a)
{
	const int kept = errno;
	swapcontext(&a->at, &sim.loop);
	errno = kept;
}

static void wait_until(actor *a, double until_s)
{
	a->woken = false;
	a->turn++;
	if (until_s < INFINITY)
		push((event){ .at_s = until_s, .arg = a, .turn = a->turn });
	leave(a);
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
	wait_until(self, until_s);
}

static void live(void)
{
	actor *a = self;
	a->result = a->fn(a->arg);
	actor_pay();
	a->ended = true;
	a->looking = false;
	a->h->actors--;
	sim.actors--;
	if (a->joiner)
		actor_wake(a->joiner, sim.now_s);
	leave(a);
}

static char *new_stack(void)
{
	char *s = mmap(NULL, GUARD_BYTES + STACK_BYTES, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	if (s == MAP_FAILED)
		return NULL;
	(void)mprotect(s, GUARD_BYTES, PROT_NONE);
	return s;
}

static actor *new_actor(void)
{
	actor *a = sim.spare;
	if (a) {
		sim.spare = a->next;
		return a;
	}
	a = calloc(1, sizeof *a);
	if (a && !(a->stack = new_stack())) {
		free(a);
		return NULL;
	}
	return a;
}

actor *actor_start(host *h, void *(*fn)(void *), void *arg)
{
	if (self)
		actor_pay();
	actor *a = new_actor();
	if (!a)
		return NULL;
	/* wakes of the actor that was here before stay void */
	*a = (actor){ .stack = a->stack,
		      .turn = a->turn,
		      .longest_nap_s = FIRST_NAP_S,
		      .h = h,
		      .fn = fn,
		      .arg = arg };
	getcontext(&a->at);
	a->at.uc_stack.ss_sp = a->stack + GUARD_BYTES;
	a->at.uc_stack.ss_size = STACK_BYTES;
	makecontext(&a->at, live, 0);
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
	return &sim.queue[((uintptr_t)what >> 3) % QUEUES];
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

/* When the next work ends, if nothing changes. */
static void plan_turn(host *h)
{
	double least_s = INFINITY;
	for (const actor *a = h->computing; a; a = a->next)
		least_s = fmin(least_s, a->left_s);
	h->turn++;
	if (h->computing && !h->stopped)
		push((event){ .at_s = sim.now_s + fmax(least_s, 0) / rate(h, computing(h)),
			      .turn = h->turn,
			      .fn = first_ends,
			      .arg = h });
}

static void first_ends(void *host_)
{
	host *h = host_;
	double least_s = INFINITY;
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
	self = a;
	swapcontext(&sim.loop, &a->at);
	self = NULL;
	if (!a->looking) {
		const bool own = a->seen == h->news;
		wake_nappers(h, a);
		a->seen += own;
	}
}

uint64_t engine_run(void)
{
	while (sim.actors && sim.n) {
		const event e = pop();
		sim.now_s = e.at_s;
		if (!e.fn) {
			actor *a = e.arg;
			if (e.turn == a->turn && !a->h->stopped)
				run_actor(a);
		} else if (e.fn != first_ends || e.turn == ((host *)e.arg)->turn) {
			e.fn(e.arg);
		}
	}
	return sim.actors;
}

/* ----------------------------------------------------------------------------------- changes */

static void change(void *change_)
{
	const sim_change *c = change_;
	host *h = &sim.host[c->host];
	advance(h);
	if (c->what == SIM_STOP)
		h->stopped = true;
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
	sim.least_work_s = least_work_s;
	sim.host = calloc((size_t)p->hosts, sizeof *sim.host);
	if (!sim.host)
		return err_set(e, ST_RESOURCE, "no memory for %d hosts", p->hosts);
	for (int i = 0; i < p->hosts; i++) {
		sim.host[i].is = p->host[i];
		sim.host[i].number = i;
	}
	for (size_t i = 0; i < p->changes; i++)
		engine_at(p->change[i].at_s, change, &p->change[i]);
	return ST_OK;
}
