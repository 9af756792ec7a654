/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farm.h - one farm call on one rank, and what root and workers say to each other:
 *     worker: HM_ASK { status, result_bytes, first, count }, then the result in HM_RESULT pieces;
 *     root:   HM_ANSWER { what, first, count }, then the items in HM_ITEMS pieces.
 * A result that is longer than FARM_DIRECT_BYTES waits for the answer FARM_GO. */
#ifndef HETPART_HM_FARM_H
#define HETPART_HM_FARM_H

#include "hm.h"

#define FARM_DIRECT_BYTES ((size_t)64 << 10)

enum farm_answer { FARM_STOP, FARM_CHUNK, FARM_GO };
enum { ASK_STATUS, ASK_BYTES, ASK_FIRST, ASK_COUNT, ASK_WORDS };
enum { ANSWER_WHAT, ANSWER_FIRST, ANSWER_COUNT, ANSWER_WORDS };

struct farm {
	struct hm h;
	hetpart_mpi_farm_opts opts; /* the root's, once all know them: not the pointers */
	uint64_t items, largest;    /* largest chunk */
	int root;
	hetpart_mpi_work_fn *work;
	void *ctx;
	char *buf;     /* worker: data of a chunk; root: a result */
	size_t room;   /* bytes of buf */
	uint64_t done; /* items this rank has worked on */
};

/* farm_serve - the root's part, farm_ask - a worker's: until all items are done or some rank has
 * failed. Return what failed on this rank. */
hetpart_status farm_serve(struct farm *f, hetpart_err *err);
hetpart_status farm_ask(struct farm *f, hetpart_err *err);

/* farm_work - one chunk, here; the result is the callback's. */
hetpart_status farm_work(struct farm *f, const hetpart_mpi_chunk *chunk, const void **result,
			 size_t *result_bytes, hetpart_err *err);

/* farm_send_bytes, farm_recv_bytes - in pieces. */
hetpart_status farm_send_bytes(struct farm *f, const void *at, uint64_t bytes, int to, int tag,
			       hetpart_err *err);
hetpart_status farm_recv_bytes(struct farm *f, void *at, uint64_t bytes, int from, int tag,
			       hetpart_err *err);

#endif
