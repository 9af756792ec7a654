/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What messages from rank 0 cost: a startup and seconds a byte for each rank, from --links or
 * measured with messages to one rank after the other, as they will be sent. */
#include "clock.h"
#include "deal.h"
#include "speeds.h"

#include <string.h>

enum { PINGS = 5, TAG_PING = 0 };

status deal_alloc(job *j)
{
	const size_t p = (size_t)j->c->size;
	deal *d = &j->deal;
	if (!job_deals(j))
		return ST_OK;
	d->p = p;
	d->startup_s = mem_array(&j->m, p, sizeof *d->startup_s, "links", &j->e);
	d->byte_s = mem_array(&j->m, p, sizeof *d->byte_s, "links", &j->e);
	d->arrive_s = mem_array(&j->m, p, sizeof *d->arrive_s, "links", &j->e);
	d->order = mem_array(&j->m, p, sizeof *d->order, "order of service", &j->e);
	return d->startup_s && d->byte_s && d->arrive_s && d->order ? ST_OK : ST_RESOURCE;
}

void deal_free(job *j)
{
	deal *d = &j->deal;
	mem_free(&j->m, d->startup_s, d->p, sizeof *d->startup_s);
	mem_free(&j->m, d->byte_s, d->p, sizeof *d->byte_s);
	mem_free(&j->m, d->arrive_s, d->p, sizeof *d->arrive_s);
	mem_free(&j->m, d->order, d->p, sizeof *d->order);
}

status deal_wait(comm *c, comm_req *r, double *wait_s)
{
	const double t0 = now_s();
	bool done = false;
	status rc = ST_OK;
	comm_wait_begin(c);
	for (unsigned tries = 0; rc == ST_OK && !done;) {
		const size_t before = r->done;
		rc = comm_test(c, r, &done);
		if (r->done != before)
			tries = 0; /* a piece of it has moved: the next one will soon */
		else if (rc == ST_OK && !done)
			nap(tries++);
	}
	*wait_s += now_s() - t0;
	return comm_wait_end(c, rc);
}

/* The quickest of some messages of so many bytes to `to`, seen from rank 0; at `to` the other end.
 */
static status ping(comm *c, int to, unsigned char *buf, size_t bytes, double *least_s)
{
	*least_s = 0;
	for (int i = 0; i < PINGS; i++) {
		comm_req r;
		double waited_s = 0;
		const double t0 = now_s();
		status rc = c->rank == 0 ? comm_send(c, buf, bytes, to, TAG_PING, &r)
					 : comm_recv(c, buf, bytes, 0, TAG_PING, &r);
		if (rc == ST_OK)
			rc = deal_wait(c, &r, &waited_s);
		if (rc != ST_OK)
			return rc;
		const double s = now_s() - t0;
		*least_s = i == 0 || s < *least_s ? s : *least_s;
	}
	return ST_OK;
}

static status measure_links(job *j, unsigned char *buf, size_t bytes)
{
	deal *d = &j->deal;
	status rc = ST_OK;
	for (int to = 1; to < j->c->size && rc == ST_OK; to++) {
		double small_s = 0, large_s = 0;
		if (j->c->rank == 0 || j->c->rank == to) {
			rc = ping(j->c, to, buf, 1, &small_s);
			if (rc == ST_OK)
				rc = ping(j->c, to, buf, bytes, &large_s);
		}
		const double least_s = 1e-12 * (double)bytes; /* no link is faster than 1 TB/s */
		const double moving_s = large_s - small_s;
		d->startup_s[to] = small_s;
		d->byte_s[to] = (moving_s > least_s ? moving_s : least_s) / (double)bytes;
	}
	return rc;
}

/* Rank 0's own number is not looked at. */
static status read_links(job *j, const gauge *g)
{
	const char **name = mem_array(&j->m, g->p, sizeof *name, "host names", &j->e);
	if (!name)
		return ST_RESOURCE;
	for (size_t i = 0; i < g->p; i++)
		name[i] = g->seat[i].host;
	const status rc = speeds_load(j->o->links, &(speeds_want){ "link", g->p, name },
				      j->deal.byte_s, &j->e);
	for (size_t i = 0; rc == ST_OK && i < g->p; i++)
		j->deal.byte_s[i] = 1e-6 / j->deal.byte_s[i];
	mem_free(&j->m, name, g->p, sizeof *name);
	return rc;
}

status deal_links(job *j, const gauge *g)
{
	if (j->o->links)
		return comm_agree(j->c, g->p ? read_links(j, g) : ST_OK);
	const uint64_t share = j->records / (uint64_t)j->c->size + 1;
	const size_t block = deal_block_recs(j->o), bytes = j->o->lay.record_bytes;
	const size_t n = share < block ? (size_t)share : block; /* no more than there will be */
	unsigned char *buf = mem_array(&j->m, n, bytes, "measuring links", &j->e);
	status rc = comm_agree(j->c, buf ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK) {
		memset(buf, 1, n * bytes); /* the first touch is not part of the message */
		rc = comm_agree(j->c, measure_links(j, buf, n * bytes));
	}
	mem_free(&j->m, buf, n, bytes);
	return rc;
}
