/* SPDX-License-Identifier: GPL-3.0-or-later */
/* shim.h - for tests that are linked with shim.so: allocations that fail on demand and are counted.
 * The shim calls glibc's allocator. With a sanitizer, which has its own allocator, or another libc,
 * SHIM_CANNOT is the reason for which main() skips the test. */
#ifndef SCRIPTS_SHIM_H
#define SCRIPTS_SHIM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#if defined(__has_feature)
#	if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#		define SHIM_CANNOT "the shim and the sanitizers want the same calls"
#	endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#	define SHIM_CANNOT "the shim and the sanitizers want the same calls"
#elif !defined(__GLIBC__)
#	define SHIM_CANNOT "the shim needs glibc's allocator"
#endif

#if defined(SHIM_CANNOT) && !defined(SHIM_ITSELF)
int main(void)
{
	puts(SHIM_CANNOT);
	return 77;
}
#endif

/* Counts of calls of malloc, calloc, realloc, free, mmap and munmap by code within [from, to). They
 * are atomic, because one thread may free what another one allocated. */
typedef struct shim_state {
	const char *from, *to;
	atomic_long until;      /* number of allocations before one fails; below 0: none fails */
	atomic_long live;       /* pieces allocated, or pages mapped, and not freed */
	atomic_size_t asked;    /* bytes of all requests */
	atomic_bool no_threads; /* true: no thread can be started */
	atomic_bool not_shared; /* the last mapping that failed was of shared memory */
} shim_state;

extern shim_state shim;

/* Count the calls of the program and its static libraries, or also of shared libraries. */
extern const char __executable_start[], etext[];
#define SHIM_OURS (shim.from = __executable_start, shim.to = etext)
#define SHIM_ALL  (shim.from = NULL, shim.to = (const char *)UINTPTR_MAX)

#endif
