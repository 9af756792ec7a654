/* SPDX-License-Identifier: GPL-3.0-or-later */
/* By the environment alone, which is all there is before MPI has started, or where it has not. */
#include "launch.h"
#include "base/sysfile.h"
#include "number.h"
#include "base/size.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_PARENTS = 8 };

static const char *first_set(const char *const *name, size_t n, size_t *which)
{
	for (*which = 0; *which < n; ++*which) {
		const char *v = getenv(name[*which]);
		if (v)
			return v;
	}
	return NULL;
}

const char *launch_rank(void)
{
	static const char *const rank_of[] = { "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
					       "LAMRANK", "SLURM_PROCID" };
	size_t which;
	return first_set(rank_of, sizeof rank_of / sizeof *rank_of, &which);
}

bool launch_speaks(void)
{
	const char *rank = launch_rank();
	return !rank || strcmp(rank, "0") == 0;
}

/* The launcher closest to us goes first: mpirun inside a step of srun. SLURM_NTASKS will not do, it
 * is there in a batch script as well, where one process is started of which nobody expects more. */
status launch_check(int size, err *e)
{
	static const char *const size_of[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
					       "SLURM_STEP_NUM_TASKS" };
	size_t which;
	const char *set = first_set(size_of, sizeof size_of / sizeof *size_of, &which);
	uint64_t n;
	if (!set || !number_parse(set, 0, INT_MAX, &n) || n == (uint64_t)size)
		return ST_OK;
	return err_set(e, ST_REFUSED,
		       "%s says that %" PRIu64
		       " processes were started, but MPI joins %d: launcher and MPI do "
		       "not fit together (with Slurm: srun --mpi=pmix, or mpirun)",
		       size_of[which], n, size);
}

static int open_terminal(const char *path)
{
	const int fd = open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || isatty(fd))
		return fd;
	close(fd);
	return -1;
}

/* Scripts between the launcher and this process share its pipe; the first one that has another
 * standard error is the launcher. */
int launch_terminal(pid_t *group)
{
	struct stat own, its;
	char path[64];
	uint64_t pid = (uint64_t)getppid();
	if (!launch_rank() || fstat(STDERR_FILENO, &own) != 0 ||
	    (!S_ISFIFO(own.st_mode) && !S_ISSOCK(own.st_mode)))
		return -1;
	for (int i = 0; i < MOST_PARENTS && pid > 1; i++) {
		(void)snprintf(path, sizeof path, "/proc/%llu/fd/2", (unsigned long long)pid);
		if (stat(path, &its) != 0)
			return -1;
		*group = getpgid((pid_t)pid);
		if (its.st_dev != own.st_dev || its.st_ino != own.st_ino)
			return S_ISCHR(its.st_mode) ? open_terminal(path) : -1;
		(void)snprintf(path, sizeof path, "/proc/%llu/status", (unsigned long long)pid);
		if (!sysfile_number("", path, "PPid", &pid))
			return -1;
	}
	return -1;
}

/* ------------------------------------------------------------ */

/* Standard streams, limits and rights of the process. */

/* The number of a closed standard stream would go to the next file that is opened, and what is
 * printed would be written there. It is given to a stream on which every use fails. */
static status hold_standard_streams(err *e)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			return err_set(e, ST_RESOURCE, "standard stream %d is closed", fd);
	return ST_OK;
}

/* Runs on disk take many descriptors. */
static void raise_file_limit(void)
{
	struct rlimit l;
	if (getrlimit(RLIMIT_NOFILE, &l) != 0 || l.rlim_cur == l.rlim_max)
		return;
	l.rlim_cur = l.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &l);
}

/* Names, libraries and environment are the caller's. With more rights than the caller has, they
 * would reach files that the caller may not. */
static status refuse_lent_rights(err *e)
{
	return getauxval(AT_SECURE)
		       ? err_set(e, ST_REFUSED,
				 "refused to run with more rights than its caller's "
				 "(set-user-ID, set-group-ID, capabilities of the file)")
		       : ST_OK;
}

enum { LEAST_STACK_BYTES = 512 << 10 };

/* A thread's stack is as large as the limit; one that is too small ends in a crash. */
static status need_stack(err *e)
{
	char limit[SIZE_TEXT_BYTES], least[SIZE_TEXT_BYTES];
	struct rlimit l;
	if (getrlimit(RLIMIT_STACK, &l) != 0 || l.rlim_cur >= LEAST_STACK_BYTES)
		return ST_OK;
	return err_set(e, ST_RESOURCE, "stack limit is %s, need at least %s",
		       size_text(l.rlim_cur, limit), size_text(LEAST_STACK_BYTES, least));
}

/* hwloc, which Open MPI loads as well, complains on standard error about a machine that it cannot
 * describe, such as a chroot without /sys. Sorting does not need that description. Set this while
 * no other thread exists; a user who has set it decides. */
static void silence_hwloc(void)
{
	(void)setenv("HWLOC_HIDE_ERRORS", "2", 0);
}

status process_prepare(err *e)
{
	silence_hwloc();
	setvbuf(stderr, NULL, _IOLBF, BUFSIZ); /* a message is one write, or launchers mix them */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	raise_file_limit();
	status rc = hold_standard_streams(e);
	if (rc == ST_OK)
		rc = refuse_lent_rights(e);
	return rc == ST_OK ? need_stack(e) : rc;
}
