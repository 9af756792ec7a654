/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads, locks, clocks and naps of the simulated ranks. Calls from real threads, such as the
 * thread that waits for signals, go to the original functions. Locks are real, so that actors and
 * real threads exclude each other. A recursive lock would not exclude actors, because they are one
 * real thread. The only such lock (io/target.c) is never held by an actor that waits. */
#include "base/status.h"
#include "base/usage.h"
#include "comm/monitor.h"
#include "engine.h"
#include "sim.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <time.h>

/* Processor seconds to start a thread, and to wake a thread. */
static const double START_S = 20e-6, WAKE_S = 2e-6;

static double timespec_s(const struct timespec *t)
{
	return (double)t->tv_sec + 1e-9 * (double)t->tv_nsec;
}

WRAPPED(int, pthread_create, pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *),
	void *arg)
{
	if (!actor_self())
		return __real_pthread_create(t, attr, fn, arg);
	actor_owe(START_S);
	actor *a = actor_start(engine_here(), fn, arg);
	*t = (pthread_t)a;
	return a ? 0 : EAGAIN;
}

WRAPPED(int, pthread_join, pthread_t t, void **result)
{
	if (!actor_self())
		return __real_pthread_join(t, result);
	void *r = actor_join((actor *)t);
	if (result)
		*result = r;
	return 0;
}

WRAPPED(int, pthread_setname_np, pthread_t t, const char *name)
{
	return actor_self() ? 0 : __real_pthread_setname_np(t, name);
}

WRAPPED(int, pthread_mutex_lock, pthread_mutex_t *m)
{
	if (!actor_self())
		return __real_pthread_mutex_lock(m);
	while (pthread_mutex_trylock(m) != 0) {
		actor_pay();
		if (pthread_mutex_trylock(m) == 0)
			break;
		actor_wait_for(m, INFINITY);
	}
	return 0;
}

WRAPPED(int, pthread_mutex_clocklock, pthread_mutex_t *m, clockid_t clock,
	const struct timespec *until)
{
	return actor_self() ? __wrap_pthread_mutex_lock(m)
			    : __real_pthread_mutex_clocklock(m, clock, until);
}

WRAPPED(int, pthread_mutex_unlock, pthread_mutex_t *m)
{
	const int rc = __real_pthread_mutex_unlock(m);
	if (actor_self())
		actor_wake_one(m);
	return rc;
}

static int cond_wait(pthread_cond_t *c, pthread_mutex_t *m, double until_s)
{
	actor_acts();
	actor_pay();
	__wrap_pthread_mutex_unlock(m);
	const bool woken = actor_wait_for(c, until_s);
	__wrap_pthread_mutex_lock(m);
	return woken ? 0 : ETIMEDOUT;
}

WRAPPED(int, pthread_cond_wait, pthread_cond_t *c, pthread_mutex_t *m)
{
	return actor_self() ? cond_wait(c, m, INFINITY) : __real_pthread_cond_wait(c, m);
}

WRAPPED(int, pthread_cond_clockwait, pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock,
	const struct timespec *until)
{
	return actor_self() ? cond_wait(c, m, timespec_s(until))
			    : __real_pthread_cond_clockwait(c, m, clock, until);
}

WRAPPED(int, pthread_cond_signal, pthread_cond_t *c)
{
	if (!actor_self())
		return __real_pthread_cond_signal(c);
	actor_acts();
	if (actor_wake_one(c))
		actor_owe(WAKE_S);
	return 0;
}

WRAPPED(int, pthread_cond_broadcast, pthread_cond_t *c)
{
	if (!actor_self())
		return __real_pthread_cond_broadcast(c);
	actor_acts();
	while (actor_wake_one(c))
		actor_owe(WAKE_S);
	return 0;
}

WRAPPED(int, nanosleep, const struct timespec *t, struct timespec *left)
{
	if (!actor_self())
		return __real_nanosleep(t, left);
	actor_nap(timespec_s(t));
	return 0;
}

WRAPPED(int, clock_gettime, clockid_t id, struct timespec *t)
{
	if (!actor_self() || id == CLOCK_REALTIME)
		return __real_clock_gettime(id, t);
	const double s = id == CLOCK_THREAD_CPUTIME_ID    ? actor_cpu_s()
			 : id == CLOCK_PROCESS_CPUTIME_ID ? engine_here()->cpu_s
							  : engine_now_s();
	t->tv_sec = (time_t)s;
	t->tv_nsec = (long)((s - floor(s)) * 1e9);
	return 0;
}

WRAPPED(double, usage_runnable_s, void)
{
	return actor_self() ? actor_cpu_s() : __real_usage_runnable_s();
}

/* Start no monitor, because it counts real seconds, in which a simulation may make no progress. */
WRAPPED(status, monitor_start, double timeout_s, monitor_alarm *alarm, err *e)
{
	(void)timeout_s;
	(void)alarm;
	(void)e;
	return ST_OK;
}

/* Return false, because no launcher has started the ranks. */
WRAPPED(bool, comm_mpi_launched, void)
{
	return false;
}
