/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "unfinished.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

/* A thread creates a file and puts it on the list under this lock, so that the list is complete.
 * The thread that ends the process takes the lock and never releases it. The lock is recursive,
 * because this thread may still write a report. */
static pthread_mutex_t list_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static unfinished *unfinished_first;
static unfinished_end *ends;
/* read without the lock, which a thread that creates files may hold for long */
static atomic_bool settled;
static _Thread_local bool frozen; /* this thread has the lock until the process ends */

void unfinished_hold(void)
{
	pthread_mutex_lock(&list_lock);
}

void unfinished_release(void)
{
	pthread_mutex_unlock(&list_lock);
}

void unfinished_note(unfinished *u)
{
	pthread_mutex_lock(&list_lock);
	(void)file_id_at(u->dirfd, u->name, &u->is);
	u->next = unfinished_first;
	unfinished_first = u;
	pthread_mutex_unlock(&list_lock);
}

/* Unlink the name if it still leads to the same file. Another program may have replaced the file,
 * or another job may have taken over a lock. If this fails, the next job removes the file. */
static void unfinished_unlink(const unfinished *u)
{
	(void)file_remove(u->dirfd, u->name, &u->is, NULL);
}

void unfinished_forget(unfinished *u)
{
	pthread_mutex_lock(&list_lock);
	for (unfinished **at = &unfinished_first; *at; at = &(*at)->next)
		if (*at == u) {
			*at = u->next;
			break;
		}
	u->name[0] = '\0';
	pthread_mutex_unlock(&list_lock);
}

void unfinished_remove(unfinished *u)
{
	if (u->name[0])
		unfinished_unlink(u);
	unfinished_forget(u);
}

void unfinished_at_end(unfinished_end *x)
{
	pthread_mutex_lock(&list_lock);
	x->next = ends;
	ends = x;
	pthread_mutex_unlock(&list_lock);
}

void unfinished_end_as_usual(unfinished_end *x)
{
	pthread_mutex_lock(&list_lock);
	for (unfinished_end **at = &ends; *at; at = &(*at)->next)
		if (*at == x) {
			*at = x->next;
			break;
		}
	pthread_mutex_unlock(&list_lock);
}

void unfinished_settle(void)
{
	pthread_mutex_lock(&list_lock);
	atomic_store(&settled, true);
	pthread_mutex_unlock(&list_lock);
}

/* Wait by the monotonic clock, because the wall clock may be set while waiting. ThreadSanitizer
 * knows only the call that uses the wall clock. */
#ifdef __SANITIZE_THREAD__
#	define FREEZE_CLOCK      CLOCK_REALTIME
#	define lock_until(until) pthread_mutex_timedlock(&list_lock, until)
#else
#	define FREEZE_CLOCK      CLOCK_MONOTONIC
#	define lock_until(until) pthread_mutex_clocklock(&list_lock, FREEZE_CLOCK, until)
#endif

/* Take the lock for good. Wait at most half a second: if a file system hangs, its files stay. */
static void freeze(void)
{
	struct timespec until;
	clock_gettime(FREEZE_CLOCK, &until);
	until.tv_nsec += 500000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	frozen = lock_until(&until) == 0;
}

bool unfinished_freeze(bool late)
{
	if (late || !atomic_load(&settled))
		freeze();
	const bool left = late ? !frozen || unfinished_first || ends : !atomic_load(&settled);
	if (!left && frozen) {
		frozen = false;
		pthread_mutex_unlock(&list_lock);
	}
	return left;
}

void unfinished_remove_all(void)
{
	bool kept = false;
	if (!frozen)
		return;
	for (const unfinished_end *x = ends; x; x = x->next)
		kept |= x->keep && x->keep(x->arg);
	for (unfinished *u = unfinished_first; u; u = u->next)
		if (u->is_lock || !kept)
			unfinished_unlink(u);
		else
			u->name[0] = '\0';
	for (const unfinished_end *x = ends; x; x = x->next)
		x->sweep(x->arg);
}

void unfinished_give_up(void)
{
	freeze();
	unfinished_remove_all();
}
