/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The phases of the sort in memory. A rank finds the order of its records in buckets, with the
 * output array as scratch, and keeps it as positions: no second copy of anything large. */
#include "memory_sort.h"
#include "base/lower_bound.h"
#include "base/minmax.h"
#include "exchange/exchange.h"
#include "kernel/bucket_sort.h"
#include "kernel/streaming_store.h"
#include "kernel/permutation.h"
#include "exchange/sample.h"
#include "exchange/split.h"
#include "exchange/stream_merge.h"

/* For each rank so much that a block is a quarter of a MiB and stays in the cache. */
enum {
	RANK_WINDOWS_BYTES = 2 << 20,
	WINDOWS_PART = 32,
	LARGE_BYTES = 8 << 20,
};

/* What one sort holds between its steps. */
typedef struct sort_state {
	const memory_job *j;
	uint64_t *target; /* [size]: what precedes each splitter, and all */
	brackets brackets;
	uint64_t *cut;         /* [size + 1] places: rank d gets [cut[d], cut[d + 1]) */
	uint64_t *send, *recv; /* [size] records to and from each rank */
	permutation own;       /* this rank's records in order */
	merge_stream *streams; /* [size] */
	head *heads;           /* [stream_merge_heads] */
	exchange *x;
} sort_state;

/* For all windows of a rank, by the mean share: blocks have one size everywhere. */
static size_t windows_bytes(uint64_t all_bytes, int ranks)
{
	const uint64_t part = all_bytes / (uint64_t)ranks / WINDOWS_PART;
	const uint64_t most = u64_min(EXCHANGE_MOST_BYTES, (uint64_t)ranks * RANK_WINDOWS_BYTES);
	return (size_t)u64_min(u64_max(part, EXCHANGE_LEAST_BYTES), most);
}

/* All that this rank needs by itself, before the first phase. */
static status prepare(sort_state *r)
{
	const memory_job *j = r->j;
	const size_t p = (size_t)j->c->size;
	uint64_t sum = 0;
	r->target = mem_array(j->m, p, sizeof *r->target, "shares", j->e);
	r->cut = mem_array(j->m, p + 1, sizeof *r->cut, "cuts", j->e);
	r->send = mem_array(j->m, p, sizeof *r->send, "counts", j->e);
	r->recv = mem_array(j->m, p, sizeof *r->recv, "counts", j->e);
	r->streams = mem_array(j->m, p, sizeof *r->streams, "streams", j->e);
	r->heads =
		mem_array(j->m, stream_merge_heads((uint32_t)p), sizeof *r->heads, "streams", j->e);
	r->own.pos =
		mem_array(j->m, (size_t)j->n_in, permutation_width(j->n_in), "positions", j->e);
	if (!r->target || !r->cut || !r->send || !r->recv || !r->streams || !r->heads ||
	    !r->own.pos)
		return ST_RESOURCE;
	for (size_t i = 0; i < p; i++)
		r->target[i] = sum += j->share[i];
	return ST_OK;
}

static void release(sort_state *r)
{
	mem *m = r->j->m;
	exchange_free(r->x);
	mem_free(m, r->target);
	mem_free(m, r->cut);
	mem_free(m, r->send);
	mem_free(m, r->recv);
	mem_free(m, r->streams);
	mem_free(m, r->heads);
	mem_free(m, r->own.pos);
}

/* This rank's records in order, as a sequence that is sampled and cut. */
typedef struct own_records {
	sorted s;
	const permutation *order;
} own_records;

static entry own_entry(const sorted *s, uint64_t place)
{
	const permutation *p = ((const own_records *)(const void *)s)->order;
	return entry_make(permutation_record(p, place), &s->lay, permutation_position(p, place));
}

static void own_item(sorted *s, uint64_t place, item *it)
{
	const entry e = own_entry(s, place);
	item_of(it, &e, &((const own_records *)(void *)s)->order->r);
}

static uint64_t own_before(sorted *s, uint64_t lo, uint64_t hi, const item *it)
{
	const records *recs = &((const own_records *)(void *)s)->order->r;
	lower_bound b = { .lo = lo, .hi = hi };
	while (lower_bound_open(&b)) {
		const entry e = own_entry(s, b.mid);
		lower_bound_step(&b, entry_item_cmp(&e, it, recs) < 0);
	}
	return b.lo;
}

static const sorted_ops own_ops = { .item = own_item, .before = own_before };

static status sort_and_split(sort_state *r)
{
	const memory_job *j = r->j;
	const size_t n = (size_t)j->n_in, p = (size_t)j->c->size;
	const uint64_t start[2] = { 0, n };
	own_records own = { .s = { .ops = &own_ops,
				   .lay = j->lay,
				   .rank = (uint32_t)j->c->rank,
				   .count = 1,
				   .start = start },
			    .order = &r->own };
	const uint64_t room_bytes = j->share[j->c->rank] * j->lay.record_bytes; /* of the output */
	status rc = bucket_sort_order(j->m, n, j->out, room_bytes, &r->own, j->threads,
				      &BUCKET_SORT_SIZES, j->e);
	rc = comm_agree(j->c, rc);
	if (rc == ST_OK)
		rc = sample_brackets(j->c, j->m, &own.s, r->target, &r->brackets, j->e);
	if (rc == ST_OK)
		rc = split_sorted(j->c, j->m, &own.s, r->target, &r->brackets, r->cut, j->e);
	sample_brackets_free(j->m, &r->brackets);
	for (size_t d = 0; rc == ST_OK && d < p; d++)
		r->send[d] = r->cut[d + 1] - r->cut[d];
	return rc == ST_OK ? comm_alltoall(j->c, r->send, r->recv, sizeof *r->send) : rc;
}

static void fill(void *outgoing, int to, uint64_t skip, size_t n, unsigned char *buf)
{
	const sort_state *r = outgoing;
	const uint64_t first = r->cut[to] + skip;
	permutation_gather(&r->own, first, n, (size_t)(r->cut[to + 1] - first) - n, buf);
}

static status open_exchange(sort_state *r)
{
	const memory_job *j = r->j;
	const uint64_t bytes = j->records * j->lay.record_bytes;
	const exchange_plan p = { .c = j->c,
				  .m = j->m,
				  .record_bytes = j->lay.record_bytes,
				  .fill = fill,
				  .outgoing = r,
				  .peers = peers_all(j->c),
				  .most_peers = j->c->size,
				  .send = r->send,
				  .recv = r->recv,
				  .threads = j->exchange_threads,
				  .budget_bytes = windows_bytes(bytes, j->c->size),
				  .total = j->records };
	return comm_agree(j->c, exchange_open(&r->x, &p, j->e));
}

/* Both ends of the merge: this rank's own records, and the output array. */
typedef struct merge_ends {
	const permutation *own;
	uint64_t at, end; /* own places that go to this rank */
	uint32_t rank, record_bytes;
	unsigned char *out;
	bool large; /* the output is larger than caches */
	streaming_store streaming;
} merge_ends;

static uint32_t own_heads(void *ends_, head *h, uint32_t most)
{
	merge_ends *x = ends_;
	const uint64_t left = x->end - x->at;
	const uint32_t n = (uint32_t)u64_min(left, most);
	const size_t ahead = record_ahead(x->record_bytes);
	for (uint32_t i = 0; i < n; i++, x->at++) {
		if (x->end - x->at > ahead)
			permutation_fetch(x->own, x->at + ahead);
		h[i] = head_make(permutation_record(x->own, x->at), x->rank, &x->own->r.lay);
	}
	return n;
}

static void put_records(void *ends_, const head *h, size_t n)
{
	merge_ends *x = ends_;
	const uint32_t bytes = x->record_bytes;
	for (size_t i = 0; i < n; i++) {
		if (x->large) {
			record_copy(streaming_store_room(&x->streaming), h[i].rec, bytes);
			streaming_store_add(&x->streaming, bytes);
		} else {
			record_copy(x->out, h[i].rec, bytes);
			x->out += bytes;
		}
	}
}

static merge_ends open_ends(const sort_state *r)
{
	const int rank = r->j->c->rank;
	const uint64_t bytes = r->j->share[rank] * r->j->lay.record_bytes;
	merge_ends x = { .own = &r->own,
			 .at = r->cut[rank],
			 .end = r->cut[rank + 1],
			 .rank = (uint32_t)rank,
			 .record_bytes = r->j->lay.record_bytes,
			 .out = r->j->out };
	x.large = bytes >= LARGE_BYTES && x.record_bytes <= STREAMING_MOST_BYTES;
	for (uint64_t i = x.at; i < x.end && i < x.at + record_ahead(x.record_bytes); i++)
		permutation_fetch(x.own, i);
	return x;
}

static status exchange_and_merge(sort_state *r)
{
	exchange_times unused;
	merge_ends both = open_ends(r);
	stream_merge g = { .x = r->x,
			   .own_place = (uint32_t)r->j->c->rank,
			   .k = (uint32_t)r->j->c->size,
			   .lay = r->j->lay,
			   .s = r->streams,
			   .heads = r->heads,
			   .own = own_heads,
			   .from = &both,
			   .put = put_records,
			   .to = &both };
	if (both.large)
		streaming_store_begin(&both.streaming, both.out);
	status rc = exchange_start(r->x);
	if (rc == ST_OK)
		rc = stream_merge_run(&g);
	if (both.large)
		streaming_store_end(&both.streaming);
	return rc == ST_OK ? exchange_finish(r->x, &unused, r->j->e) : rc;
}

static status over_ranks(sort_state *r)
{
	status rc = comm_agree(r->j->c, prepare(r));
	if (rc == ST_OK)
		rc = sort_and_split(r);
	if (rc == ST_OK)
		rc = open_exchange(r);
	if (rc == ST_OK)
		rc = exchange_and_merge(r);
	return rc;
}

/* Samples, brackets and the search for splitters: a few items a rank; all samples at rank 0. */
static uint64_t small_bytes(const layout *l, uint64_t ranks)
{
	const uint64_t fixed = sizeof(merge_stream) + (MERGE_BATCH + 2) * sizeof(head) + 1024,
		       items = 16 * (uint64_t)item_bytes(l);
	return (ranks + 1) * (sample_most_bytes(l) + items + fixed);
}

uint64_t memory_sort_most_bytes(const layout *l, uint64_t n_in, uint64_t n_out, int ranks,
				unsigned threads)
{
	const uint64_t p = (uint64_t)ranks;
	if (ranks == 1)
		return bucket_sort_most_bytes(l, n_in, threads);
	return bucket_sort_order_most_bytes(l, n_in, n_out * l->record_bytes, threads) +
	       n_in * permutation_width(n_in) +
	       exchange_most_bytes(l->record_bytes, windows_bytes(UINT64_MAX, ranks), ranks,
				   ranks) +
	       small_bytes(l, p);
}

status memory_sort(const memory_job *j)
{
	const records in = { j->in, j->lay, (uint32_t)j->c->rank };
	sort_state r = {
		.j = j, .own = { .r = in, .wide = permutation_width(j->n_in) > sizeof(uint32_t) }
	};
	if (j->c->size == 1)
		return bucket_sort_records(j->m, &in, (size_t)j->n_in, j->out, j->threads, j->e);
	const status rc = over_ranks(&r);
	release(&r);
	return rc;
}
