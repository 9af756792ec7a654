/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signals that ask the program to end. A thread waits for them, so what is done about them may
 * lock, allocate and write like any other code, and happens at once, whatever the other threads
 * wait for.
 */
#ifndef HETSORT_CLI_SIGNALS_H
#define HETSORT_CLI_SIGNALS_H

#include <stdatomic.h>

typedef void signals_end(int sig, void *arg);

/* signals_block - before there is any thread: SIGINT, SIGTERM, SIGHUP and SIGUSR1 wait from now on;
 * those that whoever started us lets be ignored stay ignored. */
void signals_block(void);

/* signals_watch - SIGUSR1 sets *stop; for each other one end(sig, arg) is called, on a thread of
 * its own, which may end the process by signals_die. Without such a thread the signals end the
 * process by themselves, as if never blocked. */
void signals_watch(atomic_bool *stop, signals_end *end, void *arg);

/* signals_deadline - die of sig in ms milliseconds, whatever hangs. */
void signals_deadline(int sig, unsigned ms);

/* signals_alarm - call end, as a signal handler, in ms milliseconds. */
void signals_alarm(void (*end)(int), unsigned ms);

/* signals_await_deadline - until then, of which the process dies. */
_Noreturn void signals_await_deadline(void);

/* signals_die - of sig, so that a shell sees it. */
_Noreturn void signals_die(int sig);

/* signals_name - "SIGTERM". */
const char *signals_name(int sig);

#endif
