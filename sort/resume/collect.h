/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Items of which each rank has another number, to rank 0, and from there to all, in rounds of a
 * size that does not grow with the ranks. */
#ifndef HETSORT_RESUME_COLLECT_H
#define HETSORT_RESUME_COLLECT_H

#include "base/mem.h"
#include "comm/comm.h"

/* collect_items - collective: n items of `bytes` each from every rank. At rank 0 *all, to be given
 * to mem_free, has those of all ranks one after the other, *count of them; elsewhere NULL and 0. */
status collect_items(comm *c, mem *m, const void *mine, size_t n, size_t bytes, void **all,
		     size_t *count, err *e);

/* hand_out_items - collective: rank 0's items to all ranks, each of which is asked which it wants:
 * take() in their order. Returns the first failure of a take on this rank, when all is handed out.
 */
typedef status collect_take(void *arg, const void *one, err *e);
status hand_out_items(comm *c, mem *m, const void *all, size_t count, size_t bytes,
		      collect_take *take, void *arg, err *e);

#endif
