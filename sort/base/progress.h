/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Progress of this process, which the watch looks at: code that has moved a block, read or written
 * a part of a file or sorted a run counts it here. One count for the whole process, so nothing has
 * to be passed down for it; it takes an atomic addition for some MiB of work. */
#ifndef HETSORT_BASE_PROGRESS_H
#define HETSORT_BASE_PROGRESS_H

#include <stdint.h>

void progress_tick(void);
uint64_t progress_ticks(void);

#endif
