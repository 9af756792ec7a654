/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lanes
 *
 * The search for splitters cuts the output at the borders of all lanes of all ranks. Lane i of a
 * rank receives its records in an exchange with the lanes i of all other ranks, and merges them.
 * So lanes share no lock and no buffer; only the messages of all lanes of a rank are moved by one
 * thread. A lane has a thread that merges, one that sends, and one that writes: about two
 * processors' work.
 *
 * A rank sends in all lanes, even to ranks that use only some of them. These ranks use different
 * lanes, so that no lane of a sender has more to do than another.
 *
 * There are ranks * lanes streams in each direction, which share the memory of the windows. So
 * there are fewer lanes if there are many ranks, and blocks stay long. All ranks have the same
 * number of lanes; a rank with fewer processors leaves some of them empty, but sends in all. */
#include "lanes.h"
#include "base/arith.h"
#include "base/pool.h"

#include <inttypes.h>

enum {
	THREADS_A_LANE = 2,
	MOST_ON_DISK = 4,              /* more lanes read runs in small pieces */
	LEAST_LANE_BYTES = 16 << 20,   /* for less, threads and windows cost more than they save */
	WINDOW_BYTES = 2 * (64 << 10), /* least window of a stream in one direction */
};

enum {
	LEAST_PEER_BYTES = 1 << 20, /* for each peer, unless there is little data */
	WINDOWS_PART = 16,          /* of the mean share */
	LIMIT_PART = 8              /* of the memory limit, at most */
};

uint64_t lanes_windows_bytes(uint64_t mean, int ranks, uint64_t least_limit_bytes)
{
	const uint64_t part = mean / WINDOWS_PART, most = least_limit_bytes / LIMIT_PART;
	const uint64_t peers = (uint64_t)(ranks - 1) * LEAST_PEER_BYTES;
	const uint64_t least = u64_min(u64_min(peers, EXCHANGE_LEAST_BYTES), 4 * mean);
	return u64_min(u64_min(u64_max(least, part), EXCHANGE_MOST_BYTES), most);
}

unsigned lanes_wanted(unsigned threads, uint64_t out_bytes, uint64_t windows_bytes, int ranks,
		      bool on_disk, const char **why)
{
	const struct limit {
		uint64_t most;
		const char *why;
	} limit[] = {
		{ u64_max(threads / THREADS_A_LANE, 1), "one for two threads" },
		{ EXCHANGE_MOST_LANES, "no more are useful" },
		{ on_disk ? MOST_ON_DISK : UINT64_MAX, "runs on disk are read in long pieces" },
		{ out_bytes / LEAST_LANE_BYTES, "each has enough to do" },
		{ ranks > 1 ? windows_bytes / (2 * (uint64_t)(ranks - 1) * WINDOW_BYTES) : 1,
		  "windows for many ranks stay long" },
	};
	uint64_t n = UINT64_MAX;
	for (size_t i = 0; i < sizeof limit / sizeof *limit; i++)
		if (limit[i].most < n) {
			n = limit[i].most;
			*why = limit[i].why;
		}
	return (unsigned)u64_max(n, 1);
}

/* Return the first of n lanes, if ranks before this one use `before` lanes. */
static size_t first_lane(size_t before, size_t n, size_t lanes)
{
	return size_min(before % lanes, lanes - n);
}

/* Return how much more work the busiest lane has than the mean, if `ranks` ranks with equal shares
 * use n lanes each, as a part of the mean. */
static double unevenness(size_t ranks, size_t n, size_t lanes)
{
	enum { ENOUGH = 4 * EXCHANGE_MOST_LANES }; /* then ranks repeat what others do */
	size_t load[EXCHANGE_MOST_LANES] = { 0 }, most = 0;
	ranks = size_min(ranks, ENOUGH);
	for (size_t i = 0; i < ranks; i++)
		for (size_t k = first_lane(i * n, n, lanes), end = k + n; k < end; k++)
			most = size_max(most, ++load[k]);
	return ranks ? (double)(most * lanes) / (double)(ranks * n) - 1 : 0;
}

void lanes_spread(uint32_t *used, const uint64_t *share, size_t ranks, size_t lanes)
{
	static const double UNEVEN = 0.1; /* of the mean work of a lane */
	size_t ranks_with[EXCHANGE_MOST_LANES + 1] = { 0 };
	uint32_t more[EXCHANGE_MOST_LANES + 1];
	double part[EXCHANGE_MOST_LANES + 1] = { 0 }, all = 0;
	for (size_t i = 0; i < ranks; i++) {
		ranks_with[used[i]]++;
		part[used[i]] += (double)share[i];
		all += (double)share[i];
	}
	for (uint32_t n = 1; n <= lanes; n++) {
		more[n] = n;
		while (more[n] < lanes &&
		       part[n] * unevenness(ranks_with[n], more[n], lanes) > UNEVEN * all)
			more[n]++;
	}
	for (size_t i = 0; i < ranks; i++)
		used[i] = more[used[i]];
}

void lanes_targets(const uint64_t *share, const uint32_t *used, size_t ranks, size_t lanes,
		   uint64_t *target)
{
	uint64_t before = 0;
	size_t next = 0;
	for (size_t i = 0; i < ranks; before += share[i++]) {
		const size_t n = lanes > 1 ? used[i] : 1, first = first_lane(next, n, lanes);
		for (size_t k = 0; k < lanes; k++)
			target[i * lanes + k] =
				before + (k < first ? 0
					  : k + 1 < first + n
						  ? part_begin(share[i], k + 1 - first, n)
						  : share[i]);
		next += n;
	}
}

uint64_t lanes_most_bytes(uint64_t recs, size_t record_bytes, uint64_t windows_bytes, int ranks,
			  bool inside, size_t lanes)
{
	const uint64_t p = (uint64_t)ranks;
	const uint64_t of_lane = sizeof(merge_lane) + sizeof(exchange *) +
				 p * 3 * sizeof(uint64_t) + p * sizeof(merge_stream) +
				 stream_merge_heads((uint32_t)ranks) * sizeof(head);
	return lanes * (of_lane + exchange_most_bytes(record_bytes, (size_t)(windows_bytes / lanes),
						      ranks, inside)) +
	       outgoing_most_bytes(recs, p * lanes);
}

/* Let all ranks announce how many records they send in each lane. */
static status announce(lane_set *l, err *e)
{
	comm *c = l->p.c;
	const size_t p = (size_t)c->size, n = l->p.lanes;
	uint64_t *send = l->count + p * n, *recv = send + p * n, sum = 0;
	bool ok = true;
	for (size_t k = 0; k < p * n; k++)
		send[k] = l->lane[k % n].out.send[k / n];
	const status rc = comm_alltoall(c, send, recv, n * sizeof *send);
	for (size_t i = 0; rc == ST_OK && i < n; i++) {
		merge_lane *a = &l->lane[i];
		a->first = sum;
		for (size_t r = 0; r < p; r++) {
			a->recv[r] = recv[r * n + i];
			ok &= !__builtin_add_overflow(sum, a->recv[r], &sum);
		}
		a->recs = sum - a->first;
	}
	/* By the splitters, this rank gets exactly `wanted` records, or fewer by folding. It has no
	 * memory for more, and would wait forever for missing records. */
	if (rc == ST_OK && (!ok || sum != l->p.wanted))
		return err_set(e, ST_PEER,
			       "the ranks do not announce the %" PRIu64
			       " records that this rank must receive",
			       l->p.wanted);
	return rc;
}

static status lane_open_exchange(merge_lane *a, size_t number, err *e)
{
	const lanes_plan *p = &a->of->p;
	const exchange_plan x = { .c = p->c,
				  .m = p->m,
				  .record_bytes = p->of->lay.record_bytes,
				  .fill = outgoing_fill,
				  .outgoing = &a->out,
				  .send = a->out.send,
				  .recv = a->recv,
				  .folds = p->folds,
				  .threads = p->threads,
				  .lane = (unsigned)number,
				  .budget_bytes = (size_t)(p->windows_bytes / p->lanes),
				  .total = p->total };
	return exchange_open(&a->x, &x, e);
}

status lanes_open(lane_set *l, const lanes_plan *p, err *e)
{
	comm *c = p->c;
	const size_t size = (size_t)c->size, n = p->lanes, runs = p->of->count;
	*l = (lane_set){ .p = *p };
	l->lane = mem_array(p->m, n, sizeof *l->lane, "lanes", e);
	l->x = mem_array(p->m, n, sizeof *l->x, "lanes", e);
	l->count = mem_array(p->m, size * n, 3 * sizeof *l->count, "counts", e);
	status rc = l->lane && l->x && l->count ? ST_OK : ST_RESOURCE;
	for (size_t i = 0; rc == ST_OK && i < n; i++) {
		merge_lane *a = &l->lane[i];
		a->of = l;
		a->recv = l->count + i * size;
		a->out = (outgoing){ .m = p->m,
				     .size = size,
				     .streams = size * n,
				     .own = c->rank,
				     .folds = p->folds,
				     .ahead_bytes = p->ahead_bytes };
		a->merge = (stream_merge){ .out = &a->out,
					   .own_place = p->own_place,
					   .k = (uint32_t)size,
					   .rank_at = p->rank_at,
					   .lay = p->of->lay };
		rc = outgoing_open(&a->out, p->of, p->cut + i * runs, n * runs, e);
		if (rc == ST_OK)
			rc = stream_merge_open(&a->merge, p->m, e);
	}
	rc = comm_agree(c, rc);
	if (rc == ST_OK)
		rc = comm_agree(c, announce(l, e));
	for (size_t i = 0; rc == ST_OK && i < n; i++) {
		rc = lane_open_exchange(&l->lane[i], i, e);
		l->x[i] = l->lane[i].merge.x = l->lane[i].x;
	}
	return comm_agree(c, rc);
}

/* Read, merge and write a lane, on its thread. */
static void lane_run(merge_lane *a)
{
	comm *c = a->of->p.c;
	a->merge.to = a->to;
	a->rc = stream_merge_run(&a->merge);
	if (a->rc == ST_OK)
		a->rc = exchange_finish(a->x, &a->times, &a->e);
	comm_wait_begin(c); /* for the other lanes */
	atomic_fetch_sub(&a->of->readers, 1);
}

static void *lane_main(void *lane_)
{
	exchange_place(((merge_lane *)lane_)->x);
	lane_run(lane_);
	return NULL;
}

status lanes_run(lane_set *l, exchange_times *times, err *e)
{
	comm *c = l->p.c;
	const size_t n = l->p.lanes;
	pthread_t thread[EXCHANGE_MOST_LANES];
	bool up[EXCHANGE_MOST_LANES] = { false };
	status rc = exchange_start(l->x, n, e);
	if (rc != ST_OK)
		return rc;
	/* The main thread runs lane 0, and lanes whose threads cannot be started, one after the
	 * other; or it moves the messages of all lanes. */
	const bool drives = n > 1 && exchange_needs_caller(l->x);
	atomic_store(&l->readers, (int)n);
	atomic_store(&c->lanes, (int)n);
	for (size_t i = drives ? 0 : 1; i < n; i++)
		up[i] = thread_start(&thread[i], "lane", lane_main, &l->lane[i]) == 0;
	int left = 0;
	for (size_t i = 0; i < n; i++)
		left += !up[i];
	if (drives)
		(void)exchange_drive(l->x, n, &l->readers, left);
	for (size_t i = 0; i < n; i++)
		if (!up[i])
			lane_run(&l->lane[i]);
	for (size_t i = 0; i < n; i++)
		if (up[i])
			pthread_join(thread[i], NULL);
	atomic_store(&c->lanes, 0);
	for (size_t i = 0; i < n; i++) {
		merge_lane *a = &l->lane[i];
		(void)comm_wait_end(c, ST_OK);
		(void)err_join(e, &a->e);
		if (rc == ST_OK)
			rc = a->rc;
		if (rc == ST_OK)
			rc = outgoing_failure(&a->out, e);
		times->wait_s += a->times.wait_s / (double)n;
		times->move_s += a->times.move_s;
	}
	return rc;
}

uint64_t lanes_sent(const lane_set *l, int rank)
{
	uint64_t n = 0;
	for (size_t i = 0; i < l->p.lanes; i++)
		n += exchange_sent(l->lane[i].x, rank);
	return n;
}

uint64_t lanes_received(const lane_set *l, int rank)
{
	uint64_t n = 0;
	for (size_t i = 0; i < l->p.lanes; i++)
		n += exchange_received(l->lane[i].x, rank);
	return n;
}

dropped lanes_dropped(const lane_set *l)
{
	dropped all = { 0 };
	for (size_t i = 0; i < l->p.lanes; i++)
		for (int k = 0; k < 2; k++)
			dropped_join(&all, &l->lane[i].out.dropped[k]);
	return all;
}

void lanes_close(lane_set *l)
{
	mem *m = l->p.m;
	if (!m)
		return;
	for (size_t i = 0; l->lane && i < l->p.lanes; i++) {
		merge_lane *a = &l->lane[i];
		exchange_free(a->x);
		outgoing_close(&a->out);
		stream_merge_close(&a->merge);
	}
	mem_free(m, l->lane);
	mem_free(m, l->x);
	mem_free(m, l->count);
	*l = (lane_set){ 0 };
}
