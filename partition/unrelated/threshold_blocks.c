/* SPDX-License-Identifier: GPL-3.0-or-later */
/* threshold_blocks.c - best shares in multiples of a quantum for increasing costs: the best plan of
 * the whole blocks, and the rest on top where it ends first. That is the best: below the time of
 * one block more every plan has these very blocks, and at that time the rest is on top of some. May
 * not touch: how blocks are divided. Costs as threshold.c. */
#include <math.h>

#include "unrelated.h"

/* The processor that ends first with the rest on top of its share; ps->n if none may take it. */
static size_t rest_taker(const part_procs *ps, uint64_t rest, const uint64_t *share)
{
	size_t best = ps->n;
	long double soonest = INFINITY;

	for (size_t i = 0; i < ps->n; i++) {
		long double t = INFINITY;
		if (part_cap(ps, i, UINT64_MAX) - share[i] >= rest)
			t = part_time(ps, i, share[i] + rest);
		if (t < soonest) {
			soonest = t;
			best = i;
		}
	}
	return best;
}

hetpart_status part_threshold_blocks(const part_procs *ps, uint64_t items, uint64_t quantum,
				     uint64_t *share, double *lower, hetpart_err *err)
{
	part_procs blocks = *ps;
	uint64_t count = items / quantum, rest = items % quantum;
	hetpart_status rc;
	size_t taker;

	blocks.block = quantum;
	rc = part_check_mins(&blocks, count, err);
	if (rc == HETPART_OK)
		rc = part_threshold(&blocks, count, share, lower, err);
	if (rc != HETPART_OK)
		return rc;
	for (size_t i = 0; i < ps->n; i++)
		share[i] *= quantum;
	if (rest == 0)
		return HETPART_OK;
	taker = rest_taker(ps, rest, share);
	if (taker == ps->n)
		return part_fail(err, HETPART_ERANGE, "no plan ends in finite time");
	share[taker] += rest;
	return HETPART_OK;
}
