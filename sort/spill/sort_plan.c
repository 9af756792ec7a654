/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The plan predicts the memory that the phases allocate. A sort that does not fit into memory reads
 * and writes the data twice, whatever its size. Its runs are as long as memory allows, and one
 * merge reads all of them. If the data is only a little larger than memory, most runs stay in
 * memory. They leave less memory to sort in, so all runs are shorter. */
#include "sort_plan.h"
#include "base/arith.h"
#include "io/io_fd.h"
#include "kernel/demand.h"
#include "kernel/fold.h"
#include "spill.h"
#include "sorted.h"

enum {
	LEAST_WORKERS = 2, /* one reads or writes while the other sorts or merges */
	WORKERS = 4,
	SLACK_BYTES = 4 << 20, /* stacks, control data; less if memory is small */
	LEAST_SLACK_BYTES = 256 << 10,
	SLACK_PART = 16,
	INDEX_PART = 128, /* of the pages of a file in memory: the kernel's index of them */
	/* of a single rank that writes records from memory */
	SINGLE_WAITING = 2,         /* additional threads, because some wait for the disk */
	SINGLE_RECS = 1024,         /* the least per thread */
	GOOD_CHUNK_BYTES = 1 << 20, /* of a read: smaller reads make the disk slower */
	LEAST_CHUNK_BYTES = 128 << 10,
	LEAST_STRIDE = 64,     /* or half a chunk, if this is fewer records */
	SORT_SAMPLE_PART = 64, /* of long records, at most 1 / SORT_SAMPLE_PART are sampled */
	SAMPLE_SHARE = 64,     /* samples take about 1 / SAMPLE_SHARE of the data at most */
	/* of a merge from disk */
	SORTED_CHUNK_BYTES = 1 << 20, /* of sorted files */
	AHEAD_BYTES = 64 << 20,
	MOST_PIECE_BYTES = 8 << 20,
	PIECE_PART = 32, /* of memory */
	ENTRIES_PART = 16,
	RANGE_BYTES = sizeof(sorted_range) + 2 * sizeof(size_t), /* of a piece, for each file */
	/* of runs that are kept: at least FEW_KEPT runs, but at most MANY_KEPT, because one merge
	 * reads all of them */
	LEAST_KEPT_BYTES = 4 << 20,
	KEPT_BYTES = 64 << 20,
	FEW_KEPT = 16,
	MANY_KEPT = 256,
	/* 1 / n of the data must stay in memory, a larger part if writes or reads are short */
	MEMORY_PART = 4,
	SHORT_MEMORY_PART = 2,
	HELD_PART = 2,     /* a worker holds up to 1 / HELD_PART of a run */
	MEMORY_WAYS = 3,   /* entries of way[] with which runs may stay in memory */
	MEMORY_SHIFTS = 4, /* at least 1 / 2 ^ 4 of memory remains for the work */
	TEST_MEMORY_PART = 3,
	TEST_RUNS = 64, /* of standard input, in tests */
	/* of a single rank, in memory: small enough that each thread has many batches */
	LEAST_BATCH_BYTES = 128 << 10,
	GOOD_BATCH_BYTES = 512 << 10,
	LEAST_BATCHES = 16,
	BATCHES = 128,
};

static uint64_t u64_clamp(uint64_t least, uint64_t v, uint64_t most)
{
	return u64_max(least, u64_min(v, most));
}

/* Return the bytes that a thread of a single rank gathers before it writes them. */
static size_t batch_bytes(uint64_t data_bytes)
{
	const uint64_t least =
		u64_clamp(LEAST_BATCH_BYTES, data_bytes / LEAST_BATCHES, GOOD_BATCH_BYTES);
	return (size_t)u64_clamp(least, data_bytes / BATCHES, SPILL_WRITE_BYTES);
}

static uint64_t slack_bytes(uint64_t bytes)
{
	return u64_clamp(LEAST_SLACK_BYTES, bytes / SLACK_PART, SLACK_BYTES);
}

/* Long records have fewer samples, because samples take memory. */
size_t sort_plan_sample_recs(const layout *l, uint64_t n)
{
	const uint64_t most = l->record_bytes < SORT_SAMPLE_PART ? n : n / SORT_SAMPLE_PART + 1;
	return (size_t)u64_min(demand_samples(n), most);
}

/* Return the memory of a sort on demand of n records, in addition to the records. */
static uint64_t sort_bytes(const layout *l, uint64_t n, unsigned lanes, unsigned threads)
{
	return demand_most_bytes(n, lanes, threads) +
	       (uint64_t)sort_plan_sample_recs(l, n) * l->record_bytes;
}

static unsigned single_threads(const sort_plan_query *q)
{
	return (unsigned)u64_min(q->threads + SINGLE_WAITING, q->recs / SINGLE_RECS + 1);
}

/* Return the bytes for each record of a piece: two entries, and the values of its folded fields. */
static uint64_t place_bytes(const sort_plan_query *q)
{
	return 2 * sizeof(entry) + q->lay.folds * sizeof(fold_value);
}

/* Return the memory of the threads that write from memory in a single rank. Each has a batch, and
 * entries and values for a bucket if records are dropped. */
static uint64_t single_bytes(const sort_plan_query *q)
{
	const uint64_t rec = q->lay.record_bytes, data = q->recs * rec;
	const uint64_t most = u64_min(demand_sizes_for(q->recs).cap, q->recs);
	const uint64_t batch = u64_min(most * rec, batch_bytes(data) + rec);
	const uint64_t entries = q->drops ? most * place_bytes(q) : 0;
	return single_threads(q) * (batch + 2 * IO_FD_ALIGN + entries);
}

/* Return the memory of a sort of all records, with scratch for each thread that takes buckets: the
 * thread that looks up records, and in a single rank also the threads that write. */
static uint64_t order_bytes(const sort_plan_query *q, bool single)
{
	const unsigned threads = single_threads(q);
	return sort_bytes(&q->lay, q->recs, threads, single ? threads + 1 : 1);
}

/* Return the query for the records that the rank sorts. Received records count as read ones. */
static sort_plan_query last_of(const sort_plan_query *q)
{
	sort_plan_query last = *q;
	last.recs = q->unsorted ? q->out_recs : q->recs;
	return last;
}

/* Return the memory of a sort that does not spill, if `data` bytes hold the read records. */
static uint64_t core_bytes(const sort_plan_query *q, uint64_t data)
{
	const uint64_t rec = q->lay.record_bytes;
	const uint64_t move = q->exchange_bytes ? q->exchange_bytes : single_bytes(q);
	const uint64_t entries = q->unsorted ? q->recs * sizeof(entry) : 0;
	const uint64_t sending =
		data + u64_max(order_bytes(q, q->exchange_bytes == 0), entries) + move;
	if (!q->distributing)
		return sending;
	const sort_plan_query last = last_of(q);
	return q->out_recs * rec + u64_max(sending, order_bytes(&last, true) + single_bytes(&last));
}

static uint64_t core_needs(const sort_plan_query *q)
{
	const uint64_t bytes = core_bytes(q, q->recs * q->lay.record_bytes);
	return bytes + slack_bytes(bytes);
}

uint64_t sort_plan_run_file_bytes(const sort_plan_query *q)
{
	/* if records are received, q->recs has a margin */
	uint64_t recs = q->unsorted ? u64_min(q->recs, q->out_recs) : q->recs;
	for (size_t i = 0; q->kept && i < q->kept->count; i++)
		recs -= u64_min(recs, q->kept->run[i].recs); /* in use already */
	return q->memory_dirs ? (recs / q->dirs + 1) * q->memory_dirs * q->lay.record_bytes : 0;
}

/* Return the memory that files leave to the sort; on_disk: also the runs. */
static uint64_t beside_files(const sort_plan_query *q, bool on_disk)
{
	const uint64_t runs = on_disk ? sort_plan_run_file_bytes(q) : 0;
	const uint64_t out = q->out_in_memory ? q->recs * q->lay.record_bytes : q->out_file_bytes;
	const uint64_t files = runs + out, all = files + files / INDEX_PART;
	return files == 0 ? UINT64_MAX : q->left_bytes - u64_min(q->left_bytes, all);
}

/* Return whether a sort that does not spill fits next to its files. */
static bool core_fits(const sort_plan_query *q)
{
	const uint64_t data = q->in_place ? 0 : q->recs * q->lay.record_bytes;
	const uint64_t bytes = core_bytes(q, data);
	return core_needs(q) <= q->limit_bytes &&
	       bytes + slack_bytes(bytes) <= beside_files(q, false);
}

static size_t sample_bytes(const sort_plan_query *q)
{
	return item_bytes(&q->lay) + sizeof(entry);
}

/* Return the memory of the samples of all runs and the checksums of all blocks. */
static uint64_t samples_bytes(const sort_plan_query *q, const sort_plan *b)
{
	const uint64_t data = q->recs * q->lay.record_bytes;
	return (q->recs / b->stride + SORT_PLAN_MOST_RUNS) * sample_bytes(q) +
	       data / SPILL_LEAST_BLOCK_BYTES * sizeof(uint64_t);
}

/* Return the records of a run, if memory holds at most `most` per worker; 0 if no plan is possible.
 * All workers get the same number of runs. */
static uint64_t plan_run_recs(const sort_plan_query *q, uint64_t most, const sort_plan *b)
{
	const uint64_t rec = q->lay.record_bytes, unit = io_fd_chunk_recs(rec, b->write_bytes);
	if (most == 0 || q->recs == 0) /* without records, spilling saves no memory */
		return 0;
	uint64_t count = q->recs / most + (q->recs % most != 0);
	count = u64_round_up(count, b->workers);
	uint64_t n = q->recs / count + (q->recs % count != 0);
	if (q->keeps) {
		const uint64_t some = u64_clamp(LEAST_KEPT_BYTES / rec + 1, q->recs / FEW_KEPT + 1,
						KEPT_BYTES / rec + 1);
		n = u64_min(u64_max(q->recs / MANY_KEPT + 1, some), most);
	}
	if (n > unit) { /* runs begin at a block of the file */
		const uint64_t up = u64_round_up(n, unit);
		n = !q->keeps && up <= most ? up : n / unit * unit;
	}
	return u64_min(n, q->recs);
}

/* Return how many folded records a worker may hold, if a run has n records. If runs must be kept,
 * or come from a stream, neighbouring runs are not of one worker. */
static uint64_t held_recs(const sort_plan_query *q, uint64_t n)
{
	return q->folds && q->holds ? n / HELD_PART : 0;
}

/* Return the memory of a worker to read, sort and write a run of n records. */
static uint64_t run_bytes(const sort_plan *b, const sort_plan_query *q, uint64_t n)
{
	const uint64_t held = held_recs(q, n);
	return q->lay.record_bytes + b->write_bytes + SPILL_MOST_BLOCK_BYTES + 4 * IO_FD_ALIGN +
	       (n + 2 * held) * q->lay.record_bytes + sort_bytes(&q->lay, n + held, 1, 1);
}

/* Return the number of runs, including the kept ones. */
static uint64_t count_runs(const sort_plan_query *q, uint64_t each)
{
	return q->kept ? kept_runs_pieces(q->kept, each) : (q->recs - 1) / each + 1;
}

/* Return the least memory to read ahead of a merge, with buffers for `readers` threads. */
static uint64_t least_ahead(const sort_plan_query *q, uint64_t runs, uint64_t readers)
{
	const uint64_t rec = q->lay.record_bytes, block = spill_block_bytes(q->lay.record_bytes);
	const bool whole = block % rec == 0;
	const uint64_t chunk = whole ? block : (block / rec + 1) * rec;
	return runs * (chunk + SORTED_MERGE_FILE_BYTES) +
	       (whole ? 0 : readers * (chunk + 3 * block + SPILL_ALIGN)) + IO_FD_ALIGN;
}

/* Plan the merge of `files` files by a single rank. Per file, there is memory for two reads of
 * most_chunk bytes if possible, and at least for one and a half of least_chunk. Return the memory
 * that is used, at most `bytes`; 0 if `bytes` is too little. */
static uint64_t fit_merge(sort_plan *b, const sort_plan_query *q, uint64_t files, uint64_t bytes,
			  uint64_t least_chunk, uint64_t most_chunk)
{
	const uint64_t rec = q->lay.record_bytes, key = q->lay.key_bytes;
	const uint64_t piece = u64_min(MOST_PIECE_BYTES, bytes / PIECE_PART) / rec;
	const uint64_t entries = bytes / ENTRIES_PART / place_bytes(q);
	b->piece_recs = (size_t)u64_max(u64_min(piece, entries), files);
	const uint64_t batch = u64_min(b->write_bytes + rec, b->piece_recs * rec);
	const uint64_t each = batch + 4 * IO_FD_ALIGN + b->piece_recs * place_bytes(q) +
			      files * RANGE_BYTES + 4 * key;
	const uint64_t fixed = b->workers * each + files * (SORTED_MERGE_FILE_BYTES + key);
	if (bytes < fixed)
		return 0;
	const uint64_t most = u64_max(AHEAD_BYTES, 2 * files * most_chunk);
	b->ahead_bytes = u64_min(bytes - fixed, most + b->piece_recs * rec);
	if (b->ahead_bytes / (files + files / 2 + b->workers) < least_chunk)
		return 0;
	return fixed + u64_min(b->ahead_bytes, q->recs * rec + files * SPILL_MOST_BLOCK_BYTES);
}

unsigned sort_plan_sorters(const sort_plan *b)
{
	return (unsigned)u64_clamp(1, b->runs, b->workers);
}

/* Plan the merges of one of several ranks, like fit_merge: one merge for each rank that receives
 * records. The pieces are part of exchange_bytes, except for the control data of each run. */
static uint64_t fit_streams(sort_plan *b, const sort_plan_query *q, uint64_t bytes)
{
	const uint64_t rec = q->lay.record_bytes;
	const uint64_t control = b->runs * (SORTED_MERGE_FILE_BYTES + q->lay.key_bytes +
					    RANGE_BYTES + 2 * sizeof(entry));
	const uint64_t fixed = q->exchange_bytes + q->streams * control;
	if (bytes < fixed)
		return 0;
	b->ahead_bytes = u64_min((bytes - fixed) / q->streams,
				 2 * b->runs * SORTED_MERGE_CHUNK_BYTES + AHEAD_BYTES / q->streams);
	if (b->ahead_bytes < least_ahead(q, b->runs, 1))
		return 0;
	return fixed + u64_min(q->streams * b->ahead_bytes,
			       (q->recs + q->streams * b->runs) * rec +
				       q->streams * b->runs * 2 * SPILL_MOST_BLOCK_BYTES);
}

/* Plan the merge of b->runs runs, and set b->bytes. Return false if memory is too small. */
static bool plan_merge(sort_plan *b, const sort_plan_query *q, uint64_t limit, uint64_t least_chunk)
{
	const uint64_t samples = samples_bytes(q, b), left = limit - samples - slack_bytes(limit);
	const uint64_t sorting = (q->receives ? q->exchange_bytes : 0) +
				 sort_plan_sorters(b) * run_bytes(b, q, b->run_recs);
	const uint64_t merging = q->streams > 1 ? fit_streams(b, q, left)
						: fit_merge(b, q, b->runs, left, least_chunk,
							    SORTED_MERGE_CHUNK_BYTES);
	if (merging == 0 ||
	    (q->streams == 1 && b->ahead_bytes < least_ahead(q, b->runs, SORT_PLAN_READERS)))
		return false;
	b->bytes = samples + u64_max(sorting, merging);
	return true;
}

/* Plan the longest runs for which each of b->workers workers has memory, and their merge. Return
 * false if the limit is too small. */
static bool plan_runs(sort_plan *b, const sort_plan_query *q, uint64_t limit, uint64_t least_chunk)
{
	const uint64_t fixed =
		samples_bytes(q, b) + slack_bytes(limit) + (q->receives ? q->exchange_bytes : 0);
	if (limit < fixed)
		return false;
	const uint64_t each = (limit - fixed) / b->workers;
	if (each < run_bytes(b, q, 1) + b->write_bytes)
		return false;
	lower_bound n = { .lo = 1, .hi = each / q->lay.record_bytes + 1 };
	while (lower_bound_open(&n))
		lower_bound_step(&n, run_bytes(b, q, n.mid) <= each);
	b->run_recs = plan_run_recs(q, n.lo - 1, b);
	if (b->run_recs == 0)
		return false;
	b->held_recs = held_recs(q, b->run_recs);
	b->runs = count_runs(q, b->run_recs);
	return b->runs <= SORT_PLAN_MOST_RUNS && plan_merge(b, q, limit, least_chunk);
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

/* Plan runs with the sizes of way[i] and as many workers as possible. */
static bool plan_way(sort_plan *b, const sort_plan_query *q, uint64_t limit, size_t i)
{
	const size_t given = q->kept ? kept_runs_stride(q->kept) : 0;
	const unsigned least = given ? 1 : LEAST_WORKERS;
	/* a stride is about half a short read, or more if samples would take too much memory */
	const size_t half = io_fd_chunk_recs(q->lay.record_bytes, LEAST_CHUNK_BYTES) / 2 + 1;
	const size_t first = size_max(half, sample_bytes(q) * SAMPLE_SHARE / q->lay.record_bytes);
	/* every stride divides every longer one: runs with different strides can be merged */
	b->stride = given ? given : half < LEAST_STRIDE ? half : LEAST_STRIDE;
	while (!given && b->stride <= first / 2)
		b->stride *= 2;
	b->write_bytes = way[i].write_bytes;
	for (b->workers = WORKERS; b->workers >= least; b->workers--)
		if (plan_runs(b, q, limit, way[i].chunk_bytes))
			return true;
	return false;
}

/* Plan a sort that spills; return false if the limit is too small. First try to keep runs in
 * memory. These leave less memory to sort and merge in, so runs and reads become shorter. This pays
 * only if a large part of the data stays in memory, and not if records are folded: then long runs
 * become short. */
static bool plan_on_disk(sort_plan *b, const sort_plan_query *q)
{
	const uint64_t limit = u64_min(q->limit_bytes, beside_files(q, true));
	const uint64_t slack = slack_bytes(limit);
	const uint64_t data = q->recs * q->lay.record_bytes;
	for (size_t i = 0; q->holds && !q->folds && i < MEMORY_WAYS; i++)
		for (unsigned shift = MEMORY_SHIFTS; shift > 0; shift--) {
			const uint64_t work = limit >> shift;
			const uint64_t least = data / (i ? SHORT_MEMORY_PART : MEMORY_PART);
			if (limit - work < slack + least || !plan_way(b, q, work, i))
				continue;
			const uint64_t each =
				spill_memory_bytes(b->run_recs + b->held_recs, q->lay.record_bytes);
			b->memory_runs = (size_t)u64_min((limit - work - slack) / each, b->runs);
			b->bytes += b->memory_runs * each;
			return true;
		}
	b->memory_runs = 0;
	for (size_t i = 0; i < sizeof way / sizeof *way; i++)
		if (plan_way(b, q, limit, i))
			return true;
	return false;
}

/* Plan the runs that a test requires, without regard to memory. */
static void plan_forced(sort_plan *b, const sort_plan_query *q)
{
	const uint64_t recs = q->test_run_recs;
	*b = (sort_plan){ .core_bytes = core_needs(q),
			  .write_bytes = SPILL_WRITE_BYTES,
			  .run_recs = u64_min(recs, q->recs),
			  .workers = WORKERS,
			  .stride = q->kept && q->kept->count ? kept_runs_stride(q->kept) : 3 };
	b->held_recs = held_recs(q, b->run_recs);
	b->runs = count_runs(q, b->run_recs);
	b->memory_runs = q->holds ? b->runs / TEST_MEMORY_PART : 0;
	b->piece_recs = (size_t)u64_max(b->run_recs, b->runs);
	b->core_recs = 2 * b->run_recs;
	b->most_recs = q->recs;
	b->ahead_bytes = (b->runs + WORKERS) * 4 * SPILL_MOST_BLOCK_BYTES;
}

/* Plan the merge of sorted files. Reads and writes are short only if memory is too small for long
 * ones. Return false if memory is too small even for short ones. */
static bool plan_sorted_files(sort_plan *b, const sort_plan_query *q)
{
	const uint64_t limit = u64_min(q->limit_bytes, beside_files(q, false));
	const uint64_t slack = slack_bytes(limit), rec = q->lay.record_bytes;
	for (uint64_t chunk = SORTED_CHUNK_BYTES; limit > slack && chunk > 0; chunk /= 2)
		for (b->workers = WORKERS; b->workers > 0; b->workers--) {
			const uint64_t least = u64_max(u64_min(chunk, q->longest_recs * rec), rec);
			b->write_bytes =
				(size_t)u64_clamp(SPILL_WRITE_BYTES / 16, chunk, SPILL_WRITE_BYTES);
			b->bytes = fit_merge(b, q, q->sorted_files, limit - slack, least,
					     SORTED_CHUNK_BYTES);
			if (b->bytes)
				return true;
		}
	return false;
}

/* Plan the threads of a single rank that does not spill. */
static void plan_in_memory(sort_plan *b, const sort_plan_query *q)
{
	const sort_plan_query last = last_of(q);
	b->bytes = core_bytes(q, q->recs * q->lay.record_bytes);
	b->workers = single_threads(&last);
	b->write_bytes = batch_bytes(last.recs * q->lay.record_bytes);
}

bool sort_plan_make(sort_plan *b, const sort_plan_query *q)
{
	const bool forced = q->test_run_recs && q->recs > 0;
	*b = (sort_plan){ .spills = false };
	if (q->sorted_files)
		return plan_sorted_files(b, q);
	b->core_bytes = core_needs(q);
	plan_in_memory(b, q);
	if (core_fits(q) && !q->keeps && !q->spills && !forced)
		return true;
	*b = (sort_plan){ .core_bytes = b->core_bytes, .most_recs = q->recs };
	if (forced)
		plan_forced(b, q);
	else if (!plan_on_disk(b, q))
		return false;
	b->spills = true;
	b->disk_bytes = spill_disk_recs(q->recs, b->runs, b->run_recs, b->memory_runs) *
			q->lay.record_bytes;
	return true;
}

/* Return the most records of a stream, up to `most`, that fit in memory, or on disk with all of the
 * memory. The buffer of a stream is doubled when it is full; then the old and the new buffer exist
 * at the same time. */
static uint64_t most_fitting_recs(const sort_plan_query *q, uint64_t most, bool on_disk)
{
	const uint64_t limit = q->limit_bytes;
	const uint64_t buffer = (limit - u64_min(limit, slack_bytes(limit))) / 3 * 2;
	sort_plan b;
	sort_plan_query some = *q;
	lower_bound n = { .lo = 1, .hi = most + 1 };
	while (lower_bound_open(&n)) {
		some.recs = n.mid;
		lower_bound_step(&n, on_disk ? beside_files(&some, true) >= limit &&
						       plan_on_disk(&b, &some)
					     : core_fits(&some) &&
						       some.recs * some.lay.record_bytes <= buffer);
	}
	return n.lo - 1;
}

void sort_plan_stream(sort_plan *b, const sort_plan_query *q, uint64_t disk_recs)
{
	const uint64_t most = INT64_MAX / q->lay.record_bytes;
	const uint64_t core = most_fitting_recs(q, u64_min(most, POS_MASK), false);
	sort_plan_query whole = *q;
	if (q->test_run_recs) {
		whole.recs = q->test_run_recs * TEST_RUNS;
		plan_forced(b, &whole);
		return;
	}
	*b = (sort_plan){ .bytes = q->limit_bytes, .core_recs = core };
	if (q->out_in_memory || q->memory_dirs) /* files could leave too little to sort in */
		whole.limit_bytes = u64_min(q->limit_bytes, q->left_bytes / 2);
	whole.recs = most_fitting_recs(q, u64_min(disk_recs, most), true);
	if (whole.recs <= core || !plan_on_disk(b, &whole))
		return;
	b->most_recs = whole.recs;
	/* until these records are written, they take the memory of the workers' runs */
	b->core_recs = u64_min(core, b->workers * b->run_recs);
	/* the last run of these records may be shorter than the others */
	b->runs += b->runs < SORT_PLAN_MOST_RUNS;
}

void sort_plan_end(sort_plan *b, const sort_plan_query *q, bool spills)
{
	sort_plan_query whole = *q;
	whole.recs = b->most_recs;
	b->spills = spills;
	b->core_bytes = core_needs(q);
	if (!spills) {
		plan_in_memory(b, q);
		return;
	}
	b->disk_bytes = q->recs * q->lay.record_bytes;
	if (b->bytes)
		(void)plan_merge(b, &whole, u64_min(q->limit_bytes, beside_files(q, true)), 0);
}
