/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorts in memory. A rank's records stay in place, sorted on demand, until they are sent or merged
 * into the output. So nothing large has a second copy. */
#include "memory_sort.h"
#include "base/arith.h"
#include "exchange/exchange.h"
#include "exchange/splitter_search.h"
#include "exchange/stream_merge.h"
#include "kernel/bucket_sort.h"
#include "kernel/gather.h"
#include "spill/sorted.h"

enum {
	RANK_WINDOWS_BYTES = 2 << 20, /* a block is then 256 KiB and stays in the cache */
	WINDOWS_PART = 32,
	LARGE_BYTES = 8 << 20,
};

/* The state of one sort between its steps. */
typedef struct sort_state {
	const memory_job *j;
	uint64_t *target; /* [size] records up to each splitter, and up to the end */
	splitter_search search;
	uint64_t *cut;       /* [size + 1] rank d gets this rank's records [cut[d], cut[d + 1]) */
	uint64_t *recv;      /* [size] records from each rank */
	unsigned char *kept; /* memory of own */
	sorted_memory own;   /* this rank's records */
	outgoing out;
	stream_merge merge;
	exchange *x;
} sort_state;

/* Return the bytes of all windows of a rank. They depend on the mean share, so that blocks have the
 * same size on all ranks. */
static size_t memory_sort_windows(uint64_t all_bytes, int ranks)
{
	const uint64_t part = all_bytes / (uint64_t)ranks / WINDOWS_PART;
	const uint64_t most = u64_min(EXCHANGE_MOST_BYTES, (uint64_t)ranks * RANK_WINDOWS_BYTES);
	return (size_t)u64_min(u64_max(part, EXCHANGE_LEAST_BYTES), most);
}

/* The destination of merged records. */
typedef struct merge_end {
	uint32_t record_bytes;
	unsigned char *out;
	bool large; /* the output is larger than caches */
	streaming_store streaming;
} merge_end;

static unsigned char *end_room(void *end, size_t *recs)
{
	merge_end *x = end;
	*recs = x->large ? streaming_store_left(&x->streaming) / x->record_bytes : SIZE_MAX;
	return x->large ? streaming_store_room(&x->streaming) : x->out;
}

static void end_add(void *end, size_t n)
{
	merge_end *x = end;
	const size_t bytes = n * x->record_bytes;
	if (x->large)
		streaming_store_add(&x->streaming, bytes);
	else
		x->out += bytes;
}

/* Prepare this rank's records, which are sorted on demand. Find the places of the splitters among
 * them, and exchange the counts. */
static status sort_and_split(sort_state *r)
{
	const memory_job *j = r->j;
	const size_t p = (size_t)j->c->size;
	const records in = { j->in, j->lay, (uint32_t)j->c->rank };
	sorted *own = &r->own.s;
	const bucket_sort_task t = {
		.m = j->m, .in = &in, .n = j->n_in, .threads = j->threads, .e = j->e
	};
	status rc = bucket_sort_begin(&t, &r->own.order, &r->kept);
	if (rc == ST_OK)
		rc = demand_sort(r->own.order, j->threads, j->e);
	r->own.recs = in;
	rc = comm_agree(j->c, rc == ST_OK ? sorted_memory_make(&r->own, j->n_in, j->e) : rc);
	r->search = (splitter_search){
		.c = j->c, .m = j->m, .r = own, .target = r->target, .count = p - 1
	};
	if (rc == ST_OK)
		rc = splitter_search_open(&r->search, j->e);
	if (rc == ST_OK)
		rc = splitter_search_end(&r->search, r->cut, j->e);
	splitter_search_close(&r->search);
	if (rc == ST_OK) {
		r->out = (outgoing){ .m = j->m, .size = p };
		rc = comm_agree(j->c, outgoing_open(&r->out, own, r->cut, j->e));
	}
	return rc == ST_OK ? comm_alltoall(j->c, r->out.send, r->recv, sizeof *r->recv) : rc;
}

/* Exchange the records, and merge them into the output while they arrive. */
static status exchange_and_merge(sort_state *r)
{
	const memory_job *j = r->j;
	const uint32_t bytes = j->lay.record_bytes;
	const size_t windows = memory_sort_windows(j->records * bytes, j->c->size);
	const exchange_plan p = { .c = j->c,
				  .m = j->m,
				  .record_bytes = bytes,
				  .fill = outgoing_fill,
				  .outgoing = &r->out,
				  .peers = peers_all(j->c),
				  .most_peers = j->c->size,
				  .send = r->out.send,
				  .recv = r->recv,
				  .threads = j->exchange_threads,
				  .budget_bytes = windows,
				  .total = j->records };
	exchange_times unused;
	merge_end to = { .record_bytes = bytes,
			 .out = j->out,
			 .large = j->share[j->c->rank] >= LARGE_BYTES / bytes &&
				  bytes <= STREAMING_MOST_BYTES };
	status rc = comm_agree(j->c, exchange_open(&r->x, &p, j->e));
	if (rc != ST_OK)
		return rc;
	r->merge.x = r->x;
	r->merge.to = (merge_sink){ end_room, end_add, &to };
	if (to.large)
		streaming_store_begin(&to.streaming, to.out);
	rc = exchange_start(r->x);
	if (rc == ST_OK)
		rc = stream_merge_run(&r->merge);
	if (to.large)
		streaming_store_end(&to.streaming);
	if (rc == ST_OK)
		rc = exchange_finish(r->x, &unused, j->e);
	return rc == ST_OK ? comm_agree(j->c, outgoing_failure(&r->out, j->e)) : rc;
}

uint64_t memory_sort_most_bytes(const layout *l, uint64_t n_in, int ranks, unsigned threads)
{
	const uint64_t p = (uint64_t)ranks;
	/* for each rank: its part of the search for splitters, a few items, and its stream */
	const uint64_t stream = sizeof(merge_stream) + (MERGE_BATCH + 2) * sizeof(head) + 1024;
	const uint64_t small =
		splitter_search_peer_bytes(l) + 16 * (uint64_t)item_bytes(l) + stream;
	if (ranks == 1)
		return bucket_sort_most_bytes(l, n_in, threads);
	return bucket_sort_begin_most_bytes(l, n_in, threads) + outgoing_most_bytes(n_in, p) +
	       exchange_most_bytes(l->record_bytes, memory_sort_windows(UINT64_MAX, ranks), ranks,
				   ranks) +
	       (p + 1) * small;
}

status memory_sort(const memory_job *j)
{
	const records in = { j->in, j->lay, (uint32_t)j->c->rank };
	sort_state r = { .j = j };
	if (j->c->size == 1)
		return bucket_sort_records(j->m, &in, (size_t)j->n_in, j->out, j->threads, j->e);
	/* allocate what this rank needs, before the first message */
	const size_t p = (size_t)j->c->size;
	uint64_t sum = 0;
	r.target = mem_array(j->m, p, sizeof *r.target, "shares", j->e);
	r.cut = mem_array(j->m, p + 1, sizeof *r.cut, "cuts", j->e);
	r.recv = mem_array(j->m, p, sizeof *r.recv, "counts", j->e);
	r.merge = (stream_merge){ .out = &r.out,
				  .own = j->c->rank,
				  .own_place = (uint32_t)j->c->rank,
				  .k = (uint32_t)p,
				  .lay = j->lay };
	const bool room = r.target && r.cut && r.recv;
	status rc = room ? stream_merge_open(&r.merge, j->m, j->e) : ST_RESOURCE;
	for (size_t i = 0; room && i < p; i++)
		r.target[i] = sum += j->share[i];
	rc = comm_agree(j->c, rc);
	if (rc == ST_OK)
		rc = sort_and_split(&r);
	if (rc == ST_OK)
		rc = exchange_and_merge(&r);
	exchange_free(r.x);
	outgoing_close(&r.out);
	sorted_memory_close(&r.own);
	mem_free(j->m, r.kept);
	mem_free(j->m, r.target);
	mem_free(j->m, r.cut);
	mem_free(j->m, r.recv);
	stream_merge_close(&r.merge);
	return rc;
}
