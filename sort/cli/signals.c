/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Waits for signals on one thread. They are blocked in all other threads, also in those that MPI
 * starts. So there is no handler, no wake-up to lose and nothing to poll. */
#include "signals.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { STACK_BYTES = 512 << 10 };

/* Sent when the parent ends, or only its thread that started this process. The signal has no other
 * known use. */
#define PARENT_ENDED (SIGRTMAX - 1)

#ifndef SIGINFO
#	define SIGINFO SIGUSR2
#endif

static const struct {
	int sig;
	const char *name;
} asked[] = {
	{ SIGINT, "SIGINT" },       { SIGTERM, "SIGTERM" },     { SIGHUP, "SIGHUP" },
	{ SIGUSR1, "SIGUSR1" },     { SIGUSR2, "SIGUSR2" },     { SIGQUIT, "SIGQUIT" },
	{ SIGXCPU, "SIGXCPU" },     { SIGIO, "SIGIO" },         { SIGALRM, "SIGALRM" },
	{ SIGPROF, "SIGPROF" },     { SIGVTALRM, "SIGVTALRM" }, { SIGINFO, "SIGINFO" },
#ifdef SIGSTKFLT
	{ SIGSTKFLT, "SIGSTKFLT" },
#endif
#ifdef SIGPWR
	{ SIGPWR, "SIGPWR" },
#endif
};

static struct {
	sigset_t set;
	atomic_bool *stop;
	signals_end *end;
	signals_show *show;
	void *arg;
	pid_t parent; /* when this parent ends, so does this process; 0: it does not */
} watch;

const char *signals_name(int sig)
{
	for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
		if (asked[i].sig == sig)
			return asked[i].name;
	return "a signal";
}

void signals_block(void)
{
	struct sigaction was;
	sigemptyset(&watch.set);
	for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
		if (sigaction(asked[i].sig, NULL, &was) == 0 && was.sa_handler == SIG_DFL)
			sigaddset(&watch.set, asked[i].sig);
	pthread_sigmask(SIG_BLOCK, &watch.set, NULL);
}

void signals_end_with_parent(void)
{
	sigset_t one;
	watch.parent = getppid();
	sigemptyset(&one);
	sigaddset(&one, PARENT_ENDED);
	sigaddset(&watch.set, PARENT_ENDED);
	pthread_sigmask(SIG_BLOCK, &one, NULL);
	(void)prctl(PR_SET_PDEATHSIG, PARENT_ENDED);
}

/* Handle one signal after the other, as signals_watch describes. */
static void *wait_for_signals(void *unused)
{
	(void)unused;
	for (;;) {
		siginfo_t info;
		const int sig = sigwaitinfo(&watch.set, &info);
		if (sig < 0)
			continue;
		if (sig == SIGUSR1)
			atomic_store(watch.stop, true);
		else if (sig == SIGUSR2 || sig == SIGINFO)
			watch.show();
		else if (sig != PARENT_ENDED)
			watch.end(sig, info.si_code <= 0 && info.si_pid == getppid(), watch.arg);
		else if (getppid() != watch.parent) /* the parent has ended */
			watch.end(SIGHUP, true, watch.arg);
	}
	return NULL;
}

void signals_watch(atomic_bool *stop, signals_show *show, signals_end *end, void *arg)
{
	pthread_attr_t a;
	pthread_t t;
	watch.stop = stop;
	watch.show = show;
	watch.end = end;
	watch.arg = arg;
	if (pthread_attr_init(&a) == 0) {
		pthread_attr_setstacksize(&a, STACK_BYTES);
		pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
		const int rc = pthread_create(&t, &a, wait_for_signals, NULL);
		pthread_attr_destroy(&a);
		if (rc == 0)
			return;
	}
	pthread_sigmask(SIG_UNBLOCK, &watch.set, NULL);
}

_Noreturn void signals_die(int sig)
{
	sigset_t one;
	signal(sig, SIG_DFL);
	sigemptyset(&one);
	sigaddset(&one, sig);
	pthread_sigmask(SIG_UNBLOCK, &one, NULL);
	raise(sig);
	for (;;) /* the signal has ended the process */
		pause();
}

static volatile sig_atomic_t due;

/* Die of the signal whose deadline has passed. */
static void die_of_due(int alarm_)
{
	(void)alarm_;
	signals_die(due);
}

void signals_alarm(void (*end)(int), unsigned ms)
{
	const struct itimerspec in = { .it_value = { ms / 1000, ms % 1000 * 1000000L } };
	struct sigevent by = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMAX };
	timer_t t;
	signal(SIGRTMAX, end);
	if (timer_create(CLOCK_MONOTONIC, &by, &t) == 0)
		(void)timer_settime(t, 0, &in, NULL);
}

void signals_deadline(int sig, unsigned ms)
{
	due = sig;
	signals_alarm(die_of_due, ms);
}
