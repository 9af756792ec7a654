/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the environment and /proc, but does not call MPI, which may not have started. */
#include "launch.h"
#include "base/sysfile.h"
#include "comm/comm.h"
#include "number.h"
#include "base/size.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_PARENTS = 8, MOST_NAMED = 8 };

/* Variables that launchers set for each process. Each list ends with NULL. */
static const char *const rank_names[] = {
	"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "LAMRANK", "SLURM_PROCID", NULL
};
static const char *const rank_here_names[] = { "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
					       "SLURM_LOCALID", NULL };
/* Not SLURM_NTASKS, which is set in a batch script, too, although the script is one process. */
static const char *const size_names[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
					  "SLURM_STEP_NUM_TASKS", NULL };
static const char *const size_here_names[] = { "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
					       NULL };

#define JOB      "PMIX_NAMESPACE" /* names the job of a rank, which has the next variable, too */
#define JOB_RANK "PMIX_RANK"

enum { UNKNOWN, HERE, ELSEWHERE };

static atomic_int first_rank = UNKNOWN; /* where rank 0 of this job is */

/* Return the first of these variables that is set, or NULL. *name is then its name. */
static const char *launch_variable(const char *const *names, const char **name)
{
	const char *value = NULL;
	for (; *names && !value; names++)
		value = getenv(*name = *names);
	return value;
}

/* Return the number in the first of these variables that is set, or 0. */
static int launch_number(const char *const *names)
{
	const char *name, *text = launch_variable(names, &name);
	uint64_t n;
	return text && number_parse(text, 0, INT_MAX, &n) ? (int)n : 0;
}

void launch_ignore(void)
{
	const char *const *const lists[] = { rank_names, rank_here_names, size_names,
					     size_here_names };
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		for (const char *const *name = lists[i]; *name; name++)
			(void)unsetenv(*name);
}

const char *launch_rank(void)
{
	const char *name;
	return launch_variable(rank_names, &name);
}

void launch_joined(bool first)
{
	atomic_store(&first_rank, first ? HERE : ELSEWHERE);
}

bool launch_speaks(void)
{
	const int known = atomic_load(&first_rank);
	return known == UNKNOWN ? !comm_mpi_launched() || launch_number(rank_names) == 0
				: known == HERE;
}

bool launch_is_first_here(void)
{
	return launch_number(rank_here_names) == 0;
}

/* Use the variables of the launcher that is nearest to this process: mpirun may be started in a
 * step of srun. */
status launch_check(int size, err *e)
{
	const char *name, *set = launch_variable(size_names, &name);
	uint64_t n;
	if (!set || !number_parse(set, 0, INT_MAX, &n) || n == (uint64_t)size)
		return ST_OK;
	return err_set(e, ST_REFUSED,
		       "%s says that %" PRIu64
		       " processes were started, but MPI joins %d: the launcher belongs to "
		       "another MPI (with Slurm: use srun --mpi=pmix, or mpirun); to sort without "
		       "MPI, use --launcher=none",
		       name, n, size);
}

/* Return whether this process runs the same program as the calling process, and if so, set *rank to
 * its rank in this job, or -1. */
static bool find_rank(const char *pid, const char *job, int *rank)
{
	struct stat own, its;
	char path[PATH_MAX], *variable = NULL;
	size_t room = 0;
	uint64_t n;
	bool same = false;
	*rank = -1;
	(void)snprintf(path, sizeof path, "/proc/%s/exe", pid);
	if (stat("/proc/self/exe", &own) != 0 || stat(path, &its) != 0 ||
	    own.st_ino != its.st_ino || own.st_dev != its.st_dev)
		return false;
	(void)snprintf(path, sizeof path, "/proc/%s/environ", pid);
	FILE *f = fopen(path, "re");
	while (f && getdelim(&variable, &room, '\0', f) > 0)
		if (strncmp(variable, JOB "=", sizeof JOB) == 0)
			same = strcmp(variable + sizeof JOB, job) == 0;
		else if (strncmp(variable, JOB_RANK "=", sizeof JOB_RANK) == 0 &&
			 number_parse(variable + sizeof JOB_RANK, 0, INT_MAX, &n))
			*rank = (int)n;
	if (f)
		fclose(f);
	free(variable);
	return same && *rank >= 0;
}

/* Mark the ranks of this job that run this program on this host. Return their number, or 0 if it is
 * unknown. */
static int find_ranks(bool *runs, int size)
{
	const char *job = getenv(JOB);
	DIR *proc = job && runs ? opendir("/proc") : NULL;
	int rank, found = 0;
	for (const struct dirent *d; proc && (d = readdir(proc));)
		if (*d->d_name >= '1' && *d->d_name <= '9' && find_rank(d->d_name, job, &rank) &&
		    rank < size && !runs[rank]) {
			runs[rank] = true;
			found++;
		}
	if (proc)
		closedir(proc);
	return found;
}

/* Write which ranks of a job on one host do not run this program. */
static void missing_text(char text[LAUNCH_TEXT_BYTES], const bool *runs, int size, int found)
{
	int named = 0;
	(void)snprintf(text, LAUNCH_TEXT_BYTES, "%d of %d ranks to start hetsort:", size - found,
		       size);
	for (int i = 0; i < size && named <= MOST_NAMED; i++)
		if (!runs[i])
			text_append(text, LAUNCH_TEXT_BYTES, named++ < MOST_NAMED ? " %d" : " ...",
				    i);
}

unsigned launch_waits(char text[LAUNCH_TEXT_BYTES])
{
	enum { NEVER = UINT_MAX };
	const int rank = launch_number(rank_names), size = launch_number(size_names);
	const int here = launch_number(size_here_names);
	bool *runs = calloc((size_t)size + 1, sizeof *runs);
	const int found = find_ranks(runs, size);
	const bool one_host = here == size, lacks = found > 0 && found < here;
	int first = 0;
	while (found && !runs[first])
		first++;
	if (lacks && one_host)
		missing_text(text, runs, size, found);
	else if (size > 1)
		(void)snprintf(text, LAUNCH_TEXT_BYTES,
			       "the other %d rank%s of its job to start hetsort", size - 1,
			       plural((uint64_t)size - 1));
	else
		(void)snprintf(text, LAUNCH_TEXT_BYTES, "MPI to start");
	if (lacks && !one_host)
		text_append(text, LAUNCH_TEXT_BYTES, " (%d of %d on this host have)", found, here);
	free(runs);
	if (found ? rank != first : !launch_is_first_here())
		return found ? NEVER : 5;
	return lacks ? 1 : found && one_host ? 6 : rank == 0 ? 2 : 4;
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
