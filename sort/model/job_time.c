/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The seconds of each stage of a job.
 *
 * A job consists of several kinds of work (`work`). Each kind costs processor time of the rank. If
 * it moves files or messages, it also costs processor time of the system. A rank can sort in three
 * ways, and the table `stage_of` gives the stage of each kind of work for each way:
 *
 *   merges       Records stay in memory, or in the page cache. The rank sorts, sends and merges
 *                them while it writes.
 *   spills       Runs are sorted while the input is read, go to disk, and are read again for the
 *                merge.
 *   sorts last   Records are divided by destination (SPLIT) and sent (RECEIVE). Keys of received
 *                records are put into buckets (SORT), which are sorted while they are written.
 *
 * Records in memory are sorted on demand, so READ only puts their keys into buckets, and WRITE
 * sorts the buckets. WRITE includes sending and merging unless an earlier stage has done them.
 *
 * All processors of a rank read. In an exchange of sorted records, each lane has three threads
 * (exchange/lanes.h): one sorts and sends, one receives and merges, one writes. So WRITE takes at
 * least the time of the threads that have the most work, on one processor for each lane.
 *
 * The times of memory, disk and link are added to the work of a stage:
 *
 *   memory    The system clears a page before its first use. add_fresh_memory() finds the stage.
 *   disk      The disk moves bytes while the processors work, so READ takes the longer of both
 *             times. After READ the disk also works while records are divided, sent and sorted;
 *             the rest of its time belongs to WRITE.
 *   link      The link carries records during RECEIVE, or during WRITE if a way has no RECEIVE.
 *             The rest of its time belongs to WRITE, in which all three overlap().
 *
 * CHECK reads the output again. SPLIT includes lookups in runs on disk, for which all work
 * waits. */
#include "job_time.h"

#include <math.h>

/* The rates of a 2.5 GHz core with files in memory. They do not affect ratios between ranks. */
static const rates nominal = {
	.sort_s = 4e-9, .merge_s = 0.45e-9, .copy_s = 0.35e-9, .file_s = 0.665e-9
};

/* To compute the checksum of records in the page cache, and to map it. */
static const double SUM_TO_COPY = 0.25, MAP_TO_FILE = 0.13;
static const double SMALL_PAGES = 2.5; /* ratios.far times this: the page cache has small pages */

/* Processors for which a rank has a lane, and the most lanes, unless the plan says more. */
static const double LANE_CPUS = 2, MOST_LANES = 15;

/* Bytes that a sort on demand needs per record (kernel/demand.h). */
static const double NUMBER_BYTES = 10;

/* The part of merge_s that is needed to gather records. */
static const double GATHERING = 0.5;

void rates_scale(rates *r, double times)
{
	r->sort_s *= times;
	r->merge_s *= times;
	r->copy_s *= times;
	r->file_s *= times;
	r->cpus /= times;
}

static double joined_s(double all_s, double one_s)
{
	return all_s > 0 ? 1 / (1 / all_s + 1 / one_s) : one_s;
}

void rates_join(rates *all, const rates *r)
{
	all->sort_s = joined_s(all->sort_s, r->sort_s);
	all->merge_s = joined_s(all->merge_s, r->merge_s);
	all->copy_s = joined_s(all->copy_s, r->copy_s);
	all->file_s = joined_s(all->file_s, r->file_s);
	all->cpus += r->cpus;
}

void rates_copy_work(rates *to, const rates *from)
{
	to->cpus = from->cpus;
	to->sort_s = from->sort_s;
	to->merge_s = from->merge_s;
	to->copy_s = from->copy_s;
	to->file_s = from->file_s;
}

rates job_time_nominal(double speed, double cpus)
{
	const double all = speed * cpus;
	return (rates){ .cpus = cpus,
			.sort_s = nominal.sort_s / all,
			.merge_s = nominal.merge_s / all,
			.copy_s = nominal.copy_s / all,
			.file_s = nominal.file_s / all };
}

double job_time_byte_s(double mb_per_s)
{
	return 1e-6 / mb_per_s;
}

/* -------------------------------------------------------------------------------- kinds of work */

typedef enum work {
	TAKE,    /* read the input */
	BUCKET,  /* put the keys of the input into buckets */
	ORDER,   /* sort the buckets */
	SPILL,   /* gather runs and write them to disk */
	DIVIDE,  /* put the keys of received records into buckets */
	SEND,    /* gather the records for other ranks and send them */
	PLACE,   /* copy received records to the memory where they are sorted */
	RECALL,  /* read runs from disk; with several ranks, also merge them before they are sent */
	COLLECT, /* wait for memory: records are far apart when they are gathered or thinned */
	PUT,     /* merge and write the output */
	WORKS
} work;

typedef enum way { MERGES, SPILLS, SORTS_LAST, WAYS } way;

/* STAGE_NONE: this way does not have this work. */
static const stage_kind stage_of[WORKS][WAYS] = {
	/* merges, spills, sorts last */
	[TAKE] = { STAGE_READ, STAGE_READ, STAGE_READ },
	[BUCKET] = { STAGE_READ, STAGE_READ, STAGE_READ },
	[ORDER] = { STAGE_WRITE, STAGE_READ, STAGE_WRITE },
	[SPILL] = { STAGE_NONE, STAGE_READ, STAGE_NONE },
	[DIVIDE] = { STAGE_NONE, STAGE_NONE, STAGE_SORT },
	[SEND] = { STAGE_WRITE, STAGE_WRITE, STAGE_RECEIVE },
	[PLACE] = { STAGE_NONE, STAGE_NONE, STAGE_RECEIVE },
	[RECALL] = { STAGE_NONE, STAGE_WRITE, STAGE_NONE },
	[COLLECT] = { STAGE_WRITE, STAGE_NONE, STAGE_WRITE },
	[PUT] = { STAGE_WRITE, STAGE_WRITE, STAGE_WRITE },
};

static way way_of(const settings *o, const job_load *l)
{
	if (l->spills)
		return SPILLS;
	return l->ranks <= 1 || settings_sorts_first(o) ? MERGES : SORTS_LAST;
}

static double bytes_of(const settings *o, uint64_t n)
{
	return o->lay.record_bytes * (double)n;
}

/* Return the part of n records, read or written, that the rank sends or receives, if it writes or
 * reads `kept` records. */
static double moved_bytes(const settings *o, const job_load *l, uint64_t n, uint64_t kept)
{
	const double own = l->all > 0 ? (double)kept / (double)l->all : 1 / (double)l->ranks;
	return bytes_of(o, n) * fmax(1 - own, 0);
}

static double leaving_bytes(const settings *o, const job_load *l)
{
	return moved_bytes(o, l, l->in, l->own_out ? l->own_out : l->out);
}

/* Return the bytes that the rank has read and writes itself. */
static double own_bytes(const settings *o, const job_load *l)
{
	return bytes_of(o, l->in) - leaving_bytes(o, l);
}

static double arriving_bytes(const settings *o, const job_load *l)
{
	return moved_bytes(o, l, l->out, l->in);
}

/* Return the part of the input that is written to runs on disk and read again. */
static double spilled(const job_load *l)
{
	return l->spills ? 1 - l->held : 0;
}

/* Return whether the last step merges. */
static bool merges(const settings *o, const job_load *l)
{
	return way_of(o, l) != SORTS_LAST && (l->ranks > 1 || l->spills);
}

/* The seconds that some work takes on one processor. */
typedef struct work_time {
	double own_s;    /* in the program */
	double system_s; /* in the system, for files and messages */
} work_time;

static work_time work_time_of(work w, const rates *r, const settings *o, const job_load *l)
{
	const cost_ratios *c = cost_ratios_find();
	const double in = bytes_of(o, l->in), out = bytes_of(o, l->out), copy_s = r->copy_s;
	const bool last = way_of(o, l) == SORTS_LAST;
	const double n = (double)(last ? l->out : l->in), ln = n > 1 ? log(n * c->each) : 0;
	const double bucket_s = r->sort_s * fmin(ln, JOB_TIME_PASS_LN);
	const double spill_s = (w == SPILL ? 1 : c->read) * r->file_s * in * spilled(l);
	const double far_s = c->far * r->file_s * (l->in_place && !last ? SMALL_PAGES : 1);
	/* a merge reads its records a second time, when they are in a cache */
	const double again_s = merges(o, l) ? copy_s : 0, wait_s = fmax(far_s - again_s, 0);
	const double gather_s = GATHERING * r->merge_s + copy_s;
	switch (w) {
	case TAKE:
		if (l->in_place)
			return (work_time){ SUM_TO_COPY * copy_s * in,
					    MAP_TO_FILE * r->file_s * in };
		return (work_time){ copy_s * in, c->read * r->file_s * in };
	case BUCKET:
		return (work_time){ bucket_s * (double)l->in, 0 };
	case ORDER:
		return (work_time){ (r->sort_s * ln - bucket_s) * n, 0 };
	case SPILL:
		return (work_time){ in * (GATHERING * r->merge_s + c->far * r->file_s), spill_s };
	case DIVIDE:
		return (work_time){ bucket_s * (double)l->out, 0 };
	case SEND:
		return (work_time){ gather_s * leaving_bytes(o, l),
				    c->net * r->file_s * l->far *
					    (leaving_bytes(o, l) + arriving_bytes(o, l)) };
	case PLACE:
		return (work_time){ copy_s * out, 0 };
	case RECALL:
		return (work_time){ in * (copy_s + (l->ranks > 1 ? r->merge_s : 0)), spill_s };
	case COLLECT:
		return (work_time){ out * wait_s * (settings_drops(o) ? 2 : 1), 0 };
	default:
		/* a merge gathers the records that it does not receive, too */
		return (work_time){ gather_s * (out + (merges(o, l) ? own_bytes(o, l) : 0)),
				    (r->file_s + again_s) * out };
	}
}

/* The threads of a lane. */
enum { SENDER, MERGER, WRITER, LANE_THREADS };

/* Add the time of a kind of work to the threads that do it, if it is work of an exchange. A sending
 * thread also sorts the records that it sends, a merging thread its own records. */
static void add_to_threads(double thread_s[LANE_THREADS], work w, const work_time *t, double own)
{
	if (w == SEND) {
		thread_s[SENDER] += t->own_s + t->system_s / 2;
		thread_s[MERGER] += t->system_s / 2;
	} else if (w == ORDER || w == RECALL) {
		thread_s[SENDER] += (t->own_s + t->system_s) * (1 - own);
		thread_s[MERGER] += (t->own_s + t->system_s) * own;
	} else {
		thread_s[MERGER] += t->own_s;
		thread_s[WRITER] += t->system_s;
	}
}

/* Return the seconds of the busiest kind of thread, on one processor. */
static double longest_thread(const double thread_s[LANE_THREADS], const rates *r)
{
	double longest_s = 0;
	for (int i = 0; i < LANE_THREADS; i++)
		longest_s = fmax(longest_s, thread_s[i]);
	return longest_s * (r->cpus > 0 ? r->cpus : 1);
}

/* Stretch a stage in which each kind of thread uses at most one processor for each lane. */
static void stretch_to_threads(stage_plan *s, double thread_s, const rates *r, const job_load *l)
{
	const double cpus = r->cpus > 0 ? r->cpus : 1;
	const double usual_lanes = fmin(fmax(floor(cpus / LANE_CPUS), 1), MOST_LANES);
	const double longest_s = thread_s / fmin(l->lanes > 0 ? l->lanes : usual_lanes, cpus);
	if (!(longest_s > s->all_s))
		return;
	s->files_s *= longest_s / s->all_s;
	s->ahead_s *= longest_s / s->all_s;
	s->all_s = longest_s;
}

/* Add the seconds of all work to the stages. Return the seconds of longest_thread() in WRITE. */
static double add_work(job_time *t, const rates *r, const settings *o, const job_load *l)
{
	const way y = way_of(o, l);
	const double in = bytes_of(o, l->in), own = in > 0 ? own_bytes(o, l) / in : 0;
	double thread_s[LANE_THREADS] = { 0 };
	for (int w = 0; w < WORKS; w++) {
		const stage_kind k = stage_of[w][y];
		stage_plan *s = &t->stage[k];
		if (k == STAGE_NONE)
			continue;
		const work_time one = work_time_of((work)w, r, o, l);
		const double all = one.own_s + one.system_s;
		s->all_s += all;
		s->files_s += one.system_s;
		/* with several ranks, records count as written only after this work */
		if (k == STAGE_WRITE && l->ranks > 1 && (w == SEND || w == RECALL))
			s->ahead_s += all;
		if (k == STAGE_WRITE)
			add_to_threads(thread_s, (work)w, &one, own);
	}
	const double longest_s = longest_thread(thread_s, r);
	if (l->ranks > 1 && y != SORTS_LAST)
		stretch_to_threads(&t->stage[STAGE_WRITE], longest_s, r, l);
	return longest_s;
}

double job_time_thread_s(const rates *r, const settings *o, const job_load *l)
{
	job_time t = { .total_s = 0 };
	return add_work(&t, r, o, l);
}

/* ------------------------------------------------------------------ memory, disk and the link */

/* Add the time to clear memory before its first use. If runs spill, READ uses all memory, and the
 * merge reuses it. Otherwise READ clears the buckets of its records. A rank that sorts last also
 * clears memory for the records received, and for their buckets. WRITE clears the rest. */
static void add_fresh_memory(job_time *t, const rates *r, const settings *o, const job_load *l)
{
	double fresh[STAGES] = { 0 }, left = l->fresh_bytes;
	fresh[STAGE_READ] = l->spills ? left : NUMBER_BYTES * (double)l->in;
	if (way_of(o, l) == SORTS_LAST) {
		fresh[STAGE_RECEIVE] = bytes_of(o, l->out);
		fresh[STAGE_SORT] = NUMBER_BYTES * (double)l->out;
	}
	fresh[STAGE_WRITE] = left;
	for (int k = STAGE_READ; k < STAGES; k++) {
		const double bytes = fmin(left, fresh[k]);
		const double s = cost_ratios_find()->fresh * r->file_s * bytes;
		left -= bytes;
		t->stage[k].all_s += s;
		t->stage[k].fresh_s += s;
	}
	/* the system's work to read a byte includes clearing its memory */
	if (!l->spills && !l->in_place) {
		const double s = cost_ratios_find()->fresh * r->file_s * bytes_of(o, l->in);
		t->stage[STAGE_READ].files_s -= s;
		t->stage[STAGE_READ].fresh_s += s;
	}
}

/* Let a stage take at least the time of the disk. */
static void at_least(stage_plan *s, double disk_s)
{
	if (s->all_s < disk_s)
		*s = (stage_plan){ .all_s = disk_s };
}

static double sixth_power(double x)
{
	return x * x * x * x * x * x;
}

/* Let processors, disk and link work at the same time in WRITE. If two of them have about the same
 * work, each also waits for the other now and then, so the stage takes longer than either: by 12 %
 * if they are equal, by 1.4 % if one has two thirds of the work. */
static void overlap(stage_plan *s, double disk_s, double link_s)
{
	const double other_s = fmax(disk_s, link_s), longest_s = fmax(s->all_s, other_s);
	if (!(other_s > 0))
		return;
	if (longest_s > s->all_s)
		*s = (stage_plan){ .all_s = s->all_s };
	const double sum = sixth_power(s->all_s / longest_s) + sixth_power(disk_s / longest_s) +
			   sixth_power(link_s / longest_s);
	const double all_s = longest_s * cbrt(sqrt(sum));
	if (s->all_s > 0) {
		s->files_s *= all_s / s->all_s;
		s->ahead_s *= all_s / s->all_s;
	}
	s->all_s = all_s;
}

/* Add the time by which the disk and the link delay READ and WRITE, and the times of lookups and of
 * CHECK. */
static void add_disk_and_link(job_time *t, const rates *r, const settings *o, const job_load *l)
{
	const double in = bytes_of(o, l->in), out = bytes_of(o, l->out);
	const double received_s = t->stage[STAGE_RECEIVE].all_s;
	const double between_s =
		t->stage[STAGE_SPLIT].all_s + received_s + t->stage[STAGE_SORT].all_s;
	const double runs_s = in * spilled(l) * r->disk_s;
	const double write_s = runs_s + fmax(out - l->buffer_bytes, 0) * r->disk_s - between_s;
	at_least(&t->stage[STAGE_READ], in * r->input_s + runs_s);
	overlap(&t->stage[STAGE_WRITE], fmax(write_s, 0),
		fmax(job_time_link_s(r, o, l) - received_s, 0));
	t->stage[STAGE_SPLIT].all_s += l->lookup_bytes * (r->copy_s + r->disk_s);
	if (l->rereads)
		t->stage[STAGE_CHECK].all_s = fmax(
			out * (r->copy_s + cost_ratios_find()->read * r->file_s), out * r->disk_s);
}

double job_time_link_s(const rates *r, const settings *o, const job_load *l)
{
	return r->link_s * fmax(leaving_bytes(o, l), arriving_bytes(o, l));
}

job_time job_time_of(const rates *r, const settings *o, const job_load *l)
{
	job_time t = { .total_s = 0 };
	(void)add_work(&t, r, o, l);
	add_fresh_memory(&t, r, o, l);
	add_disk_and_link(&t, r, o, l);
	for (int k = STAGE_READ; k < STAGES; k++)
		t.total_s += t.stage[k].all_s;
	return t;
}

/* ------------------------------------------------------------------------------- parts of a job */

bottleneck job_time_bound_by(const rates *r, const settings *o, const job_load *l)
{
	rates processors = *r, disk = *r;
	job_load once = *l;
	processors.link_s = processors.disk_s = processors.input_s = 0;
	disk.link_s = disk.sort_s = disk.merge_s = disk.copy_s = disk.file_s = 0;
	once.rereads = false;
	const double busy[BOTTLENECKS] = {
		[BOUND_BY_PROCESSOR] = job_time_of(&processors, o, &once).total_s,
		[BOUND_BY_LINK] = job_time_link_s(r, o, l),
		[BOUND_BY_DISK] = job_time_of(&disk, o, &once).total_s,
	};
	bottleneck most = BOUND_BY_PROCESSOR;
	for (int i = 0; i < BOTTLENECKS; i++)
		if (busy[i] > busy[most])
			most = (bottleneck)i;
	return most;
}

const char *job_time_bound_name(bottleneck b)
{
	static const char *const name[BOTTLENECKS] = { "processor", "link", "disk" };
	return name[b];
}

/* Return the seconds of one kind of work in the program, before the shares are known. */
static double program_s(work w, const rates *r, const settings *o, const job_load *l)
{
	return work_time_of(w, r, o, l).own_s;
}

double job_time_before_s(const rates *r, const settings *o, uint64_t n)
{
	const job_load l = { .in = n, .out = n, .ranks = 2 };
	return program_s(TAKE, r, o, &l) + program_s(BUCKET, r, o, &l) +
	       (settings_sorts_first(o) ? program_s(ORDER, r, o, &l) : 0);
}

double job_time_after_s(const rates *r, const settings *o, uint64_t n)
{
	const job_load l = { .in = n, .out = n, .ranks = 2 };
	return program_s(PUT, r, o, &l) +
	       (settings_sorts_first(o) ? 0
					: program_s(DIVIDE, r, o, &l) + program_s(ORDER, r, o, &l));
}

double job_time_equal_s(const rates *r, const settings *o, uint64_t n, size_t p)
{
	const job_load l = { .in = n, .out = n, .ranks = p, .far = p > 1 };
	return job_time_of(r, o, &l).total_s;
}
