/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signals that ask the program to end, or how far it is. A thread waits for them, so what is done
 * about them may lock, allocate and write like any other code, and happens at once, whatever the
 * other threads wait for.
 */
#ifndef HETSORT_CLI_SIGNALS_H
#define HETSORT_CLI_SIGNALS_H

#include <stdatomic.h>
#include <stdbool.h>

/* by_parent: whoever has started the process has sent it; of a launcher's, to all its processes. */
typedef void signals_end(int sig, bool by_parent, void *arg);

/* How far is it? */
typedef void signals_tell(void);

/* signals_block - before there is any thread: signals that would end the process wait from now on;
 * those that are ignored, or have a handler already, stay so. */
void signals_block(void);

/* signals_end_with_parent - before signals_watch: the end of the parent process counts as a SIGHUP
 * from it, also where that is ignored. Some launchers' libraries end their processes a second after
 * the launcher has died, others never do. */
void signals_end_with_parent(void);

/* signals_watch - SIGUSR1 sets *stop; for SIGUSR2 (and SIGINFO, where there is one) tell() is
 * called, for each other one end(sig, by_parent, arg) is called, on a
 * thread of its own, which may end the process by signals_die. Without such a thread the signals
 * end the process by themselves, as if never blocked. */
void signals_watch(atomic_bool *stop, signals_tell *tell, signals_end *end, void *arg);

/* signals_deadline - die of sig in ms milliseconds, whatever hangs. */
void signals_deadline(int sig, unsigned ms);

/* signals_alarm - call end, as a signal handler, in ms milliseconds; not by SIGALRM, which may come
 * from outside. */
void signals_alarm(void (*end)(int), unsigned ms);

/* signals_die - of sig, so that a shell sees it. */
_Noreturn void signals_die(int sig);

/* signals_name - "SIGTERM". */
const char *signals_name(int sig);

#endif
