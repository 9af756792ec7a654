/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Linked with ld --wrap into the programs that scripts/coverage measures. gcov writes its counts
 * only when a program ends by exit(), but many errors end a program by _exit(), by a signal to
 * itself, or by MPI_Abort(). These functions write the counts before. The counts of a program that
 * another one ends by SIGKILL are lost. */
#define HETSORT_FAILPOINTS
#include "testing/failpoint.h"

#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#pragma weak fail_plan
#pragma weak __real_MPI_Abort

void __gcov_dump(void);
void __gcov_reset(void);
_Noreturn void __real__exit(int code);
_Noreturn void __wrap__exit(int code);
int __real_raise(int sig);
int __wrap_raise(int sig);
int __real_kill(pid_t pid, int sig);
int __wrap_kill(pid_t pid, int sig);
int __real_MPI_Abort(void *comm, int code); /* in every MPI, a communicator fits into a pointer */
int __wrap_MPI_Abort(void *comm, int code);

/* Disable failpoints, so that no call fails while gcov writes the counts. This destructor runs
 * before gcov's. */
__attribute__((destructor)) static void no_more_faults(void)
{
	if (fail_plan)
		(void)fail_plan(NULL, NULL);
}

/* Write the counts, and start again from 0, because the program may continue. */
static void write_counts(void)
{
	no_more_faults();
	__gcov_dump();
	__gcov_reset();
}

void __wrap__exit(int code)
{
	write_counts();
	__real__exit(code);
}

int __wrap_raise(int sig)
{
	write_counts();
	return __real_raise(sig);
}

int __wrap_kill(pid_t pid, int sig)
{
	if (pid == getpid())
		write_counts();
	return __real_kill(pid, sig);
}

int __wrap_MPI_Abort(void *comm, int code)
{
	write_counts();
	return __real_MPI_Abort(comm, code);
}
