/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorts in memory. A rank's records stay in place, sorted on demand, until they are sent or merged
 * into the output. So nothing large has a second copy. */
#include "memory_sort.h"
#include "base/arith.h"
#include "exchange/lanes.h"
#include "exchange/splitter_search.h"
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
	size_t lanes;
	uint32_t *used;   /* [size] lanes of each rank; the others are empty */
	uint64_t *target; /* [size * lanes] records up to the end of each lane */
	splitter_search search;
	uint64_t *cut;        /* [size * lanes + 1] places of this rank's records in each lane */
	unsigned char *kept;  /* memory of own */
	sorted_memory own;    /* this rank's records */
	struct merge_end *to; /* [lanes] */
	lane_set l;
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

/* Agree on the lanes of all ranks. */
static status agree_lanes(sort_state *r)
{
	const memory_job *j = r->j;
	const size_t p = (size_t)j->c->size;
	const uint64_t all_bytes = j->records * j->lay.record_bytes;
	const char *why;
	const uint32_t mine =
		lanes_wanted(j->threads, all_bytes / p, memory_sort_windows(all_bytes, j->c->size),
			     j->c->size, false, &why);
	r->used = mem_array(j->m, p, sizeof *r->used, "lanes", j->e);
	status rc = comm_agree(j->c, r->used ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK)
		rc = comm_allgather(j->c, &mine, r->used, sizeof mine);
	for (size_t i = 0; rc == ST_OK && i < p; i++) {
		if (r->used[i] == 0 || r->used[i] > EXCHANGE_MOST_LANES)
			return comm_noted(j->c, ST_PEER);
		r->lanes = size_max(r->lanes, r->used[i]);
	}
	return rc;
}

/* Prepare this rank's records, which are sorted on demand. Find the places of the splitters among
 * them. */
static status sort_and_split(sort_state *r)
{
	const memory_job *j = r->j;
	const records in = { j->in, j->lay, (uint32_t)j->c->rank };
	const bucket_sort_task t = {
		.m = j->m, .in = &in, .n = j->n_in, .threads = j->threads, .e = j->e
	};
	status rc = bucket_sort_begin(&t, &r->own.order, &r->kept);
	r->own.recs = in;
	rc = comm_agree(j->c, rc == ST_OK ? sorted_memory_make(&r->own, j->n_in, j->e) : rc);
	r->search = (splitter_search){ .c = j->c,
				       .m = j->m,
				       .r = &r->own.s,
				       .target = r->target,
				       .each = r->lanes,
				       .count = (size_t)j->c->size * r->lanes - 1 };
	if (rc == ST_OK)
		rc = splitter_search_open(&r->search, j->e);
	if (rc == ST_OK)
		rc = splitter_search_end(&r->search, r->cut, j->e);
	splitter_search_close(&r->search);
	return rc;
}

/* Exchange the records, and merge them into the output while they arrive. */
static status exchange_and_merge(sort_state *r)
{
	const memory_job *j = r->j;
	const uint32_t bytes = j->lay.record_bytes;
	const lanes_plan p = { .c = j->c,
			       .m = j->m,
			       .of = &r->own.s,
			       .cut = r->cut,
			       .lanes = r->lanes,
			       .windows_bytes = memory_sort_windows(j->records * bytes, j->c->size),
			       .wanted = j->share[j->c->rank],
			       .total = j->records,
			       .own_place = (uint32_t)j->c->rank,
			       .threads = j->exchange_threads > 0 };
	const bool large =
		j->share[j->c->rank] >= LARGE_BYTES / bytes && bytes <= STREAMING_MOST_BYTES;
	exchange_times unused = { 0, 0 };
	status rc = lanes_open(&r->l, &p, j->e);
	for (size_t i = 0; rc == ST_OK && i < r->lanes; i++) {
		merge_lane *a = &r->l.lane[i];
		r->to[i] = (merge_end){ .record_bytes = bytes,
					.out = j->out + a->first * bytes,
					.large = large };
		a->to = (merge_sink){ end_room, end_add, &r->to[i] };
		if (large)
			streaming_store_begin(&r->to[i].streaming, r->to[i].out);
	}
	const bool opened = rc == ST_OK;
	if (rc == ST_OK)
		rc = lanes_run(&r->l, &unused, j->e);
	for (size_t i = 0; opened && large && i < r->lanes; i++)
		streaming_store_end(&r->to[i].streaming);
	return comm_agree(j->c, rc);
}

uint64_t memory_sort_most_bytes(const layout *l, uint64_t n_in, int ranks, unsigned threads)
{
	const uint64_t windows = memory_sort_windows(UINT64_MAX, ranks);
	const char *why;
	const unsigned each = lanes_wanted(threads, UINT64_MAX, windows, ranks, false, &why);
	/* for each lane: its part of the search for splitters, and a few items */
	const uint64_t of_lane = splitter_search_peer_bytes(l) + 16 * (uint64_t)item_bytes(l);
	if (ranks == 1)
		return bucket_sort_most_bytes(l, n_in, threads);
	return bucket_sort_begin_most_bytes(l, n_in, threads) +
	       lanes_most_bytes(n_in, l->record_bytes, windows, ranks, false, each) +
	       each * sizeof(merge_end) + ((uint64_t)ranks + 1) * each * of_lane;
}

status memory_sort(const memory_job *j)
{
	const records in = { j->in, j->lay, (uint32_t)j->c->rank };
	sort_state r = { .j = j, .lanes = 1 };
	const size_t p = (size_t)j->c->size;
	if (p == 1)
		return bucket_sort_records(j->m, &in, (size_t)j->n_in, j->out, j->threads, j->e);
	/* allocate what this rank needs, before the first record moves */
	status rc = agree_lanes(&r);
	r.target = mem_array(j->m, p * r.lanes, sizeof *r.target, "shares", j->e);
	r.cut = mem_array(j->m, p * r.lanes + 1, sizeof *r.cut, "cuts", j->e);
	r.to = mem_array(j->m, r.lanes, sizeof *r.to, "lanes", j->e);
	if (rc == ST_OK)
		rc = comm_agree(j->c, r.target && r.cut && r.to ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK) {
		lanes_targets(j->share, r.used, p, r.lanes, r.target);
		rc = sort_and_split(&r);
	}
	if (rc == ST_OK)
		rc = exchange_and_merge(&r);
	lanes_close(&r.l);
	sorted_memory_close(&r.own);
	mem_free(j->m, r.kept);
	mem_free(j->m, r.used);
	mem_free(j->m, r.target);
	mem_free(j->m, r.cut);
	mem_free(j->m, r.to);
	return rc;
}
