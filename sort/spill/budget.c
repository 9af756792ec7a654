/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What sorting takes, as the phases allocate it. Two reads and two writes of the data are the
 * price of not fitting, however much there is: runs are as long as memory allows, and one merge
 * takes them all. */
#include "budget.h"
#include "io/io_fd.h"
#include "spill.h"
#include "run_formation.h"
#include "merge_slice.h"

#include <inttypes.h>

enum {
	LEAST_WORKERS = 2, /* one reads or writes while the other sorts or merges */
	WORKERS = 4,
	SLACK_BYTES = 4 << 20,   /* stacks, control data */
	STRIDE_BYTES = 64 << 10, /* of records for a sample */
	BLOCK_BYTES = 256 << 10, /* of a spilled run, at most */
	ALONE_BATCH_BYTES = 4 << 20,
	MOST_PIECE_BYTES = 32 << 20, /* merged at a time: gathering does not gain by more */
	GOOD_CHUNK_BYTES = 1 << 20,  /* read at a time: smaller ones take the disk longer */
	LEAST_CHUNK_BYTES = 128 << 10,
	LEAST_STRIDE = 64, /* or what half a chunk holds, if those are fewer */
	SAMPLED_PART = 64, /* of the records, that samples with long keys begin with */
	READ_AHEAD_CHUNK_BYTES =
		5 << 20, /* with what reading ahead takes at most of them, beside runs */
	READ_AHEAD_CHUNKS = 100,
	CORE_RUNS = 16,
	/* where runs are kept: some at least, and so many at most that windows read less of the
	 * excess than of the piece */
	LEAST_KEPT_BYTES = 4 << 20,
	KEPT_BYTES = 64 << 20,
	FEW_KEPT = 16,
	MANY_KEPT = 256,
	TEST_RUNS = 64,             /* that standard input may have in tests */
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
	const uint64_t merge = q->exchange_bytes ? q->exchange_bytes : (q->threads + 2) * piece;
	const uint64_t landing = q->distributing ? q->out_recs * (rec + 2 * sizeof(entry)) : 0;
	return landing + data + entries + (scratch > merge ? scratch : merge) + SLACK_BYTES;
}

static size_t sample_bytes(const budget_query *q)
{
	return item_bytes(&q->lay) + sizeof(entry);
}

static size_t most_of(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* Samples of all runs, checksums of all blocks, and what does not depend on the data. */
static uint64_t fixed_bytes(const budget_query *q, const budget *b)
{
	const uint64_t data = q->recs * q->lay.record_bytes;
	return (q->recs / b->stride + MOST_RUNS) * sample_bytes(q) +
	       data / STRIDE_BYTES * sizeof(uint64_t) + SLACK_BYTES;
}

/* With a record, while it is sorted or merged. */
static uint64_t record_room(const budget_query *q)
{
	return q->lay.record_bytes + 2 * sizeof(entry);
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

/* Records of a run, if memory holds `most` for each worker; 0 if that is too few. As many runs for
 * each worker. */
static uint64_t run_recs(const budget_query *q, uint64_t most, unsigned workers)
{
	const uint64_t unit = io_fd_chunk_recs(q->lay.record_bytes, SPILL_PIECE_BYTES);
	if (q->run_recs)
		return q->run_recs <= most ? q->run_recs : 0;
	if (most == 0)
		return 0;
	uint64_t count = q->recs / most + (q->recs % most != 0);
	count = (count + workers - 1) / workers * workers;
	uint64_t n = q->recs / count + (q->recs % count != 0);
	if (q->keeps)
		n = kept_recs(q) < most ? kept_recs(q) : most;
	if (n > unit) { /* runs begin at a block of the file */
		const uint64_t up = (n + unit - 1) / unit * unit;
		n = !q->keeps && up <= most ? up : n / unit * unit;
	}
	return n < q->recs ? n : q->recs;
}

static uint64_t run_bytes(const budget *b, const budget_query *q)
{
	return SPOOL_BATCH_BYTES + SPILL_PIECE_BYTES + BLOCK_BYTES + 4 * IO_FD_ALIGN +
	       b->run_recs * record_room(q);
}

/* While runs are sorted. */
static uint64_t receiving_bytes(const budget_query *q)
{
	return q->receives ? q->exchange_bytes : 0;
}

/* Runs as long as workers have room. */
static bool fit_runs(budget *b, const budget_query *q, uint64_t bytes)
{
	const uint64_t each = bytes / b->workers;
	b->run_recs = 0;
	if (each < run_bytes(b, q) + SPILL_PIECE_BYTES)
		return false;
	b->run_recs = run_recs(q, (each - run_bytes(b, q)) / record_room(q), b->workers);
	if (b->run_recs == 0)
		return false;
	b->runs = q->recs / b->run_recs + (q->recs % b->run_recs != 0);
	return b->runs <= MOST_RUNS;
}

/* A piece may reach two strides too far in each run. */
static uint64_t piece_bytes(const budget *b, const budget_query *q)
{
	return (b->piece_recs + 2 * b->runs * b->stride) * record_room(q);
}

/* Pieces, at_once of them at a time, which take so many bytes together, each `fixed` with it. */
static bool fit_pieces(budget *b, const budget_query *q, uint64_t bytes, uint64_t at_once,
		       uint64_t fixed)
{
	const uint64_t excess = 2 * b->runs * b->stride, each = bytes / at_once;
	const uint64_t most = MOST_PIECE_BYTES / q->lay.record_bytes + 1;
	if (each < fixed)
		return false;
	const uint64_t room = (each - fixed) / record_room(q);
	const uint64_t n = room > excess ? room - excess : 0;
	b->piece_recs = (size_t)between(0, n, most > excess ? most : excess);
	return b->piece_recs >= b->runs * b->stride;
}

/* A rank alone: half of the memory for merging, the rest for what is read ahead. */
static bool fit_alone(budget *b, const budget_query *q, uint64_t bytes, uint64_t least_chunk,
		      uint64_t *used)
{
	const uint64_t batch = ALONE_BATCH_BYTES + 4 * IO_FD_ALIGN;
	if (!fit_pieces(b, q, bytes / 2, b->workers, batch))
		return false;
	const uint64_t pieces = b->workers * (batch + piece_bytes(b, q));
	b->read_ahead_bytes = between(0, bytes - pieces,
				      READ_AHEAD_CHUNK_BYTES * (2 * b->runs + READ_AHEAD_CHUNKS));
	*used = pieces + b->read_ahead_bytes;
	return b->read_ahead_bytes / (b->runs + b->runs / 4 + b->workers) >= least_chunk;
}

/* Several: a window for each that is sent to. */
static bool fit_streams(budget *b, const budget_query *q, uint64_t bytes, uint64_t *used)
{
	const uint64_t portion = PORTION_BYTES + 2 * BLOCK_BYTES;
	if (bytes < q->exchange_bytes ||
	    !fit_pieces(b, q, bytes - q->exchange_bytes, q->ranks, portion))
		return false;
	*used = q->exchange_bytes + q->ranks * (portion + piece_bytes(b, q));
	return true;
}

/* Merging b->runs runs. */
static bool fits_merging(budget *b, const budget_query *q, uint64_t limit, uint64_t least_chunk)
{
	const uint64_t fixed = fixed_bytes(q, b);
	const uint64_t sorting = receiving_bytes(q) + b->workers * run_bytes(b, q);
	uint64_t merging = 0;
	if (q->ranks == 1 ? !fit_alone(b, q, limit - fixed, least_chunk, &merging)
			  : !fit_streams(b, q, limit - fixed, &merging))
		return false;
	b->bytes = fixed + (sorting > merging ? sorting : merging);
	return true;
}

/* Does it go with so many workers within the limit? Fills the rest of b. */
static bool fits(budget *b, const budget_query *q, uint64_t limit, unsigned workers,
		 uint64_t least_chunk)
{
	const uint64_t fixed = fixed_bytes(q, b) + receiving_bytes(q);
	b->workers = workers;
	return limit >= fixed && fit_runs(b, q, limit - fixed) &&
	       fits_merging(b, q, limit, least_chunk);
}

static bool fits_somehow(budget *b, const budget_query *q, uint64_t limit)
{
	static const uint64_t chunk[] = { GOOD_CHUNK_BYTES, LEAST_CHUNK_BYTES, 0 };
	const unsigned least = q->stride ? 1 : LEAST_WORKERS;
	/* where blocks hold whole records, they hold whole strides */
	const size_t half = io_fd_chunk_recs(q->lay.record_bytes, LEAST_CHUNK_BYTES) / 2 + 1;
	const size_t few = half < LEAST_STRIDE ? half : LEAST_STRIDE;
	const size_t first = most_of(half, sample_bytes(q) * SAMPLED_PART / q->lay.record_bytes);
	for (size_t i = 0; i < sizeof chunk / sizeof *chunk; i++)
		for (unsigned workers = WORKERS; workers >= least; workers--)
			for (size_t s = first; s > few / 2; s /= 2) {
				b->stride = q->stride ? q->stride : most_of(s, few);
				if (fits(b, q, limit, workers, chunk[i]))
					return true;
			}
	return false;
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

/* As a test wants it, whatever the memory. */
static void force(budget *b, const budget_query *q)
{
	const uint64_t recs = q->run_recs ? q->run_recs : q->test_run_recs;
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
	b->read_ahead_bytes = (b->runs + WORKERS) * 4 * BLOCK_BYTES;
}

static bool is_forced(const budget_query *q)
{
	return q->test_run_recs && q->recs > 0;
}

status budget_make(budget *b, const budget_query *q, err *e)
{
	*b = (budget){ .core_bytes = core_bytes(q) };
	b->bytes = b->core_bytes;
	const bool fits = b->core_bytes <= q->limit_bytes;
	return fits && !q->keeps && !is_forced(q) ? ST_OK : budget_disk(b, q, e);
}

status budget_disk(budget *b, const budget_query *q, err *e)
{
	*b = (budget){ .core_bytes = core_bytes(q), .most_recs = q->recs };
	if (is_forced(q)) {
		force(b, q);
		return ST_OK;
	}
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
	if (q->test_run_recs) {
		whole.recs = q->test_run_recs * TEST_RUNS;
		force(b, &whole);
		b->spills = false;
		return;
	}
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
		(void)fits_merging(b, &whole, q->limit_bytes, 0);
}
