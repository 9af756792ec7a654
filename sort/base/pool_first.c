/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The first call of each worker, set by the thread that starts the worker. This is a separate file,
 * because libhetsort replaces it by lib/uncounted.c. */
#include "pool.h"

static _Thread_local pool_call first;

void pool_begin_with(pool_work *work, void *arg)
{
	first = (pool_call){ work, arg };
}

pool_call pool_first(void)
{
	return first;
}
