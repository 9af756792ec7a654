/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a rank does by itself or with samples: read its share, sort its entries, guess and find the
 * splitters. After split, order[cut[d] .. cut[d + 1]) are the entries of rank d's records. */
#include "job.h"
#include "radix.h"

#include <inttypes.h>

/* Standard input tells its size only now: the plan of one rank is corrected. */
static void count_stdin(job *j)
{
	j->records = j->share_in[0] = j->share_out[0] = j->target[0] = j->data.n;
	j->mine.planned_in = j->mine.planned_out = j->data.n;
}

status phase_read(job *j)
{
	const layout *l = &j->o->lay;
	const uint64_t n = own_share(j, j->share_in);
	const uint64_t first = j->in.per_rank ? 0 : share_before(j, j->share_in);
	if (n > POS_MASK)
		return err_set(&j->e, ST_REFUSED, "%" PRIu64 " records are too many for one rank",
			       n);
	const status rc = input_load(&j->in, &j->m, l, first, n, &j->data, &j->e);
	if (rc == ST_OK && j->in.is_stdin)
		count_stdin(j);
	j->recs = (records){ j->data.recs, *l, (uint32_t)j->c->rank };
	j->order = j->data.entries;
	j->mine.in = j->data.n;
	j->mine.read_bytes = j->data.n * (uint64_t)l->record_bytes;
	j->mine.sum_in = j->data.sum;
	j->mine.verify_s += j->data.verify_s;
	return rc;
}

status phase_sort(job *j)
{
	entry *tmp = mem_array(&j->m, j->data.n, sizeof *tmp, "sorting", &j->e);
	if (!tmp)
		return ST_RESOURCE;
	entries_sort(j->data.entries, tmp, j->data.n, &j->recs);
	mem_free(&j->m, tmp, j->data.n, sizeof *tmp);
	return ST_OK;
}

status phase_sample(job *j)
{
	return sample_brackets(j->c, &j->m, &j->recs, j->data.entries, j->data.n,
			       j->o->strategy == BY_MERGING, j->target, &j->guess, &j->e);
}

/* Entries move to an array of their own, and the old one is free for sorting the received. */
static status split_by_dealing(job *j)
{
	j->order_room = j->data.n;
	j->order = mem_array(&j->m, j->order_room, sizeof *j->order, "entries", &j->e);
	const status rc = comm_agree(j->c, j->order ? ST_OK : ST_RESOURCE);
	if (rc != ST_OK)
		return rc;
	return split_unsorted(j->c, &j->m, &j->recs, j->data.entries, j->order, j->data.n,
			      j->target, &j->guess, j->cut, &j->e);
}

status phase_split(job *j)
{
	if (j->o->strategy == BY_DISTRIBUTING)
		return split_by_dealing(j);
	return split_sorted(j->c, &j->m, &j->recs, j->data.entries, j->data.n, j->target, &j->guess,
			    j->cut, &j->e);
}
