/* SPDX-License-Identifier: GPL-3.0-or-later */
/* shim.h - for tests that are linked with shim.so: allocations that fail on demand and are counted.
 * Sanitizers have an allocator of their own, and the shim calls glibc's: elsewhere SHIM_CANNOT is
 * the reason why main() skips the test. */
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

/* Calls of malloc, calloc, realloc, free, mmap and munmap by code within [from, to). Atomic,
 * because a thread may free what its creator allocated. */
typedef struct shim_state {
	const char *from, *to;
	atomic_long until;      /* allocations until one fails; below 0: none does */
	atomic_long live;       /* pieces allocated, or pages mapped, and not freed */
	atomic_size_t asked;    /* bytes, in all */
	atomic_bool no_threads; /* no thread starts */
	atomic_bool not_shared; /* the allocation that failed was memory to be shared */
} shim_state;

extern shim_state shim;

/* The program and its static libraries, or shared libraries, too. */
extern const char __executable_start[], etext[];
#define SHIM_OURS (shim.from = __executable_start, shim.to = etext)
#define SHIM_ALL  (shim.from = NULL, shim.to = (const char *)UINTPTR_MAX)

#endif
