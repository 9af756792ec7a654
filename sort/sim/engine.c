/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The engine, see engine.h. The threads that compute on a host share its processors: n threads on c
 * processors get min(1, c / n) of a processor each. Work done is accounted for, and the next end
 * found, whenever n or the speed changes. */
#undef _FORTIFY_SOURCE /* because its longjmp reports a jump to another stack as an error */
#include "base/trace.h"
#include "engine.h"

#include <errno.h>
#include <setjmp.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { QUEUE_BITS = 16 };

/* The lengths of naps without news: each is twice as long as the one before, up to the longest. */
static const double FIRST_NAP_S = 20e-3, LONGEST_NAP_S = 1;

/* If nothing has changed for this time, nothing can happen any more. It is longer than the time
 * limits that threads check between naps, such as the wait for another job's lock. */
static const double IDLE_S = 600;

struct actor {
	char *stack; /* reused by the next actor in this memory */
	jmp_buf at;
	bool begun;
	process *of;
	host *h; /* of->h */
	void *(*fn)(void *);
	void *arg, *result;
	double owes_s, left_s, cpu_s;
	double longest_nap_s;
	deadline until; /* the latest end of its wait */
	bool ended, woken;
	bool looking;     /* since a nap, it has only looked for news */
	bool works;       /* uses a processor or a disk until its present wait ends */
	uint64_t turn;    /* number of the wait; a wake with another number has no effect */
	uint64_t seen;    /* the count process.news when it last looked */
	const void *for_; /* the queue in which it waits */
	actor *next;
};

static struct {
	const platform *p;
	host *host;
	process *process; /* [p->ranks] in the memory of host */
	uint64_t actors;
	double now_s, least_work_s;
	double moved_s;   /* when something last changed */
	uint64_t own;     /* queued events of this file: wakes of threads, and deadlines */
	uint64_t working; /* number of threads that use a processor or a disk */
	bool acted;       /* in the present event, a thread did more than look for news */
	actor *spare;     /* list of ended actors, whose memory is reused */
	actor *queue[1 << QUEUE_BITS];
} sim = { .p = &(const platform){ .hosts = 0 } };

/* The current actor; NULL in other real threads, which also call actor_self(). */
static _Thread_local actor *self;

/* ------------------------------------------------------------------------------------ events */

void engine_at(double at_s, event_fn *fn, void *arg)
{
	events_add((event){ .at_s = at_s, .fn = fn, .arg = arg }, sim.now_s);
}

/* Add the time of the work that the actor owes, as if it had a whole processor. */
double engine_now_s(void)
{
	return sim.now_s + (self ? self->owes_s / self->h->is.speed : 0);
}

static void deadline_event(void *deadline_);

/* Move a deadline, and queue an event for it unless an earlier event is queued. */
static void deadline_set(deadline *d, double due_s)
{
	d->due_s = due_s;
	if (due_s >= d->event_s)
		return;
	d->event_s = due_s;
	sim.own++;
	engine_at(due_s, deadline_event, d);
}

static void deadline_event(void *deadline_)
{
	deadline *d = deadline_;
	sim.own--;
	if (d->event_s != sim.now_s) /* an earlier event was queued after this one, and comes
				      * first */
		return;
	d->event_s = INFINITY;
	if (d->due_s <= sim.now_s)
		d->fn(d->of);
	else
		deadline_set(d, d->due_s);
}

/* -------------------------------------------------------------------------------- coroutines
 *
 * The event loop enters a coroutine, which later returns to the loop. A stack is entered for the
 * first time by swapcontext(), which makes system calls for the signal mask. Later entries are long
 * jumps, which make none.
 *
 * There may be tens of thousands of stacks, more than the mappings that the system allows. So
 * stacks are cut from large mappings, whose pages the system provides when they are used. The
 * lowest page of each of the first 4096 stacks is protected, so that an overflow crashes. */

enum { STACK_BYTES = 512 << 10, GUARD_BYTES = 4 << 10, GUARDED = 4096, PIECE_STACKS = 64 };

static struct {
	jmp_buf at;
	ucontext_t first; /* before the first jump */
	char *piece;
	unsigned left, guarded;
} loop;

static char *stack_new(void)
{
	if (loop.left == 0) {
		loop.piece = mmap(NULL, (size_t)PIECE_STACKS * STACK_BYTES, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
		if (loop.piece == MAP_FAILED)
			return NULL;
		(void)madvise(loop.piece, (size_t)PIECE_STACKS * STACK_BYTES, MADV_NOHUGEPAGE);
		loop.left = PIECE_STACKS;
	}
	char *s = loop.piece + (size_t)--loop.left * STACK_BYTES;
	if (loop.guarded < GUARDED && mprotect(s, GUARD_BYTES, PROT_NONE) == 0)
		loop.guarded++;
	return s;
}

/* Return to the event loop, until coroutine_enter() continues the actor here. Keep the actor's
 * variables of threads: errno after a call that waited, and where its rank counts and records. */
static void coroutine_leave(actor *a)
{
	const int kept = errno;
	rank_progress *const counts = progress_mine();
	const trace_place at = trace_move((trace_place){ NULL });
	if (!_setjmp(a->at))
		_longjmp(loop.at, 1);
	progress_join(counts);
	(void)trace_move(at);
	errno = kept;
}

static void coroutine_main(void)
{
	actor *a = self;
	progress_join(NULL);
	a->result = a->fn(a->arg);
	actor_pay();
	a->ended = sim.acted = true;
	a->looking = false;
	a->h->actors--;
	sim.actors--;
	actor_wake_one(a); /* the actor that joins it */
	coroutine_leave(a);
}

static void coroutine_enter(actor *a)
{
	ucontext_t there;
	if (_setjmp(loop.at))
		return;
	if (a->begun)
		_longjmp(a->at, 1);
	a->begun = true;
	getcontext(&there);
	there.uc_stack.ss_sp = a->stack + GUARD_BYTES;
	there.uc_stack.ss_size = STACK_BYTES - GUARD_BYTES;
	makecontext(&there, coroutine_main, 0);
	swapcontext(&loop.first, &there);
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

process *engine_process(int rank)
{
	return &sim.process[rank];
}

process *engine_here(void)
{
	return self->of;
}

void actor_wake(actor *a, double at_s)
{
	a->woken = true;
	a->until.due_s = INFINITY;
	sim.own++;
	events_add((event){ .at_s = at_s, .arg = a, .turn = ++a->turn }, sim.now_s);
}

static void run_actor(void *actor_)
{
	actor *a = actor_;
	if (a->h->stopped)
		return;
	self = a;
	coroutine_enter(a);
	if (!a->looking) { /* its work may be news to the other threads of its process */
		const bool up_to_date = a->seen == a->of->news;
		process_news(a->of);
		a->seen += up_to_date;
	}
	self = NULL;
}

bool actor_wait(double until_s)
{
	actor *a = self;
	a->woken = false;
	a->turn++;
	deadline_set(&a->until, until_s);
	const unsigned works = a->works;
	a->h->working += works;
	sim.working += works;
	coroutine_leave(a);
	a->h->working -= works;
	sim.working -= works;
	a->works = false;
	return a->woken;
}

void actor_pay(void)
{
	const double s = self->owes_s;
	self->owes_s = 0;
	actor_compute(s);
}

void actor_sleep(double until_s)
{
	actor_pay();
	self->works = true;
	actor_wait(until_s);
}

actor *actor_start(process *of, void *(*fn)(void *), void *arg)
{
	if (self)
		actor_pay();
	actor *a = sim.spare;
	if (a) {
		sim.spare = a->next;
	} else {
		a = calloc(1, sizeof *a);
		if (!a || !(a->stack = stack_new())) {
			free(a);
			return NULL;
		}
		a->until.event_s = INFINITY;
	}
	/* keep the turn, so that events of the previous actor, which may still come, have no
	 * effect */
	*a = (actor){ .stack = a->stack,
		      .turn = a->turn,
		      .until = { INFINITY, a->until.event_s, run_actor, a },
		      .longest_nap_s = FIRST_NAP_S,
		      .of = of,
		      .h = of->h,
		      .fn = fn,
		      .arg = arg };
	of->h->actors++;
	sim.actors++;
	actor_wake(a, sim.now_s);
	return a;
}

void *actor_join(actor *a)
{
	actor_pay();
	while (!a->ended)
		actor_wait_for(a, INFINITY);
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

static void queue_append(actor **list, actor *a)
{
	while (*list)
		list = &(*list)->next;
	a->next = NULL;
	*list = a;
}

static void queue_remove(actor **list, const actor *a)
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
	queue_append(queue_of(what), a);
	if (actor_wait(until_s))
		return true;
	queue_remove(queue_of(what), a);
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

/* Return the speed of each of n threads that compute on a host. */
static double host_rate(const host *h, unsigned n)
{
	return h->is.speed * (n > h->is.cores ? (double)h->is.cores / n : 1);
}

static unsigned host_computing(const host *h)
{
	unsigned n = 0;
	for (const actor *a = h->computing; a; a = a->next)
		n++;
	return n;
}

static double host_least_left(const host *h)
{
	double least_s = INFINITY;
	for (const actor *a = h->computing; a; a = a->next)
		least_s = fmin(least_s, a->left_s);
	return least_s;
}

/* Subtract the work of the host's threads since the last call from what they have left. */
static void host_account(host *h)
{
	const unsigned n = host_computing(h);
	const double s = sim.now_s - h->advanced_s;
	for (actor *a = h->computing; a; a = a->next) {
		a->left_s -= s * host_rate(h, n);
		a->cpu_s += s * host_rate(h, n) / h->is.speed;
		a->of->cpu_s += s * host_rate(h, n) / h->is.speed;
	}
	h->busy_s += s * (n < h->is.cores ? n : h->is.cores);
	h->advanced_s = sim.now_s;
}

/* Set the deadline of the next end of a computation, for the present number of threads. */
static void host_plan_end(host *h)
{
	const bool any = h->computing && !h->stopped;
	deadline_set(&h->ends,
		     any ? sim.now_s + fmax(host_least_left(h), 0) / host_rate(h, host_computing(h))
			 : INFINITY);
}

/* Wake the threads whose computation ends now. */
static void host_end_first(void *host_)
{
	host *h = host_;
	host_account(h);
	const double least_s = host_least_left(h);
	for (actor **at = &h->computing; *at;) {
		actor *a = *at;
		if (a->left_s > least_s + 1e-12) {
			at = &a->next;
			continue;
		}
		*at = a->next;
		actor_wake(a, sim.now_s);
	}
	host_plan_end(h);
}

void actor_compute(double s)
{
	actor *a = self;
	host *h = a->h;
	if (!(s > 0))
		return;
	host_account(h);
	a->left_s = s;
	a->works = !a->looking || s > LONGEST_NAP_S;
	queue_append(&h->computing, a);
	host_plan_end(h);
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

void process_news(process *of)
{
	of->news++;
	for (actor **at = &of->napping; *at;) {
		actor *a = *at;
		if (a == self) {
			at = &a->next;
			continue;
		}
		*at = a->next;
		actor_wake(a, sim.now_s + a->left_s / 2);
	}
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
	if (a->seen != a->of->news) { /* there has been news since it looked */
		a->seen = a->of->news;
		a->longest_nap_s = FIRST_NAP_S;
		actor_wait(sim.now_s + s / 2);
		return;
	}
	a->left_s = s;
	queue_append(&a->of->napping, a);
	if (!actor_wait(sim.now_s + fmax(s, a->longest_nap_s))) {
		queue_remove(&a->of->napping, a);
		a->longest_nap_s = fmin(2 * a->longest_nap_s, LONGEST_NAP_S);
	}
	a->seen = a->of->news;
}

/* -------------------------------------------------------------------------------- simulation */

uint64_t engine_run(void)
{
	for (event e; sim.actors && events_next(&e);) {
		sim.now_s = e.at_s;
		sim.acted = e.fn && e.fn != deadline_event; /* an event of another file */
		if (!e.fn) {
			actor *a = e.arg;
			sim.own--;
			if (e.turn == a->turn)
				run_actor(a);
		} else {
			e.fn(e.arg);
		}
		/* Record the time if the event changed anything, or if a thread at work or a queued
		 * event of another file can. A thread that naps, or reads the clock to print
		 * progress, changes nothing until it wakes another thread, works, or sends. */
		if (sim.acted || sim.working || events_pending() > sim.own)
			sim.moved_s = sim.now_s;
		else if (sim.now_s - sim.moved_s > IDLE_S)
			break;
	}
	if (sim.actors)
		sim.now_s = sim.moved_s;
	return sim.actors;
}

double engine_next_change_s(void)
{
	double next_s = INFINITY;
	for (size_t i = 0; i < sim.p->changes; i++)
		if (sim.p->change[i].at_s > sim.now_s)
			next_s = fmin(next_s, sim.p->change[i].at_s);
	return next_s;
}

static void apply_change(void *change_)
{
	const sim_change *c = change_;
	host *h = &sim.host[c->host];
	host_account(h);
	if (c->what == SIM_STOP) { /* its threads no longer count as working */
		h->stopped = true;
		sim.working -= h->working;
		h->working = 0;
	} else if (c->what == SIM_SPEED) {
		h->is.speed = c->value;
	} else if (c->what == SIM_DISK) {
		h->is.disk_bytes_per_s = c->value;
	} else {
		h->is.net_bytes_per_s = c->value;
	}
	host_plan_end(h);
}

status engine_open(const platform *p, double least_work_s, err *e)
{
	sim.p = p;
	sim.least_work_s = least_work_s;
	sim.host = calloc(1, (size_t)p->hosts * sizeof *sim.host +
				     (size_t)p->ranks * sizeof *sim.process);
	if (!sim.host)
		return err_set(e, ST_RESOURCE, "no memory for %d hosts", p->hosts);
	sim.process = (void *)(sim.host + p->hosts);
	for (int i = 0, rank = 0; i < p->hosts; i++) {
		host *h = &sim.host[i];
		*h = (host){ .is = p->host[i],
			     .number = i,
			     .ends = { INFINITY, INFINITY, host_end_first, h } };
		for (unsigned k = 0; k < h->is.ranks; k++, rank++)
			sim.process[rank] = (process){ .h = h, .rank = rank };
	}
	for (size_t i = 0; i < p->changes; i++)
		engine_at(p->change[i].at_s, apply_change, &p->change[i]);
	return ST_OK;
}
