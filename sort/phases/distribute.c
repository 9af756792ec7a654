/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The variant without a first sort: records go to their rank as they are, and the last step is a
 * sort, not a merge. Each source has its place in the receive buffer, so positions there follow
 * (rank, position) and a stable sort keeps the order of the input. Memory: up to two copies. */
#include "base/clock.h"
#include "exchange_setup.h"
#include "kernel/gather.h"
#include "kernel/radix.h"

/* What arrives: records in the order of their sources, and an entry for each. */
typedef struct landing {
	unsigned char *recs;
	entry *e, *tmp;
	uint64_t *at; /* [size] where the next record of each source goes */
	size_t n;
	size_t open; /* sources that have more */
} landing;

static status landing_alloc(landing *d, job *j)
{
	d->n = own_share(j, j->share_out);
	d->recs = mem_array(&j->m, d->n, j->o->lay.record_bytes, "received records", &j->e);
	d->e = mem_array(&j->m, d->n, sizeof *d->e, "entries", &j->e);
	d->at = mem_array(&j->m, (size_t)j->c->size, sizeof *d->at, "counts", &j->e);
	return d->recs && d->e && d->at ? ST_OK : ST_RESOURCE;
}

static void landing_free(landing *d, job *j)
{
	mem_free(&j->m, d->recs);
	mem_free(&j->m, d->e);
	mem_free(&j->m, d->tmp);
	mem_free(&j->m, d->at);
}

/* One block of source s to its place. */
static status land(landing *d, const layout *l, exchange *x, int s, bool *any)
{
	const unsigned char *rec;
	size_t n;
	const status rc = exchange_next(x, s, &rec, &n);
	if (rc != ST_OK || n == 0)
		return rc;
	*any = true;
	unsigned char *to = d->recs + d->at[s] * l->record_bytes;
	memcpy(to, rec, n * l->record_bytes);
	for (size_t i = 0; i < n; i++, to += l->record_bytes, d->at[s]++)
		d->e[d->at[s]] = entry_make(to, l, d->at[s]);
	return ST_OK;
}

/* Block after block, the sources in turn. */
static status receive_all(landing *d, job *j, exchange *x)
{
	status rc = ST_OK;
	uint64_t sum = 0;
	bool any = true;
	for (int s = 0; s < j->c->size; s++) {
		d->at[s] = sum;
		sum += j->recv[s];
	}
	while (rc == ST_OK && any) {
		any = false;
		for (int i = 0; rc == ST_OK && i < j->c->size; i++)
			rc = land(d, &j->o->lay, x, (j->c->rank + i) % j->c->size, &any);
	}
	return rc == ST_OK ? exchange_setup_drained(j, x) : rc;
}

static void write_sorted(const landing *d, job *j)
{
	const records r = { d->recs, j->o->lay, (uint32_t)j->c->rank };
	radix_sort(d->e, d->tmp, d->n, &r);
	for (size_t at = 0; at < d->n;) {
		size_t room;
		unsigned char *to = writer_room(&j->w, &room);
		const size_t n = room < d->n - at ? room : d->n - at;
		gather(&r, d->e + at, n, d->n - at - n, to);
		writer_add(&j->w, n);
		at += n;
	}
}

status phase_distribute(job *j)
{
	if (job_merges(j)) /* by way of the disk: all but the sorting of runs is left to do */
		return phase_merge(j);
	landing d = { 0 };
	exchange *x = NULL;
	status rc = comm_agree(j->c, landing_alloc(&d, j));
	if (rc == ST_OK)
		rc = exchange_setup_open(j, &x);
	if (rc == ST_OK)
		rc = receive_all(&d, j, x);
	if (rc == ST_OK) {
		/* what was read has been sent: its room is the scratch of the last sort */
		mem_free(&j->m, j->by_destination);
		j->by_destination = NULL;
		loaded_runs_free(&j->m, &j->data);
		d.tmp = mem_array(&j->m, d.n, sizeof *d.tmp, "sorting", &j->e);
		rc = d.tmp ? ST_OK : ST_RESOURCE;
	}
	if (rc == ST_OK)
		write_sorted(&d, j);
	rc = exchange_setup_close(j, x, rc);
	landing_free(&d, j);
	return rc;
}
