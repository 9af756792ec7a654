/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --strategy=distribute: ranks sort last. Records are sent in the order of the input to the rank
 * that writes them, which sorts them as if it had read them. It stores the records of each sender
 * together, in the order of ranks, so equal keys keep the order of the input. With --partition-only
 * it writes them as they arrive. Memory: up to two copies of the records, and an entry for each. */
#include "base/clock.h"
#include "base/arith.h"
#include "exchange/exchange.h"
#include "kernel/gather.h"
#include "memory_plan.h"
#include "open_output.h"
#include "split.h"
#include "testing/failpoint.h"

/* Entries of this rank's records, ordered by the rank that writes them. */
typedef struct by_rank {
	const records *recs;
	entry *e;
	uint64_t *next;        /* [size] of each rank's entries, the next to send */
	atomic_size_t misfits; /* entries that do not match their records */
} by_rank;

/* Copy the next n records for a rank; an exchange_fill. */
static size_t by_rank_fill(void *by_rank_, int to, size_t n, unsigned char *buf)
{
	by_rank *b = by_rank_;
	atomic_fetch_add(&b->misfits, gather(b->recs, b->e + b->next[to], n, 0, buf));
	b->next[to] += n;
	return n;
}

/* Make the entries. The splitters are the records of this rank at its cuts. */
static status by_rank_make(job *j, by_rank *b)
{
	rank_env *env = &j->env;
	sorted *s = j->cuts.s;
	const records *r = b->recs;
	const uint64_t *cut = j->cuts.cut;
	const size_t p = (size_t)env->c->size, one = item_bytes(&s->lay);
	size_t count = 0, misfits = 0;
	unsigned char *split = mem_array(&env->m, p, one, "splitters", &env->e);
	b->e = mem_array(&env->m, j->data.n, sizeof *b->e, "entries", &env->e);
	b->next = mem_array(&env->m, p, sizeof *b->next, "counts", &env->e);
	if (split && b->e && b->next) {
		for (size_t i = 1; i < p && cut[i] < sorted_total(s); i++)
			s->ops->item(s, cut[i], (void *)(split + count++ * one));
		FAIL_FLIP(FAIL_ENTRIES, split, count * one);
		memcpy(b->next, cut, p * sizeof *cut);
		for (uint64_t i = 0; i < j->data.n; i++) {
			const entry e = entry_make(record_at(r, i), &r->lay, i);
			lower_bound to = { .lo = 0, .hi = count };
			while (lower_bound_open(&to))
				lower_bound_step(
					&to,
					entry_item_cmp(&e, (void *)(split + to.mid * one), r) >= 0);
			if (b->next[to.lo] < cut[to.lo + 1])
				b->e[b->next[to.lo]++] = e;
			else
				misfits++; /* memory has changed since they were counted */
		}
		memcpy(b->next, cut, p * sizeof *cut);
		FAIL_FLIP(FAIL_ENTRIES, b->e, j->data.n * sizeof *b->e);
	}
	mem_free(&env->m, split);
	return split && b->e && b->next ? gather_misfits(misfits, &env->e) : ST_RESOURCE;
}

/* Receive blocks from all ranks in turn. Store each block at its place in to, or write it at once
 * if records are only partitioned. at: [size] the place of the next block of each rank. */
static status receive_all(exchange *x, const comm *c, sorted_share *to, writer *out, uint64_t *at)
{
	const size_t bytes = to->memory.seq.recs.lay.record_bytes;
	status rc = ST_OK;
	for (bool any = true; rc == ST_OK && any;) {
		any = false;
		for (int i = 0; rc == ST_OK && i < c->size; i++) {
			const int s = (c->rank + i) % c->size;
			const unsigned char *rec;
			size_t n = 0;
			rc = exchange_next(x, s, &rec, &n);
			if (rc != ST_OK || n == 0)
				continue;
			any = true;
			if (to->memory.recs)
				memcpy(to->memory.recs + at[s] * bytes, rec, n * bytes);
			for (size_t done = 0, k; !to->memory.recs && done < n; done += k) {
				size_t room;
				unsigned char *buf = writer_room(out, &room);
				k = size_min(n - done, room);
				memcpy(buf, rec + done * bytes, k * bytes);
				writer_add(out, k);
			}
			at[s] += n;
			progress_add(PROGRESS_RECEIVED, n * bytes);
		}
	}
	return rc;
}

/* Let all ranks announce how many records they send. at: [size] the place of each rank's records in
 * to. */
static status announce_unsorted(job *j, const uint64_t *send, uint64_t *recv, uint64_t *at,
				sorted_share *to)
{
	rank_env *env = &j->env;
	const size_t wanted = (size_t)own_share(env, j->shares.out);
	status rc = comm_alltoall(env->c, send, recv, sizeof *send);
	for (int i = 0; rc == ST_OK && i < env->c->size; i++) {
		at[i] = to->n;
		if (__builtin_add_overflow(to->n, recv[i], &to->n) || to->n > wanted)
			rc = err_set(&env->e, ST_PEER, "the ranks announce too many records");
	}
	return rc == ST_OK && to->n != wanted
		       ? err_set(&env->e, ST_PEER, "the ranks announce too few records")
		       : rc;
}

/* With --partition-only: open the output, and a writer of the records of this rank. Collective. */
static status open_partition(job *j, io_fd *file, writer *out)
{
	rank_env *env = &j->env;
	const status rc = output_open(j, file);
	const file_records to = { *file,
				  output_name(&j->files.out),
				  j->files.out.offset,
				  own_share(env, j->shares.out),
				  env->o->fsync,
				  &env->o->shape };
	return rc == ST_OK ? writer_open(out, &env->m, &env->o->lay, &to, &j->part.seen, &env->e)
			   : rc;
}

/* Count the bytes that cross ranks. */
static void note_traffic(job *j, const uint64_t *send, const uint64_t *recv)
{
	rank_env *env = &j->env;
	const uint64_t bytes = env->o->lay.record_bytes;
	uint64_t leaving = 0;
	for (int i = 0; i < env->c->size; i++) {
		if (i == env->c->rank)
			continue;
		leaving += send[i] * bytes;
		result_sent(env->stats, i, send[i] * bytes);
		env->stats->received_bytes += recv[i] * bytes;
	}
	progress_sends(&env->c->progress, leaving);
}

/* Send the records to the ranks that write them. Receive the records of this rank in `to`, or write
 * them. Collective. */
static status exchange_unsorted(job *j, sorted_share *to)
{
	rank_env *env = &j->env;
	comm *c = env->c;
	rank_result *r = env->stats;
	by_rank b = { .recs = &j->data.memory.seq.recs };
	uint64_t *send = cuts_count(j);
	uint64_t *recv = mem_array(&env->m, (size_t)c->size, 2 * sizeof *recv, "counts", &env->e);
	exchange *x = NULL;
	exchange_times times = { 0, 0 };
	io_fd file = IO_FD_NONE;
	writer out = { 0 };
	status rc = comm_agree(c, send && recv ? by_rank_make(j, &b) : ST_RESOURCE);
	if (rc == ST_OK)
		rc = comm_agree(c, announce_unsorted(j, send, recv, recv + c->size, to));
	const exchange_plan plan = { .c = c,
				     .m = &env->m,
				     .record_bytes = env->o->lay.record_bytes,
				     .fill = by_rank_fill,
				     .outgoing = &b,
				     .send = send,
				     .recv = recv,
				     .threads = env->o->exchange_threads > 0,
				     .budget_bytes = (size_t)j->memory.windows_bytes,
				     .total = j->shares.records };
	if (rc == ST_OK)
		rc = comm_agree(c, exchange_open(&x, &plan, &env->e));
	if (rc == ST_OK && !to->memory.recs)
		rc = comm_agree(c, open_partition(j, &file, &out));
	FAIL_PHASE(phase_name(PH_EXCHANGE));
	if (rc == ST_OK) {
		note_traffic(j, send, recv);
		rc = exchange_start(&x, 1, &env->e);
	}
	if (rc == ST_OK)
		rc = receive_all(x, c, to, &out, recv + c->size);
	if (rc == ST_OK)
		rc = exchange_finish(x, &times, &env->e);
	result_shift(r, PH_EXCHANGE, times.wait_s);
	r->move_s += times.move_s;
	if (rc == ST_OK)
		rc = gather_misfits(atomic_load(&b.misfits), &env->e);
	if (out.raw && rc == ST_OK)
		rc = writer_flush(&out, &env->e);
	result_shift(r, PH_WRITE, out.wait_s);
	r->verify_s += out.verify_s;
	rc = comm_agree(c, memory_share_check(&j->data, rc, &env->e));
	exchange_free(x);
	writer_free(&out);
	output_close(&file);
	if (atomic_load(&c->broken) && x)
		return rc; /* the sender may still use the counts and entries */
	mem_free(&env->m, send);
	mem_free(&env->m, recv);
	mem_free(&env->m, b.e);
	mem_free(&env->m, b.next);
	return rc;
}

/* Exchange records, then sort them. If a rank has spilled, all ranks merge instead, because a merge
 * needs sorted records from every rank. */
status phase_distribute(job *j)
{
	rank_env *env = &j->env;
	rank_progress *g = &env->c->progress;
	const load_plan p = { .lay = env->o->lay,
			      .rank = (uint32_t)env->c->rank,
			      .threads = j->cpus.threads,
			      .sizes = test_sizes_of(env->o) };
	sorted_share received = { 0 };
	uint64_t merges;
	status rc = comm_reduce(env->c, memory_plan_merges(j), u64_max, &merges);
	if (rc != ST_OK || merges)
		return rc == ST_OK ? phase_merge(j) : rc;
	received.memory.seq.recs.lay = p.lay;
	if (!env->o->partition_only)
		rc = memory_share_room(&p, &env->m, (size_t)own_share(env, j->shares.out), 0,
				       &received, &env->e);
	rc = comm_agree(env->c, rc);
	if (rc == ST_OK)
		rc = exchange_unsorted(j, &received);
	if (rc != ST_OK || env->o->partition_only) {
		sorted_share_free(&env->m, &received);
		return rc;
	}
	/* the records that were read have been sent: free their memory for the sort */
	sorted_share_free(&env->m, &j->data);
	j->data = received;
	progress_end(g, job_moment(j));
	progress_begin(g, STAGE_SORT, 0, job_moment(j));
	rc = comm_agree(env->c, memory_share_sort(&p, &env->m, &j->data, &env->e));
	progress_end(g, job_moment(j));
	progress_begin(g, STAGE_WRITE, j->data.n * env->o->lay.record_bytes, job_moment(j));
	if (rc == ST_OK)
		rc = phase_single_rank(j);
	sorted_share_free(&env->m, &j->data);
	return rc;
}
