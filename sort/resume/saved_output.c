/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rank 0 collects 80 bytes for each state, and tells all what it has found. */
#include "saved_output.h"
#include "collect.h"

#include <stdlib.h>
#include <string.h>

/* What the state of a rank says. */
typedef struct part {
	output_checkpoint out;
	int32_t rank, ranks;
} part;

static int by_id(const void *a_, const void *b_)
{
	const part *a = a_, *b = b_;
	if (a->out.id != b->out.id)
		return a->out.id < b->out.id ? -1 : 1;
	return (a->rank > b->rank) - (a->rank < b->rank);
}

/* A state that two groups of ranks have found counts once. */
static size_t drop_doubles(part *all, size_t n)
{
	size_t k = 0;
	for (size_t i = 0; i < n; i++)
		if (k == 0 || by_id(&all[k - 1], &all[i]) != 0)
			all[k++] = all[i];
	return k;
}

/* Are these n the parts of all ranks that made the output? */
static bool is_whole(const part *all, size_t n, saved_output *out)
{
	output_checkpoint sum = { .id = all->out.id };
	for (size_t i = 0; i < n; i++) {
		const output_checkpoint *one = &all[i].out;
		if (all[i].ranks < 1 || (size_t)all[i].ranks != n || all[i].rank != (int32_t)i ||
		    __builtin_add_overflow(sum.records, one->records, &sum.records) ||
		    __builtin_add_overflow(sum.dropped, one->dropped, &sum.dropped))
			return false;
		sum.sum = checksum_join(sum.sum, one->sum);
		sum.sum_dropped = checksum_join(sum.sum_dropped, one->sum_dropped);
	}
	out->all = sum;
	out->ranks = (int32_t)n;
	return true;
}

/* The first of these that is whole; *at: where its parts are. */
static void find_whole(const part *all, size_t n, saved_output *out, size_t *at)
{
	for (size_t i = 0, k; i < n; i = k) {
		for (k = i; k < n && all[k].out.id == all[i].out.id; k++)
			;
		*at = i;
		if (all[i].out.id && is_whole(all + i, k - i, out))
			return;
	}
}

/* Rank 0's finding to all. */
static status tell(comm *c, mem *m, const part *found, saved_output *out, err *e)
{
	status rc = comm_bcast(c, &out->all, sizeof out->all, 0);
	if (rc == ST_OK)
		rc = comm_bcast(c, &out->ranks, sizeof out->ranks, 0);
	if (rc != ST_OK || out->all.id == 0 || out->ranks != c->size)
		return rc;
	out->part = mem_array(m, (size_t)c->size, sizeof *out->part, "states", e);
	rc = comm_agree(c, out->part ? ST_OK : ST_RESOURCE);
	for (int i = 0; rc == ST_OK && c->rank == 0 && i < c->size; i++)
		out->part[i] = found[i].out;
	return rc == ST_OK ? comm_bcast(c, out->part, (size_t)c->size * sizeof *out->part, 0) : rc;
}

status saved_output_find(comm *c, mem *m, const states *s, saved_output *out, err *e)
{
	void *all = NULL;
	size_t count, at = 0;
	*out = (saved_output){ .ranks = 0 };
	part *mine = mem_array(m, s->count, sizeof *mine, "states", e);
	status rc = comm_agree(c, mine ? ST_OK : ST_RESOURCE);
	for (size_t i = 0; rc == ST_OK && i < s->count; i++)
		mine[i] = (part){ s->s[i].out, s->s[i].rank, s->s[i].ranks };
	if (rc == ST_OK)
		rc = collect_items(c, m, mine, s->count, sizeof *mine, &all, &count, e);
	if (rc == ST_OK && c->rank == 0) {
		qsort(all, count, sizeof *mine, by_id);
		count = drop_doubles(all, count);
		find_whole(all, count, out, &at);
	}
	if (rc == ST_OK)
		rc = tell(c, m, all ? (const part *)all + at : NULL, out, e);
	mem_free(m, mine);
	mem_free(m, all);
	return rc;
}

void saved_output_free(mem *m, saved_output *s)
{
	mem_free(m, s->part);
	*s = (saved_output){ .ranks = 0 };
}
