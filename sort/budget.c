/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What sorting takes, as the phases allocate it. Two reads and two writes of the data are the
 * price of not fitting, however much there is: runs are as long as memory allows, and one merge
 * takes them all. */
#include "budget.h"
#include "direct.h"
#include "spill.h"
#include "spool.h"
#include "window.h"

#include <inttypes.h>

enum {
	LEAST_WORKERS = 2, /* one reads or writes while the other sorts or merges */
	WORKERS = 4,
	SLACK_BYTES = 4 << 20,   /* stacks, control data */
	STRIDE_BYTES = 64 << 10, /* of records for a sample */
	CORE_RUNS = 16,
	/* where runs are kept: some at least, and so many at most that windows read less of the
	 * excess than of the piece */
	LEAST_KEPT_BYTES = 4 << 20,
	KEPT_BYTES = 64 << 20,
	FEW_KEPT = 16,
	MANY_KEPT = 256,
	CORE_PIECE_BYTES = 8 << 20, /* a piece of 4 MiB may come out twice as long */
};

static uint64_t core_bytes(const budget_query *q)
{
	const uint64_t rec = q->lay.record_bytes, data = q->recs * rec;
	const uint64_t entries = q->recs * sizeof(entry);
	const uint64_t scratch = entries / CORE_RUNS * q->threads;
	uint64_t piece = CORE_PIECE_BYTES + 2 * CORE_PIECE_BYTES / rec * sizeof(entry);
	if (piece > data + 2 * entries)
		piece = data + 2 * entries;
	const uint64_t merge = q->flow_bytes ? q->flow_bytes : (q->threads + 2) * piece;
	const uint64_t landing = q->distributing ? q->out_recs * (rec + 2 * sizeof(entry)) : 0;
	return landing + data + entries + (scratch > merge ? scratch : merge) + SLACK_BYTES;
}

/* Samples of all runs, checksums of all blocks, and what does not depend on the data. */
static uint64_t fixed_bytes(const budget_query *q, const budget *b)
{
	const uint64_t data = q->recs * q->lay.record_bytes;
	return (q->recs / b->stride + MOST_RUNS) * (item_bytes(&q->lay) + sizeof(entry)) +
	       data / STRIDE_BYTES * sizeof(uint64_t) + SLACK_BYTES + q->flow_bytes;
}

static uint64_t worker_fixed_bytes(void)
{
	return SPOOL_BATCH_BYTES + 2 * SPILL_PIECE_BYTES + 2 * IO_ALIGN;
}

static uint64_t between(uint64_t least, uint64_t v, uint64_t most)
{
	return v < least ? least : v > most ? most : v;
}

/* Records of a run that is to be kept. */
static uint64_t kept_recs(const budget_query *q)
{
	const uint64_t rec = q->lay.record_bytes;
	const uint64_t some =
		between(LEAST_KEPT_BYTES / rec + 1, q->recs / FEW_KEPT + 1, KEPT_BYTES / rec + 1);
	return between(q->recs / MANY_KEPT + 1, some, UINT64_MAX);
}

/* Records of a run, if memory holds `most`; 0 if that is too few. */
static uint64_t run_recs(const budget_query *q, uint64_t most)
{
	const size_t unit = io_chunk_recs(q->lay.record_bytes, SPILL_PIECE_BYTES);
	if (q->run_recs)
		return q->run_recs <= most ? q->run_recs : 0;
	const uint64_t kept = kept_recs(q);
	uint64_t n = q->keeps && kept < most ? kept : most;
	if (n > unit)
		n -= n % unit; /* runs begin at a block of the file */
	return n < q->recs ? n : q->recs;
}

/* Pieces need not be longer than runs are. */
static void shorten_pieces(budget *b, const budget_query *q, uint64_t parts)
{
	const uint64_t least = 2 * b->runs * b->stride, excess = least;
	const uint64_t most = b->run_recs > least ? b->run_recs : least;
	if (b->piece_recs > most)
		b->piece_recs = (size_t)most;
	const uint64_t held =
		b->piece_recs + excess > b->run_recs ? b->piece_recs + excess : b->run_recs;
	const uint64_t bytes =
		fixed_bytes(q, b) + parts * (worker_fixed_bytes() + 2 * PORTION_BYTES +
					     held * (q->lay.record_bytes + 2 * sizeof(entry)));
	b->bytes = bytes < b->bytes ? bytes : b->bytes;
}

/* Pieces of b->runs runs, merged by b->workers at a time. */
static bool fits_merging(budget *b, const budget_query *q, uint64_t limit)
{
	const uint64_t rec = q->lay.record_bytes, fixed = fixed_bytes(q, b);
	/* merging: a window for each worker, or for each rank that is sent to; it reaches up to two
	 * strides too far in each run */
	const uint64_t excess = 2 * b->runs * b->stride;
	const uint64_t parts = q->ranks > b->workers ? q->ranks : b->workers;
	const uint64_t part = (limit - fixed) / parts;
	if (part < worker_fixed_bytes() + 4 * PORTION_BYTES)
		return false;
	const uint64_t room =
		(part - worker_fixed_bytes() - 2 * PORTION_BYTES) / (rec + 2 * sizeof(entry));
	b->piece_recs = (size_t)(room > excess ? room - excess : 0);
	b->bytes = limit;
	if (q->keeps)
		shorten_pieces(b, q, parts);
	return b->piece_recs >= b->runs * b->stride;
}

/* Does it go with so many workers within the limit? Fills the rest of b. */
static bool fits(budget *b, const budget_query *q, uint64_t limit, unsigned workers)
{
	const uint64_t rec = q->lay.record_bytes, fixed = fixed_bytes(q, b);
	if (limit < fixed + workers * worker_fixed_bytes())
		return false;
	const uint64_t each = (limit - fixed) / workers - worker_fixed_bytes();
	if (each < 4 * PORTION_BYTES)
		return false;
	b->workers = workers;
	b->run_recs = run_recs(q, each / (rec + 2 * sizeof(entry)));
	if (b->run_recs == 0)
		return false;
	b->runs = q->recs / b->run_recs + (q->recs % b->run_recs != 0);
	return b->runs <= MOST_RUNS && fits_merging(b, q, limit);
}

static bool fits_somehow(budget *b, const budget_query *q, uint64_t limit)
{
	b->stride = q->stride;
	for (unsigned workers = WORKERS; q->stride && workers > 0; workers--)
		if (fits(b, q, limit, workers))
			return true;
	if (q->stride)
		return false;
	for (unsigned workers = WORKERS; workers >= LEAST_WORKERS; workers--)
		for (b->stride = STRIDE_BYTES / q->lay.record_bytes + 1; b->stride > 64;
		     b->stride /= 2)
			if (fits(b, q, limit, workers))
				return true;
	b->stride = 64;
	return fits(b, q, limit, LEAST_WORKERS);
}

static uint64_t least_limit(const budget_query *q)
{
	budget b = { 0 };
	uint64_t lo = 0, hi = core_bytes(q);
	while (q->keeps && !fits_somehow(&b, q, hi) && hi < INT64_MAX / 2)
		hi *= 2;
	while (hi - lo > 1 << 20) {
		const uint64_t mid = lo + (hi - lo) / 2;
		if (fits_somehow(&b, q, mid))
			hi = mid;
		else
			lo = mid;
	}
	return hi;
}

status budget_make(budget *b, const budget_query *q, err *e)
{
	*b = (budget){ .core_bytes = core_bytes(q) };
	b->bytes = b->core_bytes;
	return !q->keeps && b->core_bytes <= q->limit_bytes ? ST_OK : budget_disk(b, q, e);
}

status budget_disk(budget *b, const budget_query *q, err *e)
{
	*b = (budget){ .core_bytes = core_bytes(q), .most_recs = q->recs };
	if (!fits_somehow(b, q, q->limit_bytes))
		return err_set(e, ST_RESOURCE,
			       "%" PRIu64 " bytes of memory are not enough for %" PRIu64
			       " records of %u bytes: it takes %" PRIu64
			       " to sort them by way of the disk, %" PRIu64 " in memory",
			       q->limit_bytes, q->recs, q->lay.record_bytes, least_limit(q),
			       b->core_bytes);
	b->spills = true;
	b->disk_bytes = q->recs * q->lay.record_bytes;
	return ST_OK;
}

/* A stream's room doubles, and then both are there. */
static bool holds(budget *b, const budget_query *q, uint64_t limit)
{
	(void)b;
	return core_bytes(q) <= limit &&
	       q->recs * (q->lay.record_bytes + sizeof(entry)) <= limit / 3 * 2;
}

/* The most records, up to `most`, for which that is so. */
static uint64_t most_recs(const budget_query *q, uint64_t most,
			  bool (*is_so)(budget *, const budget_query *, uint64_t))
{
	budget b;
	budget_query some = *q;
	uint64_t lo = 0, hi = most + 1;
	while (hi - lo > 1) {
		some.recs = lo + (hi - lo) / 2;
		if (is_so(&b, &some, q->limit_bytes))
			lo = some.recs;
		else
			hi = some.recs;
	}
	return lo;
}

void budget_stream(budget *b, const budget_query *q, uint64_t disk_recs)
{
	const uint64_t most = INT64_MAX / q->lay.record_bytes;
	const uint64_t core = most_recs(q, most < POS_MASK ? most : POS_MASK, holds);
	budget_query whole = *q;
	*b = (budget){ .bytes = q->limit_bytes, .core_recs = core };
	whole.recs = most_recs(q, disk_recs < most ? disk_recs : most, fits_somehow);
	if (whole.recs <= core || !fits_somehow(b, &whole, q->limit_bytes))
		return;
	b->most_recs = whole.recs;
	/* while these are written their room is that of all runs at a time */
	b->core_recs = core < b->workers * b->run_recs ? core : b->workers * b->run_recs;
	/* what is held first ends with a shorter run */
	b->runs += b->runs < MOST_RUNS;
}

void budget_settle(budget *b, const budget_query *q)
{
	budget_query whole = *q;
	whole.recs = b->most_recs;
	b->spills = true;
	b->core_bytes = core_bytes(q);
	b->disk_bytes = q->recs * q->lay.record_bytes;
	if (b->bytes)
		(void)fits_merging(b, &whole, q->limit_bytes);
}

void budget_force(budget *b, const budget_query *q, uint64_t recs)
{
	*b = (budget){ .spills = true,
		       .core_bytes = core_bytes(q),
		       .disk_bytes = q->recs * q->lay.record_bytes,
		       .run_recs = recs < q->recs ? recs : q->recs,
		       .workers = WORKERS,
		       .stride = 3 };
	b->runs = q->recs / b->run_recs + (q->recs % b->run_recs != 0);
	b->piece_recs = b->run_recs;
	b->core_recs = 2 * b->run_recs;
	b->most_recs = q->recs;
}
