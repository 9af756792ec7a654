/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A rank leaves while the others wait for it: the watchdog ends the job, whichever rank it is. Each
 * case is a process of its own, which the alarm ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "comm/monitor.h"

enum { RANKS = 3, FOUND = 42 };

static void end(comm *c, const stall *s)
{
	(void)c;
	_exit(s->kind == STALL_ALL && s->rank == 0 ? FOUND : 1);
}

static status one_rank(comm *c, void *leaver)
{
	err e = { ST_OK, "" };
	char byte = 0;
	if (monitor_join(c, 0.3, false, end, &e) != ST_OK)
		return e.code;
	if (c->rank != *(int *)leaver)
		(void)comm_allgather(c, &byte, &(char[RANKS]){ 0 }, 1);
	monitor_leave(c);
	return ST_OK;
}

static int ends_with(int leaver)
{
	int st = 0;
	err e = { ST_OK, "" };
	const pid_t pid = fork();
	if (pid == 0) {
		alarm(60);
		if (monitor_start(0.3, end, &e) == ST_OK)
			(void)comm_local_run(RANKS, one_rank, &leaver, &e);
		_exit(e.code);
	}
	assert_true(pid > 0 && waitpid(pid, &st, 0) == pid);
	return WIFEXITED(st) ? WEXITSTATUS(st) : -WTERMSIG(st);
}

static void the_others_do_not_wait_without_end(void **state)
{
	(void)state;
	for (int leaver = 0; leaver < RANKS; leaver++)
		assert_int_equal(ends_with(leaver), FOUND);
	assert_int_equal(ends_with(RANKS), 0); /* no rank leaves early */
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(the_others_do_not_wait_without_end) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
