/* SPDX-License-Identifier: GPL-3.0-or-later */
/* wait.c - collectives and single messages that are started, then tested with naps in between, so
 * that a waiting rank leaves its processor to those who compute.
 * May not touch: blocking MPI calls. Costs at most 200 us of delay for each wait. */
#include "hm.h"

#include <time.h>

double hm_now_s(void)
{
	struct timespec t;

	if (clock_gettime(CLOCK_MONOTONIC, &t) != 0)
		return 0;
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Short at first, then up to 200 us. A nap cut short is no harm. */
void hm_nap(const struct hm *h, unsigned *tries)
{
	const unsigned naps = *tries < h->quick ? 0 : *tries - h->quick;
	const struct timespec t = { 0, naps < 8 ? 10000 : naps < 32 ? 50000 : 200000 };

	if ((*tries)++ >= h->quick)
		(void)nanosleep(&t, NULL);
}

hetpart_status hm_poll(const struct hm *h, MPI_Request *req, bool *done, unsigned *tries,
		       hetpart_err *err)
{
	int flag = 0;
	const int rc = MPI_Test(req, &flag, MPI_STATUS_IGNORE);

	*done = flag != 0;
	if (rc == MPI_SUCCESS && !flag)
		hm_nap(h, tries);
	return hm_mpi(rc, "a message", err);
}

hetpart_status hm_await(const struct hm *h, MPI_Request *req, hetpart_err *err)
{
	unsigned tries = 0;
	bool done = false;
	hetpart_status st = HETPART_OK;

	while (st == HETPART_OK && !done)
		st = hm_poll(h, req, &done, &tries, err);
	return st;
}

void hm_drop(MPI_Request *req)
{
	if (*req == MPI_REQUEST_NULL)
		return;
	if (MPI_Cancel(req) != MPI_SUCCESS || MPI_Request_free(req) != MPI_SUCCESS)
		*req = MPI_REQUEST_NULL;
}

/* Wait for what was started with result rc. */
static hetpart_status finish(const struct hm *h, int rc, MPI_Request *req, const char *what,
			     hetpart_err *err)
{
	return rc == MPI_SUCCESS ? hm_await(h, req, err) : hm_mpi(rc, what, err);
}

hetpart_status hm_bcast(struct hm *h, void *buf, int n, MPI_Datatype type, int root,
			hetpart_err *err)
{
	MPI_Request req;
	const int rc = MPI_Ibcast(buf, n, type, root, h->comm, &req);

	return finish(h, rc, &req, "MPI_Ibcast", err);
}

hetpart_status hm_allgather(struct hm *h, const void *mine, void *all, int n, MPI_Datatype type,
			    hetpart_err *err)
{
	MPI_Request req;
	const int rc = MPI_Iallgather(mine, n, type, all, n, type, h->comm, &req);

	return finish(h, rc, &req, "MPI_Iallgather", err);
}

hetpart_status hm_least(struct hm *h, const void *mine, void *least, int n, MPI_Datatype type,
			hetpart_err *err)
{
	MPI_Request req;
	const int rc = MPI_Iallreduce(mine, least, n, type, MPI_MIN, h->comm, &req);

	return finish(h, rc, &req, "MPI_Iallreduce", err);
}

hetpart_status hm_send(struct hm *h, const void *buf, int n, MPI_Datatype type, int to, int tag,
		       hetpart_err *err)
{
	MPI_Request req;
	const int rc = MPI_Isend(buf, n, type, to, tag, h->comm, &req);

	return finish(h, rc, &req, "MPI_Isend", err);
}

hetpart_status hm_recv(struct hm *h, void *buf, int n, MPI_Datatype type, int from, int tag,
		       hetpart_err *err)
{
	MPI_Request req;
	const int rc = MPI_Irecv(buf, n, type, from, tag, h->comm, &req);

	return finish(h, rc, &req, "MPI_Irecv", err);
}
