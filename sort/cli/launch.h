/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What launchers say of a process in its environment. */
#ifndef HETSORT_CLI_LAUNCH_H
#define HETSORT_CLI_LAUNCH_H

#include <sys/types.h>

#include "base/status.h"

/* launch_rank - the number of this process, NULL without a launcher. */
const char *launch_rank(void);

/* launch_speaks - is it the one that speaks for all? Every rank comes by errors before it knows its
 * number; true without a launcher. */
bool launch_speaks(void);

/* launch_check - refuses a world of `size` ranks where a launcher has started another number of
 * processes: it could not tell them of each other, and each is about to do all the work alone. */
status launch_check(int size, err *e);

/* launch_terminal - return a descriptor of the terminal that a launcher on this host prints to,
 * which forwards this process's standard error, and in *group its process group; else -1, also
 * where /proc is missing or the launcher's standard error is a pipe or a file. */
int launch_terminal(pid_t *group);

/* What the process needs before anything else is done. */

/* process_prepare - once, before any thread starts: signals of broken pipes and file sizes become
 * errors of calls, the limit of descriptors is raised as far as it may be, closed standard streams
 * are held. ST_REFUSED with lent rights, ST_RESOURCE where the limit of the stack is too low. */
status process_prepare(err *e);

#endif
