/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Coroutines of one thread: the loop that runs them goes into one, which goes back to it. Takes as
 * long as a call or two, and no system call once it has begun. */
#ifndef HETSORT_SIM_COROUTINE_H
#define HETSORT_SIM_COROUTINE_H

#include <setjmp.h>
#include <stdbool.h>

typedef struct coroutine {
	char *stack; /* kept for the next one that begins here */
	void (*fn)(void);
	bool begun;
	jmp_buf at;
} coroutine;

/* coroutine_prepare - fn is what it will do; it must not return, but go back for good. Is there
 * memory for its stack? */
bool coroutine_prepare(coroutine *c, void (*fn)(void));

/* coroutine_enter - of the loop: until it goes back. coroutine_leave - of the coroutine: back to
 * the loop, until it is entered again. */
void coroutine_enter(coroutine *c);
void coroutine_leave(coroutine *c);

#endif
