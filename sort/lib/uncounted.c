/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replaces base/progress.c, base/trace.c and base/pool_first.c in the library. The library records
 * no progress and places no threads, because it must have no global variables. */
#include "base/pool.h"
#include "base/trace.h"

pool_call pool_first(void)
{
	return (pool_call){ NULL, NULL };
}

void progress_init(rank_progress *p)
{
	(void)p;
}

void progress_join(rank_progress *p)
{
	(void)p;
}

rank_progress *progress_mine(void)
{
	return NULL;
}

void progress_add(progress_kind kind, uint64_t bytes)
{
	(void)kind, (void)bytes;
}

void progress_hold(size_t bytes)
{
	(void)bytes;
}

trace *trace_mine(void)
{
	return NULL;
}

void trace_thread(trace *t, const char *name)
{
	(void)t, (void)name;
}

double trace_begin(void)
{
	return 0;
}

void trace_end(trace_kind kind, double begun_s)
{
	(void)kind, (void)begun_s;
}
