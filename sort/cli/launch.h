/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The environment that launchers set for a process, and the preparation of a process at its start.
 */
#ifndef HETSORT_CLI_LAUNCH_H
#define HETSORT_CLI_LAUNCH_H

#include <sys/types.h>

#include "base/status.h"

/* launch_rank - return the rank of this process as text, or NULL without a launcher. */
const char *launch_rank(void);

/* launch_ignore - forget the launcher: unset its variables, which another MPI job may have left to
 * this process. Call it before any thread starts. */
void launch_ignore(void);

/* launch_joined - note that this process has joined the others. first: it is rank 0. */
void launch_joined(bool first);

/* launch_speaks - return whether this process prints messages for all. Before it has joined the
 * others, the launcher's variables decide, and these may be wrong: then a process that ends
 * by itself must print, even if this is false. True without a launcher. */
bool launch_speaks(void);

/* launch_is_first_here - return whether this is the first process that the launcher has started on
 * this host. True if this is unknown. */
bool launch_is_first_here(void);

/* launch_check - refuse a world of `size` ranks if the launcher has started another number of
 * processes. Then they do not know of each other, and each would do all the work. */
status launch_check(int size, err *e);

/* launch_waits - write for what this process waits before it has joined the others: for example for
 * ranks on this host that do not run this program. Return how many times in a row this must be
 * found before it is worth a message of this process, so that not all of its ranks print. */
enum { LAUNCH_TEXT_BYTES = 160 };
unsigned launch_waits(char text[LAUNCH_TEXT_BYTES]);

/* launch_terminal - return a descriptor of the terminal to which a launcher on this host forwards
 * standard error of this process. *group receives the launcher's process group. Return -1 without
 * /proc, or if the launcher's standard error is a pipe or a file. */
int launch_terminal(pid_t *group);

/* process_prepare - prepare the process, once, before any thread starts. Turn signals of broken
 * pipes and file sizes into errors of calls. Raise the limit of descriptors, and open closed
 * standard streams. ST_REFUSED if the program has more rights than its caller, ST_RESOURCE if the
 * stack limit is too low. */
status process_prepare(err *e);

#endif
