/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the process needs before anything else is done. */
#ifndef HETSORT_CLI_PROCESS_H
#define HETSORT_CLI_PROCESS_H

#include "base/status.h"

/* process_prepare - once, before any thread starts: signals of broken pipes and file sizes become
 * errors of calls, the limit of descriptors is raised as far as it may be, closed standard streams
 * are held. ST_REFUSED with lent rights, ST_RESOURCE where the limit of the stack is too low. */
status process_prepare(err *e);

#endif
