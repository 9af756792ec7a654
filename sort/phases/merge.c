/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exchange and merge in one: the sorted streams of all ranks are merged while they arrive, and
 * written while they are merged. Memory: the windows of the exchange, no second copy of the data.
 */
#include "exchange_setup.h"
#include "exchange/stream_merge.h"

static uint32_t own_heads(void *job_, head *h, uint32_t most)
{
	job *j = job_;
	return outgoing_heads(&j->outgoing, j->c->rank, h, most);
}

static void write_records(void *job_, const head *h, size_t n)
{
	job *j = job_;
	const uint32_t bytes = j->o->lay.record_bytes;
	while (n > 0) {
		size_t room;
		unsigned char *to = writer_room(&j->w, &room);
		const size_t k = n < room ? n : room;
		for (size_t i = 0; i < k; i++)
			record_copy(to + i * bytes, h[i].rec, bytes);
		writer_add(&j->w, k);
		h += k;
		n -= k;
	}
}

status phase_merge(job *j)
{
	const size_t p = (size_t)j->c->size;
	exchange *x = NULL;
	merge_stream *s = mem_array(&j->m, p, sizeof *s, "streams", &j->e);
	head *heads = mem_array(&j->m, 2 * p, sizeof *heads, "streams", &j->e);
	status rc = comm_agree(j->c, s && heads ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK)
		rc = exchange_setup_open(j, &x);
	if (rc == ST_OK) {
		stream_merge g = { .x = x,
				   .rank = (uint32_t)j->c->rank,
				   .k = (uint32_t)p,
				   .lay = j->o->lay,
				   .s = s,
				   .heads = heads,
				   .own = own_heads,
				   .from = j,
				   .put = write_records,
				   .to = j };
		rc = stream_merge_run(&g);
		if (rc == ST_OK)
			rc = exchange_setup_drained(j, x);
	}
	rc = exchange_setup_close(j, x, rc);
	mem_free(&j->m, s);
	mem_free(&j->m, heads);
	return rc;
}
