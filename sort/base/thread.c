/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A thread takes over what its starter has in memory of its own: whom it counts for, and
 * where it records what it does. */
#include "thread.h"
#include "progress.h"
#include "trace.h"

#include <errno.h>
#include <stdlib.h>

typedef struct birth {
	const char *name;
	void *(*work)(void *);
	void *arg;
	rank_progress *counts;
	trace *trace;
} birth;

static void *live(void *birth_)
{
	const birth b = *(birth *)birth_;
	free(birth_);
	(void)pthread_setname_np(pthread_self(), b.name);
	progress_join(b.counts);
	trace_thread(b.trace, b.name);
	void *out = b.work(b.arg);
	trace_thread(NULL, NULL);
	return out;
}

int thread_start(pthread_t *thread, const char *name, void *(*work)(void *), void *arg)
{
	birth *b = malloc(sizeof *b);
	if (!b)
		return EAGAIN;
	*b = (birth){ name, work, arg, progress_mine(), trace_mine() };
	const int rc = pthread_create(thread, NULL, live, b);
	if (rc != 0)
		free(b);
	return rc;
}
