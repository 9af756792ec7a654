/* SPDX-License-Identifier: GPL-3.0-or-later */
/* LD_PRELOAD shim for the tests over MPI, built with mpicc: MPI_SHIM=CALL@N[:RANK] lets the N-th
 * MPI_CALL of the process fail, or of that rank alone (by the launcher's environment). With
 * MPI_SHIM=cut=CALL@N[:RANK] it has half of its room, so what is received there is too long; with
 * MPI_SHIM=stop=Finalize@1[:RANK] the process stops behind it. With MPI_SHIM_APART=1 ranks share no
 * memory, so that all they have for one another goes through MPI. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <mpi.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static int is_meant(const char *rank)
{
	const char *own = getenv("OMPI_COMM_WORLD_RANK");

	if (!own)
		own = getenv("PMI_RANK");
	return *rank != ':' || (own && strcmp(rank + 1, own) == 0);
}

static int is_struck(const char *plan, const char *call)
{
	static atomic_ulong calls;
	size_t n = strlen(call);
	char *rank;

	if (!plan || strncmp(plan, call, n) != 0 || plan[n] != '@')
		return 0;
	n = strtoul(plan + n + 1, &rank, 10);
	return is_meant(rank) && atomic_fetch_add(&calls, 1) + 1 == n;
}

int memfd_create(const char *name, unsigned flags)
{
	if (getenv("MPI_SHIM_APART")) {
		errno = ENOSYS;
		return -1;
	}
	return ((int (*)(const char *, unsigned))dlsym(RTLD_NEXT, "memfd_create"))(name, flags);
}

static int fails(const char *call)
{
	return is_struck(getenv("MPI_SHIM"), call);
}

static int room(const char *call, int n)
{
	const char *plan = getenv("MPI_SHIM");
	int cut = plan && strncmp(plan, "cut=", 4) == 0 && is_struck(plan + 4, call);

	return cut ? n / 2 : n;
}

/* The call has gone its way, but tells an error: nothing of it is left behind. */
#define MAY_FAIL(call, parameters, ...)                  \
	int MPI_##call parameters                        \
	{                                                \
		const int fail = fails(#call);           \
		const int rc = PMPI_##call(__VA_ARGS__); \
		return fail ? MPI_ERR_OTHER : rc;        \
	}

MAY_FAIL(Init_thread, (int *argc, char ***argv, int wanted, int *got), argc, argv, wanted, got)
int MPI_Finalize(void)
{
	const char *plan = getenv("MPI_SHIM");
	const int rc = PMPI_Finalize();

	if (plan && strncmp(plan, "stop=", 5) == 0 && is_struck(plan + 5, "Finalize"))
		raise(SIGSTOP);
	return rc;
}

MAY_FAIL(Comm_dup, (MPI_Comm c, MPI_Comm *copy), c, copy)
MAY_FAIL(Comm_idup, (MPI_Comm c, MPI_Comm *copy, MPI_Request *r), c, copy, r)
MAY_FAIL(Comm_set_errhandler, (MPI_Comm c, MPI_Errhandler h), c, h)
MAY_FAIL(Comm_free, (MPI_Comm * c), c)
MAY_FAIL(Type_size_x, (MPI_Datatype t, MPI_Count *n), t, n)
MAY_FAIL(Test, (MPI_Request * r, int *flag, MPI_Status *s), r, flag, s)
MAY_FAIL(Get_count, (const MPI_Status *s, MPI_Datatype t, int *n), s, t, n)
MAY_FAIL(Ibcast, (void *b, int n, MPI_Datatype t, int root, MPI_Comm c, MPI_Request *r), b,
	 room("Ibcast", n), t, root, c, r)
MAY_FAIL(Iallreduce,
	 (const void *s, void *b, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c, MPI_Request *r), s,
	 b, n, t, op, c, r)
MAY_FAIL(Iallgather,
	 (const void *s, int n, MPI_Datatype t, void *b, int m, MPI_Datatype u, MPI_Comm c,
	  MPI_Request *r),
	 s, n, t, b, room("Iallgather", m), u, c, r)
MAY_FAIL(Issend,
	 (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *r), b, n,
	 t, to, tag, c, r)
MAY_FAIL(Irecv, (void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request *r), b,
	 room("Irecv", n), t, from, tag, c, r)
