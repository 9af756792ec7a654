/* SPDX-License-Identifier: GPL-3.0-or-later */
/* oom_help.h - allocations that fail on demand, and are counted, for tests that let each one of a
 * call fail in turn. Whose: those of the program and its static libraries, through glibc's
 * allocator; with OOM_SHARED_TOO those of shared libraries as well; with OOM_WRAP those that the
 * linker sends here (-Wl,--wrap=malloc and so on). Where that cannot be done, OOM_CANNOT is defined
 * and main() skips the test. */
#ifndef OOM_HELP_H
#define OOM_HELP_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#if defined(__has_feature)
#	if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#		define OOM_SANITIZED 1
#	endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#	define OOM_SANITIZED 1
#endif

#ifdef OOM_WRAP
#	define OOM_OURS(call) __wrap_##call
#	define OOM_REAL(call) __real_##call
#elif defined(__GLIBC__) && !defined(OOM_SANITIZED)
#	define OOM_OURS(call) call
#	define OOM_REAL(call) __libc_##call
#else
#	define OOM_CANNOT 1
#endif

#ifdef OOM_CANNOT
int main(void)
{
	puts("needs glibc's allocator");
	return 77;
}
#else

extern void *OOM_REAL(malloc)(size_t n);
extern void *OOM_REAL(calloc)(size_t n, size_t of);
extern void *OOM_REAL(realloc)(void *p, size_t n);
extern void OOM_REAL(free)(void *p);

static long until = -1; /* allocations until one fails; below 0: none does */
static long live;       /* pieces handed out and not given back */
static size_t asked;    /* bytes, in all */

static bool fails(void)
{
	const bool now = until >= 0 && until-- == 0;

	if (now)
		errno = ENOMEM;
	return now;
}

static void *counted(void *p)
{
	live += p != NULL;
	return p;
}

#	ifdef OOM_SHARED_TOO
#		pragma GCC visibility push(default)
#	else
#		pragma GCC visibility push(hidden)
#	endif
void *OOM_OURS(malloc)(size_t n);
void *OOM_OURS(calloc)(size_t n, size_t of);
void *OOM_OURS(realloc)(void *p, size_t n);
void OOM_OURS(free)(void *p);

void *OOM_OURS(malloc)(size_t n)
{
	asked += n;
	return fails() ? NULL : counted(OOM_REAL(malloc)(n));
}

void *OOM_OURS(calloc)(size_t n, size_t of)
{
	asked += n * of;
	return fails() ? NULL : counted(OOM_REAL(calloc)(n, of));
}

void *OOM_OURS(realloc)(void *p, size_t n)
{
	asked += n;
	if (fails())
		return NULL;
	return p ? OOM_REAL(realloc)(p, n) : counted(OOM_REAL(malloc)(n));
}

void OOM_OURS(free)(void *p)
{
	live -= p != NULL;
	OOM_REAL(free)(p);
}
#	pragma GCC visibility pop

#endif
#endif
