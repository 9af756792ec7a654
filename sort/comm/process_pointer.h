/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A pointer in a message to ranks of the same process. The receiver follows it only if its check
 * fits: a pointer that was damaged before it was sent has a right checksum, but must not end the
 * program. */
#ifndef HETSORT_COMM_PROCESS_POINTER_H
#define HETSORT_COMM_PROCESS_POINTER_H

#include "base/splitmix.h"

#include <stdbool.h>

typedef struct process_pointer {
	void *at;
	uint64_t check; /* of `at`, in this process */
} process_pointer;

/* An address that differs between processes. It needs no system call, because there are very many
 * pointers. */
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
