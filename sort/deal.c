/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dealing out planned shares: rank 0 reads blocks and sends them, to one rank after the other, two
 * blocks under way. A rank that has its share sorts it while others get theirs. What rank 0 cannot
 * read it sends as it is, so that nobody waits in vain: the border of the phase tells. */
#include "deal.h"

#include <string.h>

status deal_open(dealer *d)
{
	job *j = d->j;
	const reader_plan rp = { 0, j->records, j->o->lay, j->o->direct };
	d->block_recs = deal_block_recs(j->o);
	d->buf = mem_array(&j->m, DEAL_SLOTS * d->block_recs, j->o->lay.record_bytes,
			   "blocks to deal out", &j->e);
	return d->buf ? reader_open(&d->from, &j->in, &rp, &j->e) : ST_RESOURCE;
}

status deal_check(dealer *d)
{
	return d->failed == ST_OK ? reader_check(d->from, &d->j->e) : d->failed;
}

void deal_close(dealer *d)
{
	reader_close(d->from);
	mem_free(&d->j->m, d->buf, DEAL_SLOTS * d->block_recs, d->j->o->lay.record_bytes);
}

/* Records [at, at + n) of the input to a block. */
static void fill_block(dealer *d, uint64_t at, size_t n, unsigned char *to)
{
	const uint32_t bytes = d->j->o->lay.record_bytes;
	const unsigned char *start = to;
	const size_t all = n;
	while (n > 0 && d->failed == ST_OK) {
		const size_t k = reader_chunk(d->from, at, n);
		d->failed = reader_read(d->from, at, k, to, &d->j->e);
		to += k * bytes;
		at += k;
		n -= k;
	}
	if (d->failed == ST_OK)
		d->sum = checksum_join(d->sum, checksum_records(start, all, bytes));
}

status deal_send(dealer *d, int to, uint64_t at, uint64_t n)
{
	const size_t bytes = d->j->o->lay.record_bytes;
	comm_req req[DEAL_SLOTS];
	double waited_s = 0;
	uint64_t begun = 0, done = 0; /* blocks */
	status rc = ST_OK;
	while (rc == ST_OK && (n > 0 || done < begun)) {
		if (n == 0 || begun - done == DEAL_SLOTS) {
			rc = deal_wait(d->j->c, &req[done++ % DEAL_SLOTS], &waited_s);
			continue;
		}
		const size_t k = n < d->block_recs ? (size_t)n : d->block_recs;
		const int slot = (int)(begun++ % DEAL_SLOTS);
		unsigned char *buf = d->buf + (size_t)slot * d->block_recs * bytes;
		fill_block(d, at, k, buf);
		rc = comm_send(d->j->c, buf, k * bytes, to, slot, &req[slot]);
		at += k;
		n -= k;
	}
	d->j->mine.phase_s[PH_EXCHANGE] += waited_s;
	d->j->mine.phase_s[PH_READ] -= waited_s;
	return rc;
}

static status serve_all(dealer *d)
{
	const job *j = d->j;
	status rc = ST_OK;
	for (size_t i = 0; i < j->deal.p && rc == ST_OK; i++) {
		const uint32_t to = j->deal.order[i];
		uint64_t at = 0;
		for (uint32_t r = 0; r < to; r++)
			at += j->share_in[r];
		if (to != 0)
			rc = deal_send(d, (int)to, at, j->share_in[to]);
	}
	return rc == ST_OK ? deal_check(d) : rc;
}

/* Rank 0: the others' shares, then its own. The sum of what it read is that of the input. */
static status deal_out(dealer *d, const load_plan *p)
{
	job *j = d->j;
	status rc = serve_all(d);
	if (rc == ST_OK)
		rc = load_input(&j->in, p, &j->m, &j->data, &j->e);
	j->data.sum = checksum_join(j->data.sum, d->sum);
	return rc;
}

/* Blocks to their place, two posted ahead; entries while they are in the cache. */
static status take_share(job *j, uint64_t n)
{
	const size_t bytes = j->o->lay.record_bytes, block = deal_block_recs(j->o);
	loaded *d = &j->data;
	comm_req req[DEAL_SLOTS];
	double waited_s = 0;
	uint64_t posted = 0; /* records */
	status rc = ST_OK;
	for (unsigned slot = 0; rc == ST_OK && d->n < n;) {
		while (rc == ST_OK && posted < n && posted - d->n < DEAL_SLOTS * block) {
			const size_t k = n - posted < block ? (size_t)(n - posted) : block;
			const size_t s = (size_t)(posted / block % DEAL_SLOTS);
			rc = comm_recv(j->c, d->recs + posted * bytes, k * bytes, 0, (int)s,
				       &req[s]);
			posted += k;
		}
		if (rc == ST_OK)
			rc = deal_wait(j->c, &req[slot], &waited_s);
		const size_t k = n - d->n < block ? (size_t)(n - d->n) : block;
		if (rc == ST_OK)
			(void)entries_take(&j->o->lay, d->recs + d->n * bytes, k, d->n,
					   d->entries + d->n, &d->verify_s);
		d->n += k;
		slot = (slot + 1) % DEAL_SLOTS;
	}
	j->mine.phase_s[PH_EXCHANGE] += waited_s;
	j->mine.phase_s[PH_READ] -= waited_s;
	return rc;
}

status deal_records(job *j, const load_plan *p)
{
	dealer d = { .j = j };
	const bool root = j->c->rank == 0;
	status rc = root ? deal_open(&d) : load_room(p, &j->m, p->n, &j->data, &j->e);
	rc = comm_agree(j->c, rc);
	if (rc == ST_OK && root)
		rc = deal_out(&d, p);
	else if (rc == ST_OK)
		rc = take_share(j, p->n);
	if (rc == ST_OK && !root)
		rc = load_sort(p, &j->m, &j->data, &j->e);
	if (root)
		deal_close(&d);
	return rc;
}

status deal_input(job *j, const load_plan *p)
{
	return j->o->scatter == SCATTER_DYNAMIC ? deal_on_request(j, p) : deal_records(j, p);
}
