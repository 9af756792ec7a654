/* SPDX-License-Identifier: GPL-3.0-or-later */
/* bcast.c - a plan that one rank has made, or read, on every rank. Travels as packed bytes.
 * May not touch: what is in a plan. Costs two broadcasts and the packed plan on each rank. */
#include "hm.h"

#include <stdlib.h>

struct packed {
	struct hm h;
	int root;
	uint64_t bytes;
	unsigned char *at;
};

static hetpart_status pack(struct packed *p, const hetpart_plan *plan, hetpart_err *err)
{
	if (p->h.rank != p->root)
		return HETPART_OK;
	if (!plan)
		return hm_fail(err, HETPART_EINVAL, "'plan' is NULL");
	p->bytes = hetpart_plan_pack(plan, NULL, 0);
	p->at = (unsigned char *)malloc((size_t)p->bytes);
	if (!p->at)
		return hm_fail(err, HETPART_ENOMEM, "no memory to pack the plan");
	(void)hetpart_plan_pack(plan, p->at, (size_t)p->bytes);
	return HETPART_OK;
}

static hetpart_status make_room(struct packed *p, hetpart_err *err)
{
	if (!p->at)
		p->at = (unsigned char *)malloc((size_t)p->bytes);
	return p->at ? HETPART_OK
		     : hm_fail(err, HETPART_ENOMEM, "no memory for a plan of %llu bytes",
			       (unsigned long long)p->bytes);
}

/* The bytes, in pieces whose length is an int. */
static hetpart_status travel(struct packed *p, hetpart_err *err)
{
	hetpart_status st = HETPART_OK;

	for (uint64_t at = 0; at < p->bytes && st == HETPART_OK; at += HM_MSG_BYTES) {
		const uint64_t left = p->bytes - at;
		const int n = (int)(left < HM_MSG_BYTES ? left : HM_MSG_BYTES);
		st = hm_bcast(&p->h, p->at + at, n, MPI_BYTE, p->root, err);
	}
	return st;
}

hetpart_status hetpart_mpi_plan_bcast(hetpart_plan **out, const hetpart_plan *plan, int root,
				      MPI_Comm comm, hetpart_err *err)
{
	struct packed p = { .root = root };
	hetpart_err mine;
	hetpart_status st;

	if (out)
		*out = NULL;
	if ((st = hm_open(&p.h, comm, &mine)) != HETPART_OK)
		return hm_refuse(st, &mine, err);
	st = out ? hm_check_root(&p.h, root, &mine)
		 : hm_fail(&mine, HETPART_EINVAL, "'out' is NULL");
	if (st == HETPART_OK)
		st = pack(&p, plan, &mine);
	if ((st = hm_enter(&p.h, root, st, &mine)) == HETPART_OK)
		st = hm_bcast(&p.h, &p.bytes, 1, MPI_UINT64_T, root, &mine);
	if (st == HETPART_OK)
		st = hm_agree(&p.h, make_room(&p, &mine), &mine);
	if (st == HETPART_OK)
		st = travel(&p, &mine);
	if (st == HETPART_OK)
		st = hm_agree(&p.h, hetpart_plan_unpack(out, p.at, (size_t)p.bytes, &mine), &mine);
	if (st != HETPART_OK && out) {
		hetpart_plan_free(*out);
		*out = NULL;
	}
	free(p.at);
	return hm_close(&p.h, st, &mine, err);
}
