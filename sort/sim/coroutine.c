/* SPDX-License-Identifier: GPL-3.0-or-later */
/* makecontext() finds the first way into a stack, which asks the system for the signal mask; each
 * later one is a long jump, which does not. Stacks are cut from large pieces of memory, of which
 * the system gives pages as they are used: there may be tens of thousands, and the system allows a
 * process no more mappings than that. Below each is a page that must not be touched, as long as
 * there are few. */
#undef _FORTIFY_SOURCE /* its longjmp takes another stack for an error */
#include "coroutine.h"

#include <stddef.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { STACK_BYTES = 512 << 10, GUARD_BYTES = 4 << 10, GUARDED = 4096, PIECE_STACKS = 64 };

static struct {
	jmp_buf at;
	ucontext_t first; /* before the first jump */
	char *piece;
	unsigned left, guarded;
} loop;

static char *new_stack(void)
{
	if (loop.left == 0) {
		loop.piece = mmap(NULL, (size_t)PIECE_STACKS * STACK_BYTES, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
		if (loop.piece == MAP_FAILED)
			return NULL;
		(void)madvise(loop.piece, (size_t)PIECE_STACKS * STACK_BYTES, MADV_NOHUGEPAGE);
		loop.left = PIECE_STACKS;
	}
	char *s = loop.piece + (size_t)--loop.left * STACK_BYTES;
	if (loop.guarded < GUARDED && mprotect(s, GUARD_BYTES, PROT_NONE) == 0)
		loop.guarded++;
	return s;
}

bool coroutine_prepare(coroutine *c, void (*fn)(void))
{
	c->fn = fn;
	c->begun = false;
	return c->stack || (c->stack = new_stack());
}

static void begin(coroutine *c)
{
	ucontext_t there;
	c->begun = true;
	getcontext(&there);
	there.uc_stack.ss_sp = c->stack + GUARD_BYTES;
	there.uc_stack.ss_size = STACK_BYTES - GUARD_BYTES;
	makecontext(&there, c->fn, 0);
	swapcontext(&loop.first, &there);
}

void coroutine_enter(coroutine *c)
{
	if (_setjmp(loop.at))
		return;
	if (c->begun)
		_longjmp(c->at, 1);
	begin(c);
}

void coroutine_leave(coroutine *c)
{
	if (!_setjmp(c->at))
		_longjmp(loop.at, 1);
}
