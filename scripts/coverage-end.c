/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Linked into the programs that scripts/coverage counts, with ld's --wrap: what a program ran is
 * written only when it ends by exit(), but many errors end a program by _exit(), by a
 * signal to itself, or by MPI_Abort(). Not for what others end with SIGKILL. */
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
int __real_MPI_Abort(void *comm, int code); /* a communicator fits a pointer in every MPI */
int __wrap_MPI_Abort(void *comm, int code);

/* The faults of a build with failpoints are for the program, not for what writes the counts. Runs
 * before the destructor of the latter. */
__attribute__((destructor)) static void no_more_faults(void)
{
	if (fail_plan)
		(void)fail_plan(NULL, NULL);
}

/* Start counting again, or the rest of a program that continues would not be counted. */
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
