/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The speed of this rank, before a job.
 *
 * The calibration runs the kernels of the sort on all threads of the rank, without disks or
 * messages. It makes and sorts entries, gathers records and merges them by a loser tree, copies
 * records with their checksum, and writes them to a file in memory. A lap takes less than a
 * millisecond on a usual core, so it is short compared with the periods of quotas. */
#include "calibrate.h"
#include "base/clock.h"
#include "base/arith.h"
#include "base/pool.h"
#include "kernel/inspect.h"
#include "kernel/gather.h"
#include "kernel/merge.h"
#include "kernel/radix.h"
#include "io/file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	SAMPLE_BYTES = 3 << 17, /* short laps, because a rank with a quota has little time */
	SAMPLE_RECS = 16384,
	MIN_RECS = 64,
	MAX_STREAMS = 64,
	FILE_BYTES = 4 << 20, /* then the file is emptied, which takes long */
	LAPS = KERNELS * 1024 /* at most; their moments take 64 KiB */
};

/* The data of one thread. */
typedef struct sample {
	layout lay;
	size_t n;
	uint32_t k;          /* streams */
	unsigned char *recs; /* the sample */
	unsigned char *mid;  /* gathered streams */
	unsigned char *out;
	entry *e, *tmp; /* all arrays are in the memory of e */
	entry *order;   /* k sorted streams */
	head node[MAX_STREAMS], first[MAX_STREAMS];
	size_t at[MAX_STREAMS]; /* next record of each stream */
	double ended[LAPS + 1]; /* the time at the end of each lap */
	double cpu[LAPS + 1];   /* the thread's processor time at these moments */
	checksum sum;           /* used, so that the compiler keeps the work */
	int fd;                 /* a file in memory, */
	uint64_t written;       /* and its length */
	bool no_file; /* it cannot be written, so its rate is the nominal part of others */
	double limit_s;
	calibrated found; /* rates are 0 if the thread did not run */
} sample;

struct calibration {
	mem *m;
	unsigned threads;
	sample *s;
};

static void sample_entries(const sample *c, entry *e)
{
	const unsigned char *rec = c->recs;
	for (size_t i = 0; i < c->n; i++, rec += c->lay.record_bytes)
		e[i] = entry_make(rec, &c->lay, i);
}

/* Return the number of the first record of stream s, which ends where the next stream starts. */
static size_t sample_stream(const sample *c, uint32_t s)
{
	/* A job has at least one rank. NOLINTNEXTLINE(clang-analyzer-core.DivideZero) */
	return c->n * s / c->k;
}

static head calibrate_head(sample *c, uint32_t s)
{
	if (c->at[s] == sample_stream(c, s + 1))
		return head_end();
	return head_make(c->mid + c->at[s]++ * c->lay.record_bytes, s, &c->lay);
}

/* Run a kernel once on the sample. */
static void sample_lap(sample *c, int k)
{
	const records r = { c->recs, c->lay, 0 };
	const uint32_t bytes = c->lay.record_bytes;
	if (k == KERNEL_SORT) {
		sample_entries(c, c->e);
		radix_sort(c->e, c->tmp, c->n, &r);
	} else if (k == KERNEL_COPY) {
		memcpy(c->out, c->recs, c->n * bytes);
		c->sum = checksum_join(c->sum, checksum_records(&c->lay, c->out, c->n));
	} else if (k == KERNEL_FILE) {
		const size_t some = c->n * bytes;
		if (c->written > FILE_BYTES && ftruncate(c->fd, 0) == 0)
			c->written = 0;
		if (file_write_at(c->fd, c->recs, some, c->written, "a file in memory", NULL) !=
		    ST_OK)
			c->no_file = true;
		c->written += some;
	} else {
		unsigned char *to = c->out;
		loser_tree t;
		(void)gather(&r, c->order, c->n, 0, c->mid);
		for (uint32_t s = 0; s < c->k; s++) {
			c->at[s] = sample_stream(c, s);
			c->first[s] = calibrate_head(c, s);
		}
		loser_tree_init(&t, c->node, c->k, c->first, &c->lay);
		for (; !head_is_end(&t.node[0]); to += bytes) {
			const uint32_t s = head_stream(&t.node[0]);
			record_copy(to, t.node[0].rec, bytes);
			loser_tree_replace(&t, calibrate_head(c, s), s);
		}
	}
}

status calibrate_open(calibration **out, rank_env *env, unsigned threads, int streams,
		      uint64_t most_bytes)
{
	const layout *l = &env->o->lay;
	mem *m = &env->m;
	calibration *c = calloc(1, sizeof *c);
	*out = c;
	if (!c || !(c->s = mem_array(m, threads, sizeof *c->s, "calibration", &env->e)))
		return err_set(&env->e, ST_RESOURCE, "no memory for calibration");
	const size_t bytes = l->record_bytes, each = 3 * (bytes + sizeof(entry));
	const uint64_t fits = u64_min(SAMPLE_BYTES / bytes, most_bytes / threads / each);
	const size_t n = size_min(size_max((size_t)fits, MIN_RECS), SAMPLE_RECS);
	c->m = m;
	c->threads = threads;
	for (unsigned i = 0; i < threads; i++)
		c->s[i].fd = -1;
	for (unsigned i = 0; i < threads; i++) {
		sample *s = &c->s[i];
		s->lay = *l;
		s->n = n;
		s->fd = memfd_create("hetsort-calibration", MFD_CLOEXEC);
		s->k = streams < MAX_STREAMS ? (uint32_t)streams : MAX_STREAMS;
		s->e = mem_array(m, n, each, "calibration", &env->e);
		s->no_file = s->fd < 0;
		if (!s->e)
			return ST_RESOURCE;
		s->tmp = s->e + n;
		s->order = s->tmp + n;
		s->recs = (unsigned char *)(s->order + n);
		s->mid = s->recs + n * bytes;
		s->out = s->mid + n * bytes;
	}
	return ST_OK;
}

/* Return half the range of the shares of the processor in equal parts of the time. */
static double range_of_shares(const double *at, const double *cpu, size_t n)
{
	enum { PARTS = 3 };
	double least = INFINITY, most = 0;
	for (size_t part = 1, i = 0; part <= PARTS; part++) {
		const size_t first = i;
		while (i < n && at[i] - at[0] < (at[n] - at[0]) * (double)part / PARTS)
			i++;
		if (at[i] > at[first]) {
			const double share = (cpu[i] - cpu[first]) / (at[i] - at[first]);
			least = fmin(least, share);
			most = fmax(most, share);
		}
	}
	return most > least ? (most - least) / 2 : 0;
}

/* Fit a line to cpu(at) by least squares. Its slope is 12 / W^3 times the integral of (t - middle)
 * cpu(t) over the W seconds. During a lap cpu(at) is taken to be linear. The time of a kernel is
 * the lower quartile of its laps: whatever disturbs a lap (interrupts, cold caches) makes it
 * longer. A median of n laps is wrong by at most 1.57 times their interquartile range over the root
 * of n, in 95 % of measurements; this is the error of the quartile, too. */
lap_times calibrate_laps(const double *at, const double *cpu, size_t n)
{
	static const double OF_MEDIAN = 1.57;
	const double whole = at[n] - at[0], middle = at[0] + whole / 2;
	double sum = 0, all = 0, errors = 0, sorted[LAPS / KERNELS] = { 0 };
	lap_times t = { .lap_error = 1, .share_error = 1 };
	for (size_t i = 0; i < n; i++) {
		const double h = at[i + 1] - at[i], y = cpu[i] - cpu[0], dy = cpu[i + 1] - cpu[i];
		const double from_middle = (at[i] + at[i + 1]) / 2 - middle;
		sum += h * (from_middle * (y + dy / 2) + h * dy / 12);
	}
	t.share = whole > 0 ? 12 * sum / (whole * whole * whole) : 0;
	if (!(t.share > 0))
		return t;
	for (size_t k = 0; k < KERNELS; k++) {
		size_t laps = 0;
		for (size_t i = k; i < n && laps < LAPS / KERNELS; i += KERNELS)
			sorted[laps++] = cpu[i + 1] - cpu[i];
		qsort(sorted, laps, sizeof *sorted, double_order);
		const double quick = sorted[laps / 4];
		const double range = sorted[laps - 1 - laps / 4] - sorted[laps / 4];
		t.lap_s[k] = quick / t.share;
		if (k == KERNEL_FILE) /* the speed does not include it */
			continue;
		all += quick;
		errors += laps < 4 ? quick : OF_MEDIAN * range / sqrt((double)laps);
	}
	t.lap_error = all > 0 ? errors / all : 1;
	t.share_error = range_of_shares(at, cpu, n) / t.share;
	return t;
}

static void sample_read_clocks(sample *c, size_t n)
{
	struct timespec t = { 0, 0 };
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	c->ended[n] = now_s();
	c->cpu[n] = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Make the sample of one thread, run laps, and find the thread's rates. */
static void calibrate_thread(void *samples, unsigned worker)
{
	sample *c = (sample *)samples + worker;
	const records r = { c->recs, c->lay, 0 };
	const double begun_s = now_s();
	uint64_t random = 0;
	size_t n = 0;
	const double n_ln_n = (double)c->n * log((double)c->n);
	const double bytes = (double)c->n * c->lay.record_bytes;
	for (size_t i = 0, some; i < (size_t)bytes; i += some) { /* random bytes */
		const uint64_t next = splitmix(&random);
		some = size_min(sizeof next, (size_t)bytes - i);
		memcpy(c->recs + i, &next, some);
	}
	sample_entries(c, c->order);
	for (uint32_t s = 0; s < c->k; s++)
		radix_sort(c->order + sample_stream(c, s), c->tmp,
			   sample_stream(c, s + 1) - sample_stream(c, s), &r);
	for (int k = 0; k < KERNELS; k++)
		sample_lap(c, k); /* fill the caches; these laps do not count */
	sample_read_clocks(c, 0);
	do
		for (int k = 0; k < KERNELS; k++) {
			sample_lap(c, k);
			sample_read_clocks(c, ++n);
		}
	while (n + KERNELS <= LAPS && c->ended[n] - begun_s < c->limit_s);
	const lap_times t = calibrate_laps(c->ended, c->cpu, n);
	const rates nominal = job_time_nominal(1, 1);
	const double copy_s = t.lap_s[KERNEL_COPY] / bytes;
	c->found = (calibrated){ .rate = { .cpus = t.share,
					   .sort_s = t.lap_s[KERNEL_SORT] / n_ln_n,
					   .merge_s = t.lap_s[KERNEL_MERGE] / bytes,
					   .copy_s = copy_s,
					   .file_s = c->no_file ? copy_s * nominal.file_s /
									  nominal.copy_s
								: t.lap_s[KERNEL_FILE] / bytes },
				 .lap_error = t.lap_error,
				 .share_error = t.share_error };
}

calibrated calibrate_run(calibration *c, double limit_s)
{
	calibrated all = { .rate = { 0 } };
	for (unsigned i = 0; i < c->threads; i++)
		c->s[i].limit_s = limit_s;
	pool_run(c->threads, calibrate_thread, c->s);
	for (unsigned i = 0; i < c->threads; i++) {
		const calibrated *one = &c->s[i].found;
		const rates *r = &one->rate;
		if (!(r->sort_s > 0 && r->merge_s > 0 && r->copy_s > 0))
			continue;
		rates_join(&all.rate, r);
		/* a thread that hardly got a processor hardly counts */
		all.lap_error += one->lap_error * r->cpus;
		all.share_error += one->share_error * r->cpus;
	}
	if (all.rate.cpus > 0) {
		all.lap_error /= all.rate.cpus;
		all.share_error /= all.rate.cpus;
	}
	return all;
}

void calibrate_free(calibration *c)
{
	if (!c)
		return;
	for (unsigned i = 0; i < c->threads && c->s; i++) {
		if (c->s[i].fd >= 0)
			close(c->s[i].fd);
		mem_free(c->m, c->s[i].e);
	}
	mem_free(c->m, c->s);
	free(c);
}

double calibrate_slowdown(const allowance *a, size_t p, size_t i)
{
	double got = 0, wanted = 0;
	if (!(a[i].quota_cpus > 0))
		return 1;
	for (size_t k = 0; k < p; k++)
		if (a[k].quota_cpus > 0 && a[k].group == a[i].group) {
			got += a[k].got_cpus;
			wanted += a[k].wants_cpus;
		}
	const double slowdown = got / a[i].quota_cpus;
	return wanted > a[i].quota_cpus && slowdown > 0 && isfinite(slowdown) ? slowdown : 1;
}
