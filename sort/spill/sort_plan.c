/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counts the memory that the phases allocate. A sort that does not fit into memory reads and writes
 * the data twice, whatever its size: runs are as long as memory allows, and one merge takes all of
 * them. If the data is only a little larger than memory, most runs stay in memory and are shorter
 * by the bytes that they take there. */
#include "sort_plan.h"
#include "base/lower_bound.h"
#include "base/minmax.h"
#include "io/io_fd.h"
#include "kernel/demand.h"
#include "spill.h"
#include "sorted_merge.h"

enum {
	LEAST_WORKERS = 2, /* one reads or writes while the other sorts or merges */
	WORKERS = 4,
	SLACK_BYTES = 4 << 20, /* stacks, control data; less if memory is small */
	LEAST_SLACK_BYTES = 256 << 10,
	SLACK_PART = 16,
	/* of a single rank that writes records from memory: threads in addition to its processors,
	 * because some wait for the disk, and the least number of records per thread */
	SINGLE_WAITING = 2,
	SINGLE_RECS = 1024,
	GOOD_CHUNK_BYTES = 1 << 20, /* of a read: smaller ones make the disk slower */
	LEAST_CHUNK_BYTES = 128 << 10,
	LEAST_STRIDE = 64,     /* or half a chunk, if it has fewer records */
	SORT_SAMPLE_PART = 64, /* of long records, at most 1 / SORT_SAMPLE_PART are sampled */
	SAMPLE_SHARE = 64,     /* samples take at first at most 1 / SAMPLE_SHARE of the data */
	/* of a merge from disk */
	SORTED_CHUNK_BYTES = 1 << 20, /* of sorted files */
	AHEAD_BYTES = 64 << 20,
	MOST_PIECE_BYTES = 8 << 20,
	PIECE_PART = 32, /* of memory */
	ENTRIES_PART = 16,
	RANGE_BYTES = sizeof(sorted_range) + 2 * sizeof(size_t), /* of a piece, for each file */
	/* of runs that are kept: at least FEW_KEPT, and at most MANY_KEPT because all are merged at
	 * the same time */
	LEAST_KEPT_BYTES = 4 << 20,
	KEPT_BYTES = 64 << 20,
	FEW_KEPT = 16,
	MANY_KEPT = 256,
	/* the least part of the data that stays in memory; the same if writes or reads are short */
	MEMORY_PART = 4,
	SHORT_MEMORY_PART = 2,
	MEMORY_WAYS = 3,
	MEMORY_SHIFTS = 4, /* at least 1 / 2 ^ 4 of memory remains for the work */
	TEST_MEMORY_PART = 3,
	TEST_RUNS = 64, /* of standard input, in tests */
	/* of a single rank, in memory: small enough that each thread has many batches */
	LEAST_BATCH_BYTES = 128 << 10,
	GOOD_BATCH_BYTES = 512 << 10,
	LEAST_BATCHES = 16,
	BATCHES = 128,
};

static uint64_t between(uint64_t least, uint64_t v, uint64_t most)
{
	return v < least ? least : v > most ? most : v;
}

/* The bytes that a thread of a single rank gathers before it writes them. */
static size_t batch_bytes(uint64_t data_bytes)
{
	const uint64_t least =
		between(LEAST_BATCH_BYTES, data_bytes / LEAST_BATCHES, GOOD_BATCH_BYTES);
	return (size_t)between(least, data_bytes / BATCHES, SPILL_WRITE_BYTES);
}

static uint64_t slack_bytes(uint64_t bytes)
{
	return between(LEAST_SLACK_BYTES, bytes / SLACK_PART, SLACK_BYTES);
}

/* Very long records have fewer samples. */
size_t sort_plan_sample_recs(const layout *l, uint64_t n)
{
	const uint64_t most = l->record_bytes < SORT_SAMPLE_PART ? n : n / SORT_SAMPLE_PART + 1;
	return (size_t)u64_min(demand_samples(n), most);
}

/* Memory of a sort on demand of n records, in addition to the records. */
static uint64_t sort_bytes(const layout *l, uint64_t n, unsigned lanes, unsigned threads)
{
	return demand_most_bytes(l, n, lanes, threads) +
	       (uint64_t)sort_plan_sample_recs(l, n) * l->record_bytes;
}

static unsigned single_threads(const sort_plan_query *q)
{
	return (unsigned)u64_min(q->threads + SINGLE_WAITING, q->recs / SINGLE_RECS + 1);
}

/* Memory of the threads that write from memory in a single rank: a batch each, and entries for a
 * bucket if records are dropped. */
static uint64_t single_bytes(const sort_plan_query *q)
{
	const uint64_t rec = q->lay.record_bytes, data = q->recs * rec;
	const uint64_t most = u64_min(demand_sizes_for(q->recs).cap, q->recs);
	const uint64_t batch = u64_min(most * rec, batch_bytes(data) + rec);
	const uint64_t entries = q->drops ? 2 * most * sizeof(entry) : 0;
	return single_threads(q) * (batch + 2 * IO_FD_ALIGN + entries);
}

/* Memory of a sort of all records, with scratch for each thread that asks for buckets: the thread
 * that looks up records and, in a single rank, those that write. */
static uint64_t order_bytes(const sort_plan_query *q, bool single)
{
	const unsigned threads = single_threads(q);
	return sort_bytes(&q->lay, q->recs, threads, single ? threads + 1 : 1);
}

/* The query for the records that are sorted: a rank that sorts received records treats them as if
 * it had read them. */
static sort_plan_query last_of(const sort_plan_query *q)
{
	sort_plan_query last = *q;
	last.recs = q->unsorted ? q->out_recs : q->recs;
	return last;
}

/* The memory of a sort that does not spill. */
static uint64_t core_bytes(const sort_plan_query *q)
{
	const uint64_t rec = q->lay.record_bytes, data = q->recs * rec;
	const uint64_t move = q->exchange_bytes ? q->exchange_bytes : single_bytes(q);
	const uint64_t entries = q->unsorted ? q->recs * sizeof(entry) : 0;
	const uint64_t sending =
		data + u64_max(order_bytes(q, q->exchange_bytes == 0), entries) + move;
	if (!q->distributing)
		return sending;
	if (!q->unsorted)
		return sending + q->out_recs * (rec + 2 * sizeof(entry));
	const sort_plan_query last = last_of(q);
	return q->out_recs * rec + u64_max(sending, order_bytes(&last, true) + single_bytes(&last));
}

static uint64_t core_needs(const sort_plan_query *q)
{
	const uint64_t bytes = core_bytes(q);
	return bytes + slack_bytes(bytes);
}

/* The stride of the samples of kept runs; 0 without kept runs. */
static size_t kept_stride(const sort_plan_query *q)
{
	return q->kept ? kept_runs_stride(q->kept) : 0;
}

static size_t sample_bytes(const sort_plan_query *q)
{
	return item_bytes(&q->lay) + sizeof(entry);
}

/* Memory of the samples of all runs and the checksums of all blocks. */
static uint64_t samples_bytes(const sort_plan_query *q, const sort_plan *b)
{
	const uint64_t data = q->recs * q->lay.record_bytes;
	return (q->recs / b->stride + SORT_PLAN_MOST_RUNS) * sample_bytes(q) +
	       data / SPILL_LEAST_BLOCK_BYTES * sizeof(uint64_t);
}

/* The records of a run that will be kept. */
static uint64_t kept_recs(const sort_plan_query *q)
{
	const uint64_t rec = q->lay.record_bytes;
	const uint64_t some =
		between(LEAST_KEPT_BYTES / rec + 1, q->recs / FEW_KEPT + 1, KEPT_BYTES / rec + 1);
	return between(q->recs / MANY_KEPT + 1, some, UINT64_MAX);
}

/* The records of a run, if memory holds `most` per worker; 0 if that is too few. All workers get
 * the same number of runs. */
static uint64_t run_recs(const sort_plan_query *q, uint64_t most, const sort_plan *b)
{
	const uint64_t unit = io_fd_chunk_recs(q->lay.record_bytes, b->write_bytes);
	if (most == 0 || q->recs == 0) /* without records, spilling saves no memory */
		return 0;
	uint64_t count = q->recs / most + (q->recs % most != 0);
	count = (count + b->workers - 1) / b->workers * b->workers;
	uint64_t n = q->recs / count + (q->recs % count != 0);
	if (q->keeps)
		n = kept_recs(q) < most ? kept_recs(q) : most;
	if (n > unit) { /* runs begin at a block of the file */
		const uint64_t up = (n + unit - 1) / unit * unit;
		n = !q->keeps && up <= most ? up : n / unit * unit;
	}
	return n < q->recs ? n : q->recs;
}

/* Memory of a worker to read, sort and write a run of n records. */
static uint64_t run_bytes(const sort_plan *b, const sort_plan_query *q, uint64_t n)
{
	return q->lay.record_bytes + b->write_bytes + SPILL_MOST_BLOCK_BYTES + 4 * IO_FD_ALIGN +
	       n * q->lay.record_bytes + sort_bytes(&q->lay, n, 1, 1);
}

/* The number of runs, with the kept ones. */
static uint64_t count_runs(const sort_plan_query *q, uint64_t each)
{
	return q->kept ? kept_runs_pieces(q->kept, each) : (q->recs - 1) / each + 1;
}

/* Memory of the exchange while runs are sorted. */
static uint64_t receiving_bytes(const sort_plan_query *q)
{
	return q->receives ? q->exchange_bytes : 0;
}

/* Make runs as long as the memory of each worker allows. */
static bool fit_runs(sort_plan *b, const sort_plan_query *q, uint64_t bytes)
{
	const uint64_t each = bytes / b->workers;
	lower_bound n = { .lo = 1, .hi = each / q->lay.record_bytes + 1 };
	if (each < run_bytes(b, q, 1) + b->write_bytes)
		return false;
	while (lower_bound_open(&n))
		lower_bound_step(&n, run_bytes(b, q, n.mid) <= each);
	b->run_recs = run_recs(q, n.lo - 1, b);
	if (b->run_recs == 0)
		return false;
	b->runs = count_runs(q, b->run_recs);
	return b->runs <= SORT_PLAN_MOST_RUNS;
}

/* The least memory to read the runs, in addition for each of `readers` threads. */
static uint64_t least_ahead(const sort_plan_query *q, uint64_t runs, uint64_t readers)
{
	const uint64_t rec = q->lay.record_bytes, block = spill_block_bytes(q->lay.record_bytes);
	const bool whole = block % rec == 0;
	const uint64_t chunk = whole ? block : (block / rec + 1) * rec;
	return runs * (chunk + SORTED_MERGE_FILE_BYTES) +
	       (whole ? 0 : readers * (chunk + 3 * block + SPILL_ALIGN)) + IO_FD_ALIGN;
}

/* Plan the merge of `files` files by a single rank in `bytes` bytes, with memory for two reads of
 * most_chunk of each, and for one and a half of least_chunk at least. */
static bool fit_merge(sort_plan *b, const sort_plan_query *q, uint64_t files, uint64_t bytes,
		      uint64_t least_chunk, uint64_t most_chunk, uint64_t *used)
{
	const uint64_t rec = q->lay.record_bytes, key = q->lay.key_bytes;
	const uint64_t piece = u64_min(MOST_PIECE_BYTES, bytes / PIECE_PART) / rec;
	const uint64_t entries = bytes / ENTRIES_PART / (2 * sizeof(entry));
	b->piece_recs = (size_t)u64_max(u64_min(piece, entries), files);
	const uint64_t batch = u64_min(b->write_bytes + rec, b->piece_recs * rec);
	const uint64_t each = batch + 4 * IO_FD_ALIGN + b->piece_recs * 2 * sizeof(entry) +
			      files * RANGE_BYTES + 4 * key;
	const uint64_t fixed = b->workers * each + files * (SORTED_MERGE_FILE_BYTES + key);
	if (bytes < fixed)
		return false;
	const uint64_t most = u64_max(AHEAD_BYTES, 2 * files * most_chunk);
	b->ahead_bytes = u64_min(bytes - fixed, most + b->piece_recs * rec);
	*used = fixed + u64_min(b->ahead_bytes, q->recs * rec + files * SPILL_MOST_BLOCK_BYTES);
	return b->ahead_bytes / (files + files / 2 + b->workers) >= least_chunk;
}

unsigned sort_plan_sorters(const sort_plan *b)
{
	return (unsigned)between(1, b->runs, b->workers);
}

/* Plan the merges of several ranks, one for each receiving rank. Their pieces are part of
 * exchange_bytes, except the control data of each run. */
static bool fit_streams(sort_plan *b, const sort_plan_query *q, uint64_t bytes, uint64_t *used)
{
	const uint64_t rec = q->lay.record_bytes;
	const uint64_t control = b->runs * (SORTED_MERGE_FILE_BYTES + q->lay.key_bytes +
					    RANGE_BYTES + 2 * sizeof(entry));
	const uint64_t fixed = q->exchange_bytes + q->ranks * control;
	if (bytes < fixed)
		return false;
	b->ahead_bytes = u64_min((bytes - fixed) / q->ranks,
				 2 * b->runs * SORTED_MERGE_CHUNK_BYTES + AHEAD_BYTES / q->ranks);
	*used = fixed + u64_min(q->ranks * b->ahead_bytes,
				(q->recs + q->ranks * b->runs) * rec +
					q->ranks * b->runs * 2 * SPILL_MOST_BLOCK_BYTES);
	return b->ahead_bytes >= least_ahead(q, b->runs, 1);
}

/* Plan the merge of b->runs runs, and set b->bytes. */
static bool fits_merging(sort_plan *b, const sort_plan_query *q, uint64_t limit,
			 uint64_t least_chunk)
{
	const uint64_t samples = samples_bytes(q, b), fixed = samples + slack_bytes(limit);
	const uint64_t sorting =
		receiving_bytes(q) + sort_plan_sorters(b) * run_bytes(b, q, b->run_recs);
	uint64_t merging = 0;
	const bool fits =
		q->ranks == 1 ? fit_merge(b, q, b->runs, limit - fixed, least_chunk,
					  SORTED_MERGE_CHUNK_BYTES, &merging) &&
					b->ahead_bytes >= least_ahead(q, b->runs, SORT_PLAN_READERS)
			      : fit_streams(b, q, limit - fixed, &merging);
	if (fits)
		b->bytes = samples + u64_max(sorting, merging);
	return fits;
}

/* Check whether this number of workers keeps within the limit; fill the rest of b. */
static bool fits(sort_plan *b, const sort_plan_query *q, uint64_t limit, unsigned workers,
		 uint64_t least_chunk)
{
	const uint64_t fixed = samples_bytes(q, b) + slack_bytes(limit) + receiving_bytes(q);
	b->workers = workers;
	return limit >= fixed && fit_runs(b, q, limit - fixed) &&
	       fits_merging(b, q, limit, least_chunk);
}

/* Sizes of writes and reads, in the order in which they are tried: short ones only if memory is too
 * small for long ones. */
static const struct {
	size_t write_bytes;
	uint64_t chunk_bytes;
} way[] = { { SPILL_WRITE_BYTES, GOOD_CHUNK_BYTES },
	    { SPILL_WRITE_BYTES, LEAST_CHUNK_BYTES },
	    { SPILL_WRITE_BYTES / 4, LEAST_CHUNK_BYTES },
	    { SPILL_WRITE_BYTES / 16, LEAST_CHUNK_BYTES },
	    { SPILL_WRITE_BYTES / 16, 0 } };

static bool fits_way(sort_plan *b, const sort_plan_query *q, uint64_t limit, size_t i)
{
	const size_t given = kept_stride(q);
	const unsigned least = given ? 1 : LEAST_WORKERS;
	/* if blocks hold whole records, they hold whole strides */
	const size_t half = io_fd_chunk_recs(q->lay.record_bytes, LEAST_CHUNK_BYTES) / 2 + 1;
	const size_t first = size_max(half, sample_bytes(q) * SAMPLE_SHARE / q->lay.record_bytes);
	/* every stride divides every longer one: runs with different strides can be merged */
	b->stride = given ? given : half < LEAST_STRIDE ? half : LEAST_STRIDE;
	while (!given && b->stride <= first / 2)
		b->stride *= 2;
	b->write_bytes = way[i].write_bytes;
	for (unsigned workers = WORKERS; workers >= least; workers--)
		if (fits(b, q, limit, workers, way[i].chunk_bytes))
			return true;
	return false;
}

/* Keep runs in memory as the work leaves room. They leave less memory to sort and merge in, so runs
 * and reads become shorter: that pays only if a good part of the data stays in memory. */
static bool fits_beside_runs(sort_plan *b, const sort_plan_query *q, uint64_t limit)
{
	const uint64_t data = q->recs * q->lay.record_bytes, slack = slack_bytes(limit);
	for (size_t i = 0; q->holds && i < MEMORY_WAYS; i++)
		for (unsigned shift = MEMORY_SHIFTS; shift > 0; shift--) {
			const uint64_t work = limit >> shift;
			const uint64_t least = data / (i ? SHORT_MEMORY_PART : MEMORY_PART);
			if (limit - work < slack + least || !fits_way(b, q, work, i))
				continue;
			const uint64_t each = spill_memory_bytes(b->run_recs, q->lay.record_bytes);
			b->memory_runs = (size_t)u64_min((limit - work - slack) / each, b->runs);
			b->bytes += b->memory_runs * each;
			return true;
		}
	return false;
}

static bool fits_any(sort_plan *b, const sort_plan_query *q, uint64_t limit)
{
	b->memory_runs = 0;
	if (fits_beside_runs(b, q, limit))
		return true;
	for (size_t i = 0; i < sizeof way / sizeof *way; i++)
		if (fits_way(b, q, limit, i))
			return true;
	return false;
}

static uint64_t disk_bytes(const sort_plan *b, const sort_plan_query *q)
{
	return spill_disk_recs(q->recs, b->runs, b->run_recs, b->memory_runs) * q->lay.record_bytes;
}

/* Plan what a test requires, without regard to memory. */
static void force(sort_plan *b, const sort_plan_query *q)
{
	const uint64_t recs = q->test_run_recs;
	*b = (sort_plan){ .spills = true,
			  .core_bytes = core_needs(q),
			  .write_bytes = SPILL_WRITE_BYTES,
			  .run_recs = recs < q->recs ? recs : q->recs,
			  .workers = WORKERS,
			  .stride = kept_stride(q) ? kept_stride(q) : 3 };
	b->runs = count_runs(q, b->run_recs);
	b->memory_runs = q->holds ? b->runs / TEST_MEMORY_PART : 0;
	b->disk_bytes = disk_bytes(b, q);
	b->piece_recs = (size_t)u64_max(b->run_recs, b->runs);
	b->core_recs = 2 * b->run_recs;
	b->most_recs = q->recs;
	b->ahead_bytes = (b->runs + WORKERS) * 4 * SPILL_MOST_BLOCK_BYTES;
}

static bool is_forced(const sort_plan_query *q)
{
	return q->test_run_recs && q->recs > 0;
}

/* Plan the merge of sorted files: short reads and writes only if memory is too small for long ones.
 */
static bool fits_sorted_any(sort_plan *b, const sort_plan_query *q)
{
	const uint64_t slack = slack_bytes(q->limit_bytes), bytes = q->limit_bytes - slack;
	const uint64_t longest = q->longest_recs * q->lay.record_bytes;
	for (uint64_t chunk = SORTED_CHUNK_BYTES; q->limit_bytes > slack && chunk > 0; chunk /= 2)
		for (b->workers = WORKERS; b->workers > 0; b->workers--) {
			const uint64_t least =
				u64_max(u64_min(chunk, longest), q->lay.record_bytes);
			b->write_bytes =
				(size_t)between(SPILL_WRITE_BYTES / 16, chunk, SPILL_WRITE_BYTES);
			if (fit_merge(b, q, q->sorted_files, bytes, least, SORTED_CHUNK_BYTES,
				      &b->bytes))
				return true;
		}
	return false;
}

/* Plan the threads of a single rank that does not spill. */
static void set_core(sort_plan *b, const sort_plan_query *q)
{
	const sort_plan_query last = last_of(q);
	b->bytes = core_bytes(q);
	b->workers = single_threads(&last);
	b->write_bytes = batch_bytes(last.recs * q->lay.record_bytes);
}

bool sort_plan_make(sort_plan *b, const sort_plan_query *q)
{
	*b = (sort_plan){ .spills = false };
	if (q->sorted_files)
		return fits_sorted_any(b, q);
	*b = (sort_plan){ .core_bytes = core_needs(q) };
	set_core(b, q);
	const bool fits = b->core_bytes <= q->limit_bytes;
	return (fits && !q->keeps && !is_forced(q)) || sort_plan_on_disk(b, q);
}

bool sort_plan_on_disk(sort_plan *b, const sort_plan_query *q)
{
	*b = (sort_plan){ .core_bytes = core_needs(q), .most_recs = q->recs };
	if (is_forced(q)) {
		force(b, q);
		return true;
	}
	if (!fits_any(b, q, q->limit_bytes))
		return false;
	b->spills = true;
	b->disk_bytes = disk_bytes(b, q);
	return true;
}

/* Memory for a stream is doubled when it is full, so for a moment both buffers exist. */
static bool fits_in_core(sort_plan *b, const sort_plan_query *q, uint64_t limit)
{
	const uint64_t most = (limit - u64_min(limit, slack_bytes(limit))) / 3 * 2;
	(void)b;
	return core_needs(q) <= limit && q->recs * q->lay.record_bytes <= most;
}

/* Return the most records, up to `most`, that fit by the rule `fit`. */
static uint64_t most_recs(const sort_plan_query *q, uint64_t most,
			  bool (*fit)(sort_plan *, const sort_plan_query *, uint64_t))
{
	sort_plan b;
	sort_plan_query some = *q;
	lower_bound n = { .lo = 1, .hi = most + 1 };
	while (lower_bound_open(&n)) {
		some.recs = n.mid;
		lower_bound_step(&n, fit(&b, &some, q->limit_bytes));
	}
	return n.lo - 1;
}

void sort_plan_stream(sort_plan *b, const sort_plan_query *q, uint64_t disk_recs)
{
	const uint64_t most = INT64_MAX / q->lay.record_bytes;
	const uint64_t core = most_recs(q, most < POS_MASK ? most : POS_MASK, fits_in_core);
	sort_plan_query whole = *q;
	if (q->test_run_recs) {
		whole.recs = q->test_run_recs * TEST_RUNS;
		force(b, &whole);
		b->spills = false;
		return;
	}
	*b = (sort_plan){ .bytes = q->limit_bytes, .core_recs = core };
	whole.recs = most_recs(q, disk_recs < most ? disk_recs : most, fits_any);
	if (whole.recs <= core || !fits_any(b, &whole, q->limit_bytes))
		return;
	b->most_recs = whole.recs;
	/* while these are written, they take the memory of the workers' runs */
	b->core_recs = core < b->workers * b->run_recs ? core : b->workers * b->run_recs;
	/* the last run of the records that memory held first may be shorter */
	b->runs += b->runs < SORT_PLAN_MOST_RUNS;
}

void sort_plan_end(sort_plan *b, const sort_plan_query *q, bool spills)
{
	sort_plan_query whole = *q;
	whole.recs = b->most_recs;
	b->spills = spills;
	b->core_bytes = core_needs(q);
	if (!spills) {
		set_core(b, q);
		return;
	}
	b->disk_bytes = q->recs * q->lay.record_bytes;
	if (b->bytes)
		(void)fits_merging(b, &whole, q->limit_bytes, 0);
}
