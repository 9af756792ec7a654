/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Start MPI for hetsort, and end MPI or the whole job. libhetsort does not contain this file,
 * because its callers start and end MPI themselves. */
#include "comm_mpi.h"
#include "monitor.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

static atomic_bool finalizing; /* MPI_Abort may no longer be called */

_Noreturn void comm_mpi_end(int code)
{
	int up = 0;
	fflush(NULL);
	if (!atomic_load(&finalizing) && MPI_Initialized(&up) == MPI_SUCCESS && up)
		MPI_Abort(MPI_COMM_WORLD, code);
	_exit(code);
}

static void mpi_end_job(comm *c, int code)
{
	(void)c;
	comm_mpi_end(code);
}

/* Let the kernel send short messages at once. MPI_Finalize sends several to Open MPI's launcher,
 * over TCP, and only the last has an answer: the second waits until the first is acknowledged, 40
 * ms later. Without /dev/shm, ranks need these 40 ms: a rank that ends removes the directory of the
 * job, in which others still remove their shared memory, and complain that it is gone
 * (open-mpi/ompi#9905). Launchers leave only standard streams open, so all other sockets are
 * MPI's. */
static void send_at_once(void)
{
	enum { MOST_FILES = 256 };
	const int yes = 1;
	if (access("/dev/shm", W_OK) != 0)
		return;
	for (int fd = STDERR_FILENO + 1; fd < MOST_FILES; fd++)
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

status comm_mpi_run(size_t max_msg, rank_main *fn, void *arg, err *e)
{
	const char *all = getenv("OMPI_COMM_WORLD_SIZE");
	const char *here = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
	enum { SLACK_NS = 1000 };
	comm *c;
	int level = 0;
	/* ranks nap for 10 us while they wait for each other; the kernel would add 50 */
	(void)prctl(PR_SET_TIMERSLACK, SLACK_NS);
	/* MPI_Init need not connect ranks: comm_mpi_open does it, and can name a rank that does not
	 * answer */
	(void)setenv("OMPI_MCA_mpi_preconnect_mpi", "0", 1);
	/* If all ranks are on one host, keep Open MPI from trying every network first, which takes
	 * 0.2 s. Do not override a choice made in the environment or on mpirun's command line. */
	if (all && here && strcmp(all, here) == 0 && !getenv("OMPI_MCA_mtl"))
		(void)setenv("OMPI_MCA_pml", "ob1", 0);
	if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level) != MPI_SUCCESS)
		return err_set(e, ST_PEER, "cannot start MPI");
	send_at_once();
	/* MPI reports errors on these communicators if an operation belongs to no other */
	if (MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) != MPI_SUCCESS ||
	    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN) != MPI_SUCCESS)
		return err_set(e, ST_PEER, "cannot make MPI return errors");
	status st = comm_mpi_open(&c, MPI_COMM_WORLD, monitor_wait_for, max_msg, e);
	if (st != ST_OK)
		return st;
	struct comm_ops ops = *c->ops;
	ops.end_job = mpi_end_job;
	c->ops = &ops;
	st = fn(c, arg);
	comm_mpi_close(c);
	atomic_store(&finalizing, true);
	MPI_Finalize();
	return st;
}
