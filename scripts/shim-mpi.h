/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The calls of MPI that the shim replaces, the end of shim.c in mpi-shim.so: only this part needs
 * MPI. */
#include <mpi.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

/* Make the call in any case, so that no message remains unreceived, and then report an error if a
 * point says so. */
#define MPI_MAY_FAIL(call, parameters, ...)              \
	int MPI_##call parameters                        \
	{                                                \
		const how h = struck(#call, ANY_CALL);   \
		const int rc = PMPI_##call(__VA_ARGS__); \
		if (h == STOP)                           \
			raise(SIGSTOP);                  \
		return h == FAIL ? MPI_ERR_OTHER : rc;   \
	}
#define ROOM(n) (h == SHORT ? (n) / 2 : (n))

MPI_MAY_FAIL(Init_thread, (int *argc, char ***argv, int wanted, int *got), argc, argv, wanted, got)
MPI_MAY_FAIL(Finalize, (void), )
MPI_MAY_FAIL(Comm_dup, (MPI_Comm c, MPI_Comm *copy), c, copy)
MPI_MAY_FAIL(Comm_idup, (MPI_Comm c, MPI_Comm *copy, MPI_Request *r), c, copy, r)
MPI_MAY_FAIL(Comm_set_errhandler, (MPI_Comm c, MPI_Errhandler e), c, e)
MPI_MAY_FAIL(Comm_free, (MPI_Comm * c), c)
MPI_MAY_FAIL(Type_size_x, (MPI_Datatype t, MPI_Count *n), t, n)
MPI_MAY_FAIL(Test, (MPI_Request * r, int *flag, MPI_Status *s), r, flag, s)
MPI_MAY_FAIL(Testsome, (int n, MPI_Request r[], int *done, int which[], MPI_Status s[]), n, r, done,
	     which, s)
MPI_MAY_FAIL(Get_count, (const MPI_Status *s, MPI_Datatype t, int *n), s, t, n)
MPI_MAY_FAIL(Ibcast, (void *b, int n, MPI_Datatype t, int root, MPI_Comm c, MPI_Request *r), b,
	     ROOM(n), t, root, c, r)
MPI_MAY_FAIL(Iallreduce,
	     (const void *s, void *b, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c, MPI_Request *r),
	     s, b, n, t, op, c, r)
MPI_MAY_FAIL(Iallgather,
	     (const void *s, int n, MPI_Datatype t, void *b, int m, MPI_Datatype u, MPI_Comm c,
	      MPI_Request *r),
	     s, n, t, b, ROOM(m), u, c, r)
MPI_MAY_FAIL(Issend,
	     (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *r), b,
	     n, t, to, tag, c, r)
MPI_MAY_FAIL(Irecv, (void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request *r),
	     b, ROOM(n), t, from, tag, c, r)

/* Add a line to the file HETSORT_SHIM_SOCKETS for each TCP connection that this process shuts down:
 * whether short messages were sent at once, or held back while others were not acknowledged. */
int shutdown(int fd, int what)
{
	const char *name = getenv("HETSORT_SHIM_SOCKETS");
	struct sockaddr_storage peer;
	socklen_t n = sizeof peer, bytes = sizeof(int);
	int at_once;
	if (name && getpeername(fd, (struct sockaddr *)&peer, &n) == 0 &&
	    getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &at_once, &bytes) == 0) {
		const int to = NEXT(open64)(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
		if (to < 0 || dprintf(to, at_once ? "at once\n" : "held back\n") < 0 ||
		    NEXT(close)(to) != 0)
			abort();
	}
	return NEXT(shutdown)(fd, what);
}
