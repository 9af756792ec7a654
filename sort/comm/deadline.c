/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A thread that sleeps and counts. It counts its sleeps, not the time that they took: a process
 * that was stopped, with all its threads, is not overdue when it continues. No MPI, no lock. */
#include "deadline.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

/* Sleeps in the time allowed, and until all others had theirs. */
enum { SLEEPS = 10, SLEEPS_WITHOUT_PEER = 12, LEAST_S = 5, STACK_BYTES = 512 << 10 };

static struct {
	double sleep_s;
	deadline_alarm *alarm;
} deadline;

static _Atomic(const char *) doing = "";
static atomic_int waits_for = -1;
static atomic_bool renewed;

void deadline_renew(void)
{
	atomic_store(&renewed, true);
}

void deadline_wait_for(int peer)
{
	atomic_store(&waits_for, peer);
}

void deadline_enter(const char *what)
{
	atomic_store(&doing, what);
	deadline_wait_for(-1);
	deadline_renew();
}

void deadline_leave(const char *what)
{
	struct sigevent by = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };
	struct itimerspec in = { .it_value = { (time_t)(2 * SLEEPS * deadline.sleep_s) + 1, 0 } };
	timer_t t;
	deadline_enter(what);
	if (deadline.alarm && timer_create(CLOCK_MONOTONIC, &by, &t) == 0)
		(void)timer_settime(t, 0, &in, NULL);
}

static void sleep_once(void)
{
	struct timespec t = { (time_t)deadline.sleep_s, 0 };
	t.tv_nsec = (long)((deadline.sleep_s - (double)t.tv_sec) * 1e9);
	while (nanosleep(&t, &t) != 0 && errno == EINTR)
		;
}

static void *count_sleeps(void *unused)
{
	(void)unused;
	for (int n = 0;; n++) {
		if (atomic_exchange(&renewed, false))
			n = 0;
		const int peer = atomic_load(&waits_for);
		if (n >= (peer >= 0 ? SLEEPS : SLEEPS_WITHOUT_PEER)) {
			const overdue o = { atomic_load(&doing), peer, n * deadline.sleep_s };
			deadline.alarm(&o);
		}
		sleep_once();
	}
	return NULL;
}

status deadline_start(double timeout_s, deadline_alarm *alarm, err *e)
{
	pthread_attr_t a;
	pthread_t t;
	deadline.sleep_s = (timeout_s > LEAST_S ? timeout_s : LEAST_S) / SLEEPS;
	deadline.alarm = alarm;
	int rc = pthread_attr_init(&a);
	if (rc == 0) {
		pthread_attr_setstacksize(&a, STACK_BYTES);
		pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
		rc = pthread_create(&t, &a, count_sleeps, NULL);
		pthread_attr_destroy(&a);
	}
	return rc == 0 ? ST_OK
		       : err_set(e, ST_RESOURCE, "cannot start thread for --timeout: %s",
				 strerror(rc));
}
