/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opening and closing the flow of records. Everything that can be refused for want of memory or
 * disk is asked for before the first record moves; from then on a rank that fails keeps on
 * receiving, so that its peers come to the next border as well. */
#include "exchange_setup.h"
#include "base/clock.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/random.h>
#include <unistd.h>

enum {
	LEAST_WINDOWS_BYTES = 8 << 20, /* but no more than half of the data, nor than */
	LEAST_PEER_BYTES = 1 << 20,    /* for each peer */
	MOST_WINDOWS_BYTES = 256 << 20,
	WINDOWS_PART = 16,
	LIMIT_PART = 8
};

uint64_t exchange_setup_windows(const job *j, uint64_t least_limit_bytes)
{
	const uint64_t mean = j->records * j->o->lay.record_bytes / (uint64_t)j->c->size;
	const uint64_t part = mean / WINDOWS_PART, most = least_limit_bytes / LIMIT_PART;
	const uint64_t peers = (uint64_t)(j->c->size - 1) * LEAST_PEER_BYTES;
	uint64_t bytes = peers < LEAST_WINDOWS_BYTES ? peers : LEAST_WINDOWS_BYTES;
	bytes = bytes < mean / 2 ? bytes : mean / 2;
	bytes = bytes < part ? part : bytes;
	bytes = bytes < MOST_WINDOWS_BYTES ? bytes : MOST_WINDOWS_BYTES;
	return bytes < most ? bytes : most;
}

/* A number that no other job beside the same output has. */
static status job_id(job *j, uint64_t *id)
{
	*id = 0;
	if (j->c->rank == 0 && getrandom(id, sizeof *id, 0) != sizeof *id)
		*id = (uint64_t)(now_s() * 1e9);
	return comm_bcast(j->c, id, sizeof *id, 0);
}

/* Written early, the page cache is faster than going past it, as long as its pages find room. */
static bool writes_direct(const job *j)
{
	return j->o->direct == DIRECT_ALWAYS || (j->o->direct == DIRECT_AUTO && j->budget.spills);
}

status exchange_setup_output(job *j, io_fd *to)
{
	const layout *l = &j->o->lay;
	const uint64_t mine = own_share(j, j->share_out) * l->record_bytes;
	uint64_t id;
	*to = (io_fd){ .fd = -1, .direct = -1, .io = j->io };
	j->seen_keys = mem_array(&j->m, 2, l->key_bytes, "keys", &j->e);
	status rc = comm_agree(j->c, j->seen_keys ? ST_OK : ST_RESOURCE);
	if (rc != ST_OK)
		return rc;
	j->seen = (inspected){ .first_key = j->seen_keys, .last_key = j->seen_keys + l->key_bytes };
	rc = job_id(j, &id);
	if (rc == ST_OK)
		rc = output_create(&j->out, j->c, id,
				   share_before(j, j->share_out) * l->record_bytes, mine,
				   j->records * l->record_bytes, &j->e);
	to->fd = j->out.fd;
	if (rc == ST_OK && !j->out.is_stdout && writes_direct(j))
		to->direct = io_open_direct(to->fd, O_WRONLY);
	return rc;
}

void exchange_setup_output_close(const io_fd *to)
{
	if (to->direct >= 0)
		close(to->direct);
}

static status open_writer(job *j)
{
	const status rc = exchange_setup_output(j, &j->to);
	const sink to = { j->to, output_name(&j->out), j->out.offset, own_share(j, j->share_out),
			  j->o->fsync };
	return rc == ST_OK ? writer_open(&j->w, &j->m, &j->o->lay, &to, &j->seen, &j->e) : rc;
}

/* What is announced is what the splitters leave to this rank: there is room for no more, and what
 * does not come would be waited for. */
static status check_arrivals(job *j)
{
	uint64_t sum = 0;
	bool ok = true;
	for (int i = 0; i < j->c->size; i++)
		ok &= !__builtin_add_overflow(sum, j->recv[i], &sum);
	if (!ok || sum != own_share(j, j->share_out))
		return err_set(&j->e, ST_PEER,
			       "the ranks announce another number of records than the %" PRIu64
			       " that are to come",
			       own_share(j, j->share_out));
	return ST_OK;
}

status exchange_setup_open(job *j, exchange **x)
{
	*x = NULL;
	status rc =
		comm_agree(j->c, outgoing_open(&j->outgoing, &j->m, &j->r, j->cut,
					       (size_t)j->c->size, j->budget.piece_recs, &j->e));
	if (rc == ST_OK)
		rc = comm_alltoall(j->c, j->outgoing.send, j->recv, sizeof *j->recv);
	if (rc != ST_OK)
		return rc;
	const exchange_plan p = { .c = j->c,
				  .m = &j->m,
				  .record_bytes = j->o->lay.record_bytes,
				  .fill = outgoing_fill,
				  .outgoing = &j->outgoing,
				  .send = j->outgoing.send,
				  .recv = j->recv,
				  .threads = j->o->exchange_threads,
				  .budget_bytes = (size_t)j->windows_bytes,
				  .total = j->records };
	rc = check_arrivals(j);
	rc = comm_agree(j->c, rc == ST_OK ? exchange_open(x, &p, &j->e) : rc);
	if (rc == ST_OK)
		rc = comm_agree(j->c, open_writer(j));
	FAIL_PHASE(phase_name(PH_EXCHANGE));
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
		j->mine.sent_bytes += j->outgoing.send[i] * bytes;
		j->mine.received_bytes += j->recv[i] * bytes;
	}
}

status exchange_setup_drained(job *j, exchange *x)
{
	exchange_times t = { 0, 0 };
	const status rc = exchange_finish(x, &t, &j->e);
	j->mine.phase_s[PH_EXCHANGE] += t.wait_s;
	j->mine.phase_s[j->at] -= t.wait_s; /* the step's whole time is added to it */
	j->mine.move_s += t.move_s;
	return rc;
}

status exchange_setup_close(job *j, exchange *x, status rc)
{
	if (rc == ST_OK && x)
		rc = outgoing_failure(&j->outgoing, &j->e);
	const status flushed = j->w.raw ? writer_flush(&j->w, &j->e) : ST_OK;
	double *t = j->mine.phase_s;
	j->mine.out = j->seen.records;
	j->mine.written_bytes = j->seen.records * j->o->lay.record_bytes;
	j->mine.sum_out = j->seen.sum;
	if (x)
		note_traffic(j);
	t[PH_WRITE] += j->w.wait_s;
	t[j->at] -= j->w.wait_s;
	j->mine.verify_s += j->w.verify_s;
	exchange_free(x);
	outgoing_close(&j->outgoing, &j->m);
	writer_free(&j->w);
	exchange_setup_output_close(&j->to);
	j->to = (io_fd)IO_FD_NONE;
	return rc == ST_OK ? flushed : rc;
}
