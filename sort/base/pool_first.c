/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What workers begin with, as the thread wants it that starts them. */
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
