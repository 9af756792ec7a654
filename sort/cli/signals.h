/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signals that end the program or ask for its progress. A thread waits for them, so their handling
 * may lock, allocate and write like any other code. This thread never waits for the work of other
 * threads. */
#ifndef HETSORT_CLI_SIGNALS_H
#define HETSORT_CLI_SIGNALS_H

#include <stdatomic.h>
#include <stdbool.h>

/* End the process. by_parent: the sender is the parent; a launcher sends to all its processes. */
typedef void signals_end(int sig, bool by_parent, void *arg);

/* Print the progress. */
typedef void signals_show(void);

/* signals_block - before any thread starts, block the signals that would end the process. Signals
 * that are ignored or have a handler stay as they are. */
void signals_block(void);

/* signals_end_with_parent - before signals_watch, request that the end of the parent process counts
 * as a SIGHUP from it, even if SIGHUP is ignored. Some launchers' libraries end their processes a
 * second after the launcher has died, others never do. */
void signals_end_with_parent(void);

/* signals_watch - start a thread that waits for signals. It sets *stop for SIGUSR1, and calls
 * show() for SIGUSR2 and SIGINFO. For any other signal it calls end(sig, by_parent, arg), which may
 * end the process by signals_die. If no thread can be started, signals end the process by
 * themselves. */
void signals_watch(atomic_bool *stop, signals_show *show, signals_end *end, void *arg);

/* signals_deadline - die of sig in ms milliseconds, even if the process hangs. */
void signals_deadline(int sig, unsigned ms);

/* signals_alarm - call end, as a signal handler, in ms milliseconds. It does not use SIGALRM, which
 * may come from outside. */
void signals_alarm(void (*end)(int), unsigned ms);

/* signals_die - end the process by sig, so that a shell sees it. */
_Noreturn void signals_die(int sig);

/* signals_name - return the name, "SIGTERM". */
const char *signals_name(int sig);

#endif
