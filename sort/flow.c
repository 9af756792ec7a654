/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opening and closing the flow of records. Everything that can be refused for want of memory or
 * disk is asked for before the first record moves; from then on a rank that fails keeps on
 * receiving, so that its peers come to the next border as well. */
#include "flow.h"
#include "clock.h"
#include "gather.h"

#include <sys/random.h>

enum { LEAST_WINDOWS_BYTES = 8 << 20, MOST_WINDOWS_BYTES = 256 << 20, WINDOWS_PART = 16 };

/* By the mean share: the size of blocks has to be the same on all ranks. */
static size_t windows_budget(const job *j)
{
	const uint64_t mean = j->records * j->o->lay.record_bytes / (uint64_t)j->c->size;
	const uint64_t part = mean / WINDOWS_PART;
	if (part < LEAST_WINDOWS_BYTES)
		return LEAST_WINDOWS_BYTES;
	return part < MOST_WINDOWS_BYTES ? (size_t)part : MOST_WINDOWS_BYTES;
}

/* A number that no other job beside the same output has. */
static status job_id(job *j, uint64_t *id)
{
	*id = 0;
	if (j->c->rank == 0 && getrandom(id, sizeof *id, 0) != sizeof *id)
		*id = (uint64_t)(now_s() * 1e9);
	return comm_bcast(j->c, id, sizeof *id, 0);
}

static status open_output(job *j)
{
	const uint64_t bytes = j->o->lay.record_bytes;
	const uint64_t mine = own_share(j, j->share_out) * bytes;
	uint64_t id;
	status rc = job_id(j, &id);
	if (rc == ST_OK)
		rc = output_create(&j->out, j->c, id, share_before(j, j->share_out) * bytes, mine,
				   j->records * bytes, &j->e);
	if (rc != ST_OK)
		return rc;
	const sink to = { j->out.fd, output_name(&j->out), j->out.offset, j->o->fsync };
	return writer_open(&j->w, &j->m, &j->o->lay, &to, &j->e);
}

static void gather_places(const void *source, uint64_t first, size_t n, size_t ahead,
			  unsigned char *to)
{
	const job *j = source;
	gather(&j->recs, j->order + first, n, ahead, to);
}

status flow_open(job *j, exchange **x)
{
	*x = NULL;
	status rc = exchange_recv_counts(j->c, &j->m, j->cut, j->recv, &j->e);
	if (rc != ST_OK)
		return rc;
	const exchange_plan p = { .c = j->c,
				  .m = &j->m,
				  .record_bytes = j->o->lay.record_bytes,
				  .fill = gather_places,
				  .source = j,
				  .cut = j->cut,
				  .recv = j->recv,
				  .threads = j->o->exchange_threads,
				  .budget_bytes = windows_budget(j),
				  .total = j->records };
	rc = comm_agree(j->c, exchange_open(x, &p, &j->e));
	if (rc == ST_OK)
		rc = comm_agree(j->c, open_output(j));
	if (rc == ST_OK)
		exchange_start(*x);
	return rc;
}

static void note_traffic(job *j)
{
	const uint64_t bytes = j->o->lay.record_bytes;
	for (int i = 0; i < j->c->size; i++) {
		if (i == j->c->rank)
			continue;
		j->mine.sent_bytes += (j->cut[i + 1] - j->cut[i]) * bytes;
		j->mine.received_bytes += j->recv[i] * bytes;
	}
}

status flow_drained(job *j, exchange *x)
{
	double wait_s = 0;
	const status rc = exchange_finish(x, &wait_s);
	j->mine.phase_s[PH_EXCHANGE] += wait_s;
	j->mine.phase_s[j->at] -= wait_s; /* the step's whole time is added to it */
	return rc;
}

status flow_close(job *j, exchange *x, status rc)
{
	const status flushed = j->w.buf ? writer_flush(&j->w) : ST_OK;
	double *t = j->mine.phase_s;
	j->mine.out = j->w.records;
	j->mine.written_bytes = j->w.records * j->o->lay.record_bytes;
	j->mine.sum_out = j->w.sum;
	note_traffic(j);
	t[PH_WRITE] += j->w.write_s;
	t[j->at] -= j->w.write_s;
	j->mine.verify_s += j->w.verify_s;
	exchange_free(x);
	return rc == ST_OK ? flushed : rc;
}
