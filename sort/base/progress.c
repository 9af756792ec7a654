/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counts of this process and its ranks. They are relaxed: those who look want to know about how
 * far it is, not what is complete. */
#include "progress.h"
#include "clock.h"

static atomic_uint_fast64_t ticks;

static progress_count nobody; /* of threads that work for no rank */
static _Thread_local progress_count *mine;

void progress_join(progress_count *p)
{
	mine = p;
}

progress_count *progress_mine(void)
{
	return mine ? mine : &nobody;
}

void progress_tick(void)
{
	atomic_fetch_add_explicit(&ticks, 1, memory_order_relaxed);
}

uint64_t progress_ticks(void)
{
	return atomic_load_explicit(&ticks, memory_order_relaxed);
}

void progress_add(progress_kind kind, uint64_t bytes)
{
	progress_count *p = progress_mine();
	atomic_fetch_add_explicit(&p->bytes[kind], bytes, memory_order_relaxed);
	if (kind <= PROGRESS_SENT && p != &nobody)
		activity_add(&p->activity, (activity_kind)kind, bytes, now_s());
	progress_tick();
}

void progress_hold(size_t bytes)
{
	atomic_store_explicit(&progress_mine()->held_bytes, bytes, memory_order_relaxed);
}
