/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A list under a lock. A file is created and put on the list under that lock, so that none is
 * missed; the thread that ends the process never releases it. */
#include "unfinished.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* recursive: the thread that ends the process may still write a report */
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static unfinished *all;
static bool settled, frozen;

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
	struct stat st;
	if (u->is_lock && fstatat(u->dirfd, u->name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		u->number = st.st_ino;
	pthread_mutex_lock(&lock);
	u->next = all;
	all = u;
	pthread_mutex_unlock(&lock);
}

int unfinished_create(unfinished *u, int flags, mode_t mode)
{
	pthread_mutex_lock(&lock);
	const int fd = openat(u->dirfd, u->name, flags | O_CREAT, mode);
	if (fd >= 0)
		unfinished_note(u);
	else
		u->name[0] = '\0';
	pthread_mutex_unlock(&lock);
	return fd;
}

/* Another process may have removed a lock, and a third one taken it. */
static void remove_name(const unfinished *u)
{
	struct stat st;
	if (u->is_lock && u->number && fstatat(u->dirfd, u->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    st.st_ino != u->number)
		return;
	(void)unlinkat(u->dirfd, u->name, 0);
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

void unfinished_settle(void)
{
	pthread_mutex_lock(&lock);
	settled = true;
	pthread_mutex_unlock(&lock);
}

/* False: a file system that hangs. What is there stays there. */
static bool lock_in_time(void)
{
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until); /* the wall clock may be set meanwhile */
	until.tv_nsec += 500000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	return pthread_mutex_clocklock(&lock, CLOCK_MONOTONIC, &until) == 0;
}

bool unfinished_freeze(void)
{
	if (!lock_in_time())
		return true;
	frozen = !settled;
	if (!frozen)
		pthread_mutex_unlock(&lock);
	return frozen;
}

void unfinished_give_up(void)
{
	if (!lock_in_time())
		return;
	for (const unfinished *u = all; u; u = u->next)
		if (!settled || u->is_lock)
			remove_name(u);
}

void unfinished_remove_all(void)
{
	for (const unfinished *u = frozen ? all : NULL; u; u = u->next)
		remove_name(u);
}
