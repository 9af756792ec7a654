/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A list with a lock. A file is created and put on the list under that lock, so that none is
 * missed. The thread that ends the process takes the lock and never releases it. */
#include "unfinished.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

/* recursive: the thread that ends the process may still write a report */
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static unfinished *all;
static unfinished_end *ends;
static atomic_bool
	settled; /* read without the lock, which a thread that creates files may hold for long */
static _Thread_local bool frozen; /* this thread has the lock until the process ends */

void unfinished_hold(void)
{
	pthread_mutex_lock(&lock);
}

void unfinished_release(void)
{
	pthread_mutex_unlock(&lock);
}

void unfinished_note(unfinished *u)
{
	pthread_mutex_lock(&lock);
	(void)file_id_at(u->dirfd, u->name, &u->is);
	u->next = all;
	all = u;
	pthread_mutex_unlock(&lock);
}

/* Remove the name if it still has the noted file: another program may have replaced the file, or
 * another job taken over a lock. The next job removes the rest. */
static void remove_name(const unfinished *u)
{
	unsigned removed = 0;
	(void)file_remove(u->dirfd, u->name, &u->is, &removed);
}

void unfinished_forget(unfinished *u)
{
	pthread_mutex_lock(&lock);
	for (unfinished **at = &all; *at; at = &(*at)->next)
		if (*at == u) {
			*at = u->next;
			break;
		}
	u->name[0] = '\0';
	pthread_mutex_unlock(&lock);
}

void unfinished_remove(unfinished *u)
{
	if (u->name[0])
		remove_name(u);
	unfinished_forget(u);
}

void unfinished_at_end(unfinished_end *x)
{
	pthread_mutex_lock(&lock);
	x->next = ends;
	ends = x;
	pthread_mutex_unlock(&lock);
}

void unfinished_end_as_usual(unfinished_end *x)
{
	pthread_mutex_lock(&lock);
	for (unfinished_end **at = &ends; *at; at = &(*at)->next)
		if (*at == x) {
			*at = x->next;
			break;
		}
	pthread_mutex_unlock(&lock);
}

void unfinished_settle(void)
{
	pthread_mutex_lock(&lock);
	atomic_store(&settled, true);
	pthread_mutex_unlock(&lock);
}

/* The wall clock may be set while waiting, but ThreadSanitizer only knows the call that uses it. */
#ifdef __SANITIZE_THREAD__
#	define FREEZE_CLOCK      CLOCK_REALTIME
#	define lock_until(until) pthread_mutex_timedlock(&lock, until)
#else
#	define FREEZE_CLOCK      CLOCK_MONOTONIC
#	define lock_until(until) pthread_mutex_clocklock(&lock, FREEZE_CLOCK, until)
#endif

/* If a file system hangs, do not wait longer: its files stay. */
static void freeze(void)
{
	struct timespec until;
	clock_gettime(FREEZE_CLOCK, &until);
	until.tv_nsec += 500000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	frozen = lock_until(&until) == 0;
}

static void thaw(void)
{
	if (frozen)
		pthread_mutex_unlock(&lock);
	frozen = false;
}

bool unfinished_freeze(void)
{
	if (!atomic_load(&settled))
		freeze();
	if (atomic_load(&settled))
		thaw();
	return !atomic_load(&settled);
}

bool unfinished_freeze_late(void)
{
	freeze();
	const bool left = !frozen || all || ends;
	if (!left)
		thaw();
	return left;
}

void unfinished_remove_all(void)
{
	bool kept = false;
	if (!frozen)
		return;
	for (const unfinished_end *x = ends; x; x = x->next)
		kept |= x->keep && x->keep(x->arg);
	for (unfinished *u = all; u; u = u->next)
		if (u->is_lock || !kept)
			remove_name(u);
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
