/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads that work for a rank. */
#ifndef HETSORT_BASE_THREAD_H
#define HETSORT_BASE_THREAD_H

#include <pthread.h>

/* thread_start - as pthread_create, for the rank that the calling thread belongs to. The name, of
 * at most 15 bytes and static, is what top, debuggers and the trace see. 0, or an errno. */
int thread_start(pthread_t *thread, const char *name, void *(*work)(void *), void *arg);

#endif
