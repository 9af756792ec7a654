/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The count of this process. It is relaxed: the watch only looks whether it changes. */
#include "progress.h"

#include <stdatomic.h>

static atomic_uint_fast64_t ticks;

void progress_tick(void)
{
	atomic_fetch_add_explicit(&ticks, 1, memory_order_relaxed);
}

uint64_t progress_ticks(void)
{
	return atomic_load_explicit(&ticks, memory_order_relaxed);
}
