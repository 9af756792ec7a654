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
 *   disk      The disk moves bytes while the processors work, so a stage takes the longer of both
 *             times. After READ the disk also works while records are divided, sent and sorted.
 *             WRITE takes the rest of the disk's time.
 *   link      The link carries records during RECEIVE, or during WRITE if a way has no RECEIVE.
 *             WRITE takes the rest of the link's time.
 *
 * CHECK reads the output again. SPLIT includes lookups in runs on disk, for which all work
 * waits. */
#include "job_time.h"

#include <math.h>

/* The rates of a 2.5 GHz core with files in memory. They do not affect ratios between ranks. */
static const rates nominal = { .cpus = 1, .sort_s = 4e-9, .merge_s = 0.45e-9, .copy_s = 0.35e-9 };

/* Costs of a byte relative to copying it with its checksum, on the same machine. */
static const double FILE_TO_COPY = 1.9; /* the system's work to read or write a file */
static const double NET_TO_COPY = 2.4;  /* to send or receive by TCP, between network namespaces */
static const double FRESH_TO_COPY = 1;  /* to clear memory before its first use */
static const double FAR_TO_COPY = 1; /* to wait for memory, because rates are measured in caches */
static const double SUM_TO_COPY = 0.25; /* to compute the checksum of records in the page cache */
static const double MAP_TO_COPY = 0.25; /* to map the page cache */
static const double SMALL_PAGES = 2.5;  /* FAR_TO_COPY times this: the page cache has small pages */

/* Seconds per byte of a nominal disk. */
static const double DISK_S = 0.8e-9;

/* Processors for which a rank has a lane, unless the plan says more. */
static const double LANE_CPUS = 2;

/* The part of ln n that puts a key into a bucket, in units of sort_s. It is ln 256. */
static const double PASS_LN = 5.545;

/* Bytes that a sort on demand needs per record (kernel/demand.h). */
static const double NUMBER_BYTES = 10;

/* The part of merge_s that is needed to gather records. */
static const double GATHERING = 0.5;

void rates_scale(rates *r, double times)
{
	r->sort_s *= times;
	r->merge_s *= times;
	r->copy_s *= times;
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
	all->cpus += r->cpus;
}

void rates_copy_work(rates *to, const rates *from)
{
	to->cpus = from->cpus;
	to->sort_s = from->sort_s;
	to->merge_s = from->merge_s;
	to->copy_s = from->copy_s;
}

rates job_time_nominal(double speed)
{
	return (rates){ .cpus = nominal.cpus,
			.sort_s = nominal.sort_s / speed,
			.merge_s = nominal.merge_s / speed,
			.copy_s = nominal.copy_s / speed };
}

double job_time_nominal_disk_s(double n)
{
	return DISK_S * n;
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

/* Return the bytes that leave a rank with n records, if all p ranks write equal shares. */
static double leaving_bytes(const settings *o, uint64_t n, size_t p)
{
	return bytes_of(o, n) * (1 - 1 / (double)p);
}

/* Return the part of the input that is written to runs on disk and read again. */
static double spilled(const job_load *l)
{
	return l->spills ? 1 - l->held : 0;
}

/* The seconds that some work takes on one processor. */
typedef struct work_time {
	double own_s;    /* in the program */
	double system_s; /* in the system, for files and messages */
} work_time;

static work_time work_time_of(work w, const rates *r, const settings *o, const job_load *l)
{
	const double in = bytes_of(o, l->in), out = bytes_of(o, l->out), copy_s = r->copy_s;
	const bool last = way_of(o, l) == SORTS_LAST, merges = !last && (l->ranks > 1 || l->spills);
	const double n = (double)(last ? l->out : l->in), ln = n > 1 ? log(n) : 0;
	const double bucket_s = r->sort_s * fmin(ln, PASS_LN);
	const double spill_s = FILE_TO_COPY * copy_s * in * spilled(l);
	const double far_s = FAR_TO_COPY * copy_s * (l->in_place && !last ? SMALL_PAGES : 1);
	switch (w) {
	case TAKE:
		if (l->in_place)
			return (work_time){ SUM_TO_COPY * copy_s * in, MAP_TO_COPY * copy_s * in };
		return (work_time){ copy_s * in, FILE_TO_COPY * copy_s * in };
	case BUCKET:
		return (work_time){ bucket_s * (double)l->in, 0 };
	case ORDER:
		return (work_time){ (r->sort_s * ln - bucket_s) * n, 0 };
	case SPILL:
		return (work_time){ in * (GATHERING * r->merge_s + FAR_TO_COPY * copy_s), spill_s };
	case DIVIDE:
		return (work_time){ bucket_s * (double)l->out, 0 };
	case SEND:
		return (work_time){ (GATHERING * r->merge_s + copy_s) *
					    leaving_bytes(o, l->in, l->ranks),
				    NET_TO_COPY * copy_s * (in + out) * l->far };
	case PLACE:
		return (work_time){ copy_s * out, 0 };
	case RECALL:
		return (work_time){ in * (copy_s + (l->ranks > 1 ? r->merge_s : 0)), spill_s };
	case COLLECT:
		return (work_time){ out * far_s * (settings_drops(o) ? 2 : 1), 0 };
	default:
		return (work_time){ ((merges ? 1 : GATHERING) * r->merge_s + copy_s) * out,
				    FILE_TO_COPY * copy_s * out };
	}
}

/* The threads of a lane. A sending thread also sorts the records that it sends. */
enum { SENDER, MERGER, WRITER, LANE_THREADS };

/* Add the time of a kind of work to the threads that do it, if it is work of an exchange. */
static void add_to_threads(double thread_s[LANE_THREADS], work w, const work_time *t)
{
	if (w == SEND) {
		thread_s[SENDER] += t->own_s + t->system_s / 2;
		thread_s[MERGER] += t->system_s / 2;
	} else if (w == ORDER || w == RECALL) {
		thread_s[SENDER] += t->own_s + t->system_s;
	} else {
		thread_s[MERGER] += t->own_s;
		thread_s[WRITER] += t->system_s;
	}
}

/* Stretch a stage in which each kind of thread uses at most one processor for each lane. */
static void stretch_to_threads(stage_plan *s, const double thread_s[LANE_THREADS], const rates *r,
			       const job_load *l)
{
	const double of_rates = r->cpus > 0 ? r->cpus : 1;
	const double lanes =
		l->lanes > 0 ? l->lanes : fmax(floor(of_rates * l->cpus / LANE_CPUS), 1);
	const double most = fmin(l->cpus, lanes / of_rates); /* processors for one kind of thread */
	double longest_s = 0;
	for (int i = 0; i < LANE_THREADS; i++)
		longest_s = fmax(longest_s, thread_s[i] / most);
	if (!(longest_s > s->all_s && isfinite(l->cpus)))
		return;
	s->files_s *= longest_s / s->all_s;
	s->ahead_s *= longest_s / s->all_s;
	s->all_s = longest_s;
}

static void add_work(job_time *t, const rates *r, const settings *o, const job_load *l)
{
	const way y = way_of(o, l);
	double thread_s[LANE_THREADS] = { 0 };
	for (int w = 0; w < WORKS; w++) {
		const stage_kind k = stage_of[w][y];
		stage_plan *s = &t->stage[k];
		if (k == STAGE_NONE)
			continue;
		const work_time one = work_time_of((work)w, r, o, l);
		const double system = one.system_s / l->cpus, all = one.own_s / l->cpus + system;
		s->all_s += all;
		s->files_s += system;
		/* with several ranks, records count as written only after this work */
		if (k == STAGE_WRITE && l->ranks > 1 && (w == SEND || w == RECALL))
			s->ahead_s += all;
		if (k == STAGE_WRITE)
			add_to_threads(thread_s, (work)w, &one);
	}
	if (l->ranks > 1 && y != SORTS_LAST)
		stretch_to_threads(&t->stage[STAGE_WRITE], thread_s, r, l);
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
		const double s = FRESH_TO_COPY * r->copy_s * bytes / l->cpus;
		left -= bytes;
		t->stage[k].all_s += s;
		t->stage[k].fresh_s += s;
	}
	/* the system's work to read a byte includes clearing its memory */
	if (!l->spills && !l->in_place) {
		const double s = FRESH_TO_COPY * r->copy_s * bytes_of(o, l->in) / l->cpus;
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

/* Add the time by which the disk delays READ and WRITE, and the times of lookups and of CHECK. */
static void add_disk(job_time *t, const rates *r, const settings *o, const job_load *l)
{
	const double in = bytes_of(o, l->in), out = bytes_of(o, l->out);
	const double byte_s = l->disk_s > 0 ? l->disk_s : job_time_nominal_disk_s(l->disk_ranks);
	const double between_s = t->stage[STAGE_SPLIT].all_s + t->stage[STAGE_RECEIVE].all_s +
				 t->stage[STAGE_SORT].all_s;
	at_least(&t->stage[STAGE_READ], in * (l->cold + spilled(l)) * byte_s);
	at_least(&t->stage[STAGE_WRITE], (in * spilled(l) + out * l->durable) * byte_s - between_s);
	t->stage[STAGE_SPLIT].all_s += l->lookup_bytes * (r->copy_s / l->cpus + byte_s);
	if (l->rereads)
		t->stage[STAGE_CHECK].all_s =
			fmax(out * (1 + FILE_TO_COPY) * r->copy_s / l->cpus, out * byte_s);
}

static double exchange_s(const rates *r, const settings *o, const job_load *l)
{
	const double received_s = job_time_link_s(r, o, l->out, l->ranks);
	return l->sends_separately ? received_s
				   : fmax(received_s, job_time_link_s(r, o, l->in, l->ranks));
}

job_time job_time_of(const rates *r, const settings *o, const job_load *l)
{
	job_time t = { .total_s = 0 };
	add_work(&t, r, o, l);
	add_fresh_memory(&t, r, o, l);
	add_disk(&t, r, o, l);
	const double receive_s = t.stage[STAGE_RECEIVE].all_s;
	const double during_s = receive_s > 0 ? receive_s : t.stage[STAGE_WRITE].all_s;
	t.stage[STAGE_WRITE].all_s += fmax(exchange_s(r, o, l) - during_s, 0);
	for (int k = STAGE_READ; k < STAGES; k++)
		t.total_s += t.stage[k].all_s;
	return t;
}

/* ------------------------------------------------------------------------------- parts of a job */

bottleneck job_time_bound_by(const rates *r, const settings *o, const job_load *l)
{
	rates no_link = *r;
	job_load no_disk = *l, no_work = *l;
	no_link.link_s = 0;
	no_disk.rereads = no_work.rereads = false;
	no_disk.cold = no_disk.durable = false;
	no_disk.disk_s = 1e-300;
	no_work.cpus = INFINITY;
	const double busy[BOTTLENECKS] = {
		[BOUND_BY_PROCESSOR] = job_time_of(&no_link, o, &no_disk).total_s,
		[BOUND_BY_LINK] = exchange_s(r, o, l),
		[BOUND_BY_DISK] = job_time_of(&no_link, o, &no_work).total_s,
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

double job_time_equal_s(const rates *r, const settings *o, uint64_t n, size_t p, double cpus)
{
	const job_load l = { .in = n, .out = n, .ranks = p, .cpus = cpus, .far = p > 1 };
	return job_time_of(r, o, &l).total_s;
}

double job_time_send_s(const rates *r, const settings *o, uint64_t n, size_t p)
{
	const job_load l = { .in = n, .out = n, .ranks = p };
	return program_s(SEND, r, o, &l);
}

double job_time_link_s(const rates *r, const settings *o, uint64_t n, size_t p)
{
	return r->link_s * leaving_bytes(o, n, p);
}

double job_time_disk_s(const rates *r, const settings *o, uint64_t n)
{
	return r->disk_s * bytes_of(o, n);
}
