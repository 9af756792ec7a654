/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A pointer in a message to ranks of the same process. Whoever receives it follows it only if it is
 * whole: what was damaged before it was sent has a right checksum, and must not end the program. */
#ifndef HETSORT_COMM_PROCESS_POINTER_H
#define HETSORT_COMM_PROCESS_POINTER_H

#include "base/splitmix.h"

#include <stdbool.h>

typedef struct process_pointer {
	void *at;
	uint64_t check; /* of `at`, in this process */
} process_pointer;

/* In a place that another process is hardly given; no system call, as there are very many. */
extern const char process_pointer_home;

static inline uint64_t process_pointer_check(const void *at)
{
	uint64_t seed = (uint64_t)(uintptr_t)at ^ (uint64_t)(uintptr_t)&process_pointer_home << 16;
	return splitmix(&seed);
}

static inline process_pointer process_pointer_to(void *at)
{
	return (process_pointer){ at, process_pointer_check(at) };
}

static inline bool process_pointer_is_whole(const process_pointer *p)
{
	return p->check == process_pointer_check(p->at);
}

#endif
