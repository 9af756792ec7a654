/* SPDX-License-Identifier: GPL-3.0-or-later */
/* handle.c - enter and leave a call: the duplicated communicator, and the agreement by which ranks
 * go on or leave together.
 * May not touch: items. Costs a few small collectives for each call. */
#include "hm.h"

#include <string.h>

/* What can be refused before there is a communicator to agree over. */
static hetpart_status check_comm(MPI_Comm comm, hetpart_err *err)
{
	int up = 0, down = 0, inter = 0;

	if (MPI_Initialized(&up) != MPI_SUCCESS || MPI_Finalized(&down) != MPI_SUCCESS || !up ||
	    down)
		return hm_fail(err, HETPART_EINVAL, "MPI is not running");
	if (comm == MPI_COMM_NULL)
		return hm_fail(err, HETPART_EINVAL, "the communicator is MPI_COMM_NULL");
	if (MPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter)
		return hm_fail(err, HETPART_EINVAL, "the communicator is an intercommunicator");
	return HETPART_OK;
}

hetpart_status hm_open(struct hm *h, MPI_Comm comm, hetpart_err *err)
{
	MPI_Request req;
	hetpart_status st = check_comm(comm, err);

	if (st != HETPART_OK)
		return st;
	h->quick = 200;
	if ((st = hm_mpi(MPI_Comm_idup(comm, &h->comm, &req), "MPI_Comm_idup", err)) == HETPART_OK)
		st = hm_await(h, &req, err);
	if (st != HETPART_OK)
		return st;
	if (MPI_Comm_set_errhandler(h->comm, MPI_ERRORS_RETURN) != MPI_SUCCESS ||
	    MPI_Comm_rank(h->comm, &h->rank) != MPI_SUCCESS ||
	    MPI_Comm_size(h->comm, &h->size) != MPI_SUCCESS)
		return hm_fail(err, HETPART_EPEER, "the duplicated communicator is of no use");
	return HETPART_OK;
}

hetpart_status hm_refuse(hetpart_status st, const hetpart_err *mine, hetpart_err *err)
{
	if (st != HETPART_OK && err) {
		*err = *mine;
		err->status = st;
	}
	return st;
}

hetpart_status hm_close(struct hm *h, hetpart_status st, hetpart_err *mine, hetpart_err *err)
{
	const int rc = MPI_Comm_free(&h->comm);

	if (st == HETPART_OK)
		st = hm_mpi(rc, "MPI_Comm_free", mine);
	return hm_refuse(st, mine, err);
}

/* A rank has failed: all learn its words. */
static hetpart_status tell(struct hm *h, int who, hetpart_status mine, hetpart_err *err)
{
	hetpart_err theirs;
	hetpart_status st;

	memset(&theirs, 0, sizeof theirs);
	if (who == h->rank)
		theirs = *err;
	st = hm_bcast(h, theirs.text, HETPART_ERR_BYTES, MPI_CHAR, who, &theirs);
	if (mine != HETPART_OK)
		return mine;
	if (st != HETPART_OK) {
		*err = theirs;
		return st;
	}
	theirs.text[HETPART_ERR_BYTES - 1] = 0;
	return hm_fail(err, HETPART_EPEER, "rank %d: %s", who, theirs.text);
}

hetpart_status hm_vote(struct hm *h, int root, hetpart_status mine, hetpart_err *err)
{
	const int64_t votes[3] = { mine == HETPART_OK ? h->size : h->rank, root, -(int64_t)root };
	int64_t least[3];
	hetpart_err trouble;
	hetpart_status st = hm_least(h, votes, least, 3, MPI_INT64_T, &trouble);

	if (st != HETPART_OK) {
		if (mine != HETPART_OK)
			return mine;
		*err = trouble;
		return st;
	}
	if (least[0] < h->size)
		return tell(h, (int)least[0], mine, err);
	if (least[1] != -least[2])
		return hm_fail(err, HETPART_EINVAL, "the ranks name different roots, from %d to %d",
			       (int)least[1], (int)-least[2]);
	return HETPART_OK;
}
