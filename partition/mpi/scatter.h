/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scatter.h - one scatter call on one rank: what the caller gave, and what was found on the way.
 * May not touch: anything outside the scatter files. */
#ifndef HETPART_HM_SCATTER_H
#define HETPART_HM_SCATTER_H

#include "hm.h"

struct scatter {
	struct hm h;
	/* given */
	const void *send;
	uint64_t count;
	bool explicit_counts;         /* scatterv: */
	const uint64_t *given_counts; /* at the root */
	const uint64_t *given_displs; /* at the root, or NULL */
	MPI_Datatype send_type, recv_type;
	char *recv;
	uint64_t capacity;
	bool allocates; /* scatter_alloc: */
	void **alloc;   /* where the buffer goes */
	uint64_t *received;
	int root;
	const hetpart_mpi_scatter_opts *given_opts;
	/* found */
	hetpart_mpi_scatter_opts opts;
	bool at_root, in_place;
	uint64_t send_bytes, item_bytes; /* of an item of send_type, recv_type */
	ptrdiff_t send_extent, recv_extent;
	void *allocated;
	uint64_t mine; /* items of this rank */
	int piece;     /* items in a message */
	/* found, at the root */
	double *costs; /* 4 for each rank */
	hetpart_mpi_affine *compute, *link;
	uint64_t *counts, *displs;
	size_t *order;
};

/* scatter_check - arguments of every rank; scatter_check_root - those of the root, whose arrays
 * are there; scatter_allocate - memory for the share. Not collective. */
hetpart_status scatter_check(struct scatter *s, hetpart_err *err);
hetpart_status scatter_check_root(struct scatter *s, hetpart_err *err);
hetpart_status scatter_allocate(struct scatter *s, hetpart_err *err);

#endif
