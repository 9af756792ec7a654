/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signs of life for the watch: whoever gets something done in this process, a block moved, a piece
 * of a file read or written, a run sorted, says so here. One count for the process, so that what
 * has no job at hand can say it, too; an atomic addition for some MiB of work. */
#ifndef HETSORT_BASE_PROGRESS_H
#define HETSORT_BASE_PROGRESS_H

#include <stdint.h>

void progress_tick(void);
uint64_t progress_ticks(void);

#endif
