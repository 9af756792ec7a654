/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the environment and /proc, but does not call MPI, which may not have started. */
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

/* Return the first of these variables that is set; the names end with NULL. */
static const char *launch_variable(const char *const *name)
{
	const char *value = NULL;
	for (; *name && !value; name++)
		value = getenv(*name);
	return value;
}

const char *launch_rank(void)
{
	static const char *const name[] = {
		"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "LAMRANK", "SLURM_PROCID", NULL
	};
	return launch_variable(name);
}

bool launch_speaks(void)
{
	const char *rank = launch_rank();
	return !rank || strcmp(rank, "0") == 0;
}

bool launch_is_first_here(void)
{
	static const char *const name[] = { "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
					    "SLURM_LOCALID", NULL };
	const char *rank = launch_variable(name);
	return !rank || strcmp(rank, "0") == 0;
}

/* Use the variables of the launcher that is nearest to this process: mpirun may be started in a
 * step of srun. Do not use SLURM_NTASKS, which is set in a batch script, too, although the script
 * is one process. */
status launch_check(int size, err *e)
{
	static const char *const name[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
					    "SLURM_STEP_NUM_TASKS" };
	size_t i = 0;
	uint64_t n;
	while (i + 1 < sizeof name / sizeof *name && !getenv(name[i]))
		i++;
	const char *set = getenv(name[i]);
	if (!set || !number_parse(set, 0, INT_MAX, &n) || n == (uint64_t)size)
		return ST_OK;
	return err_set(e, ST_REFUSED,
		       "%s says that %" PRIu64
		       " processes were started, but MPI joins %d: the launcher belongs to "
		       "another MPI (with Slurm: use srun --mpi=pmix, or mpirun)",
		       name[i], n, size);
}

/* Find the first parent with another standard error, which is the launcher. Scripts between the
 * launcher and this process share its pipe. */
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
		if (its.st_dev != own.st_dev || its.st_ino != own.st_ino) {
			if (!S_ISCHR(its.st_mode))
				return -1;
			const int fd = open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
			if (fd < 0 || isatty(fd))
				return fd;
			close(fd);
			return -1;
		}
		(void)snprintf(path, sizeof path, "/proc/%llu/status", (unsigned long long)pid);
		if (!sysfile_number("", path, "PPid", &pid))
			return -1;
	}
	return -1;
}

status process_prepare(err *e)
{
	enum { LEAST_STACK_BYTES = 512 << 10 };
	char limit[SIZE_TEXT_BYTES], least[SIZE_TEXT_BYTES];
	struct rlimit l;
	/* hwloc, which Open MPI loads as well, complains on standard error about a machine that it
	 * cannot describe, such as a chroot without /sys. Sorting does not need that description.
	 * Set this while no other thread exists, unless the user has set it. */
	(void)setenv("HWLOC_HIDE_ERRORS", "2", 0);
	setvbuf(stderr, NULL, _IOLBF, BUFSIZ); /* a write per message: launchers mix writes */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	if (getrlimit(RLIMIT_NOFILE, &l) == 0) { /* runs on disk take many descriptors */
		l.rlim_cur = l.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &l);
	}
	/* The next file would get the number of a closed standard stream, and what is printed would
	 * be written there. So open a stream on which every use fails. */
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			return err_set(e, ST_RESOURCE, "standard stream %d is closed", fd);
	/* The caller chooses names, libraries and environment. If the program had more rights than
	 * its caller, the caller could use them to reach files that are forbidden to it. */
	if (getauxval(AT_SECURE))
		return err_set(e, ST_REFUSED,
			       "refused to run with more rights than its caller's "
			       "(set-user-ID, set-group-ID, capabilities of the file)");
	/* The stack of a thread has the size of this limit. If it is too small, the thread
	 * crashes. */
	if (getrlimit(RLIMIT_STACK, &l) == 0 && l.rlim_cur < LEAST_STACK_BYTES)
		return err_set(e, ST_RESOURCE, "stack limit is %s, need at least %s",
			       size_text(l.rlim_cur, limit), size_text(LEAST_STACK_BYTES, least));
	return ST_OK;
}
