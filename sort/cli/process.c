/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Standard streams, limits and rights of the process. */
#include "process.h"
#include "base/size.h"

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

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
