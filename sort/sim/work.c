/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The costs of work: kernels, disks, and the limits of a host. If a kernel calls other kernels,
 * only the outer call is charged. The disk serves one transfer after the other. A writing thread
 * waits for the disk only if too many bytes are unwritten. Only transfers of records are
 * charged. */
#include "base/limit.h"
#include "base/mem.h"
#include "base/pool.h"
#include "sim.h"
#include "engine.h"
#include "exchange/stream_merge.h"
#include "io/tempdir.h"
#include "io/io_fd.h"
#include "kernel/inspect.h"
#include "kernel/gather.h"
#include "kernel/merge.h"
#include "kernel/radix.h"
#include "kernel/demand_state.h"
#include "model/calibrate.h"
#include "io/input.h"
#include "spill/memory_share.h"

#include <math.h>
#include <stdlib.h>

static const sim_rates *host_rates(void)
{
	return &engine_platform()->rates;
}

/* The system's work to read a byte, from the disk or the page cache, relative to writing one. */
static const double READING = 0.125;

/* Return the rates per record of the simulated sort, multiplied by the scale, because each record
 * represents many. Measured and given rates are scaled in the same way. */
WRAPPED(rates, job_time_nominal, double speed, double cpus)
{
	rates r = __real_job_time_nominal(speed, cpus);
	r.sort_s *= comm_sim_scale();
	r.merge_s *= comm_sim_scale();
	r.copy_s *= comm_sim_scale();
	r.file_s *= comm_sim_scale();
	return r;
}

WRAPPED(double, job_time_byte_s, double mb_per_s)
{
	return __real_job_time_byte_s(mb_per_s) * comm_sim_scale();
}

/* Return only the work that the simulation charges: memory and the work to move messages by TCP are
 * not simulated. */
WRAPPED(const cost_ratios *, cost_ratios_find, void)
{
	static cost_ratios simulated;
	if (!actor_self())
		return __real_cost_ratios_find();
	simulated.read = READING;
	simulated.each = comm_sim_scale();
	return &simulated;
}

/* ------------------------------------------------------------------------------------- sizes */

/* Sample inputs of any length, because the represented input is long enough. */
WRAPPED(status, memory_share_input, const input *in, const load_plan *p, mem *m, sorted_share *d,
	err *e)
{
	static const test_sizes scaled = { .sampled_bytes = 1 };
	load_plan q = *p;
	if (actor_self())
		q.sizes = &scaled;
	return __real_memory_share_input(in, &q, m, d, e);
}

/* Return fewer records, so that a chunk represents as many bytes as it has without a scale. */
WRAPPED(size_t, io_fd_chunk_recs, uint32_t record_bytes, size_t bytes)
{
	const size_t recs = __real_io_fd_chunk_recs(record_bytes, bytes);
	return actor_self() ? (size_t)fmax((double)recs / comm_sim_scale(), 1) : recs;
}

/* Map no inputs, so that reading them is charged. */
WRAPPED(bool, input_may_be_mapped, const input *in, direct_io direct)
{
	return !actor_self() && __real_input_may_be_mapped(in, direct);
}

/* ----------------------------------------------------------------------------------- kernels */

/* True during a kernel whose inner calls are not charged. Kernels do not wait, so a static flag is
 * sufficient. */
static bool priced_as_one;

static void charge(double s)
{
	if (!actor_self() || priced_as_one)
		return;
	actor_pay();
	actor_compute(s);
}

/* Return the time to gather bytes of records: half of the time of a merge (model/job_time.c), and a
 * copy. */
static double gather_s(size_t bytes)
{
	return (host_rates()->merge_s / 2 + host_rates()->copy_s) * (double)bytes *
	       comm_sim_scale();
}

static double work_n_ln_n(double n)
{
	return n > 1 ? n * log(n) : 0;
}

WRAPPED(void, radix_sort, entry *a, entry *tmp, size_t n, const records *r)
{
	__real_radix_sort(a, tmp, n, r);
	charge(host_rates()->sort_s * work_n_ln_n((double)n * comm_sim_scale()));
}

/* Map no inputs, so that reading them is charged. */
WRAPPED(const unsigned char *, reader_map, const reader *r, mapped *m)
{
	*m = (mapped){ 0 };
	return actor_self() ? NULL : __real_reader_map(r, m);
}

/* Return the part of the sort's n ln n work that sorts buckets. The rest moves records to their
 * buckets. */
static double bucket_share(const demand *d)
{
	const double ln = log((double)d->n_most * comm_sim_scale());
	return ln > JOB_TIME_PASS_LN ? 1 - JOB_TIME_PASS_LN / ln : 0;
}

static void charge_sort(const demand *d, double share, uint64_t n)
{
	const double all = (double)d->n_most * comm_sim_scale();
	charge(share * host_rates()->sort_s * work_n_ln_n(all) * (double)n / (double)d->n_most);
}

/* Charge nothing, because a sample has the same number of records at any scale. */
WRAPPED(status, demand_open, demand **d, mem *m, const demand_plan *p, err *e)
{
	priced_as_one = true;
	const status rc = __real_demand_open(d, m, p, e);
	priced_as_one = false;
	return rc;
}

WRAPPED(status, demand_add, demand *d, unsigned in_lane, uint64_t first, uint64_t n, err *e)
{
	const status rc = __real_demand_add(d, in_lane, first, n, e);
	charge_sort(d, 1 - bucket_share(d), n);
	return rc;
}

WRAPPED(status, demand_end, demand *d, err *e)
{
	priced_as_one = true;
	const status rc = __real_demand_end(d, e);
	priced_as_one = false;
	return rc;
}

WRAPPED(void, demand_take, demand *d, demand_room *room, uint64_t place, uint64_t end,
	demand_piece *p)
{
	__real_demand_take(d, room, place, end, p);
	charge_sort(d, bucket_share(d), p->n);
}

WRAPPED(size_t, demand_gather, const demand_piece *p, size_t first, size_t n, unsigned char *to)
{
	const size_t misfits = __real_demand_gather(p, first, n, to);
	charge(gather_s(n * p->of->in.lay.record_bytes));
	return misfits;
}

WRAPPED(checksum, checksum_records, const layout *l, const unsigned char *recs, size_t n)
{
	const checksum sum = __real_checksum_records(l, recs, n);
	charge(host_rates()->copy_s * (double)(n * l->record_bytes) * comm_sim_scale());
	return sum;
}

WRAPPED(size_t, gather, const records *r, const entry *order, size_t n, size_t ahead,
	unsigned char *out)
{
	const size_t misfits = __real_gather(r, order, n, ahead, out);
	charge(gather_s(n * r->lay.record_bytes));
	return misfits;
}

/* Charge like the part of a sort that merges k runs, n ln k: each doubling of the length of runs
 * moves an entry once. */
WRAPPED(entry *, pairwise_merge, const entry *const *run, const size_t *n, size_t k, entry *e,
	entry *tmp, const records *r)
{
	size_t all = 0;
	for (size_t i = 0; i < k; i++)
		all += n[i];
	priced_as_one = true;
	entry *in = __real_pairwise_merge(run, n, k, e, tmp, r);
	priced_as_one = false;
	charge(host_rates()->sort_s * (double)all * log(k > 1 ? (double)k : 1) * comm_sim_scale());
	return in;
}

/* The destination of a merge of streams; records that it receives are charged. */
typedef struct priced {
	merge_sink to;
	uint32_t record_bytes;
} priced;

static unsigned char *priced_room(void *of, size_t *recs)
{
	const priced *p = of;
	return p->to.room(p->to.of, recs);
}

static void priced_add(void *of, size_t n)
{
	const priced *p = of;
	p->to.add(p->to.of, n);
	actor_owe(gather_s(n * p->record_bytes));
}

WRAPPED(status, stream_merge_run, stream_merge *g)
{
	priced p = { g->to, g->lay.record_bytes };
	g->to = (merge_sink){ priced_room, priced_add, &p };
	const status rc = __real_stream_merge_run(g);
	g->to = p.to;
	return rc;
}

/* ------------------------------------------------------------------------------------- disks */

/* The system accepts at most this number of bytes that are not yet on the disk. */
static const double UNWRITTEN_BYTES = 64 << 20;

/* Queue a transfer, and sleep until all but the last last_bytes have been transferred. It takes the
 * system `file` times the work to write. */
static void use_disk(size_t bytes, double last_bytes, double file)
{
	if (!actor_self())
		return;
	host *h = engine_here()->h;
	actor_owe(file * host_rates()->file_s * (double)bytes * comm_sim_scale());
	actor_pay();
	const double s = (double)bytes * comm_sim_scale() / h->is.disk_bytes_per_s;
	h->disk_free_s = fmax(h->disk_free_s, engine_now_s()) + s;
	h->disk_s += s;
	const double until_s = h->disk_free_s - last_bytes / h->is.disk_bytes_per_s;
	if (s > 0 && until_s > engine_now_s())
		actor_sleep(until_s);
}

WRAPPED(status, io_fd_read_at, const io_fd *f, void *buf, size_t bytes, uint64_t offset,
	const char *path, err *e)
{
	const status rc = __real_io_fd_read_at(f, buf, bytes, offset, path, e);
	use_disk(bytes, 0, READING);
	return rc;
}

WRAPPED(status, io_fd_write_at, const io_fd *f, const void *buf, size_t bytes, uint64_t offset,
	const char *path, err *e)
{
	const status rc = __real_io_fd_write_at(f, buf, bytes, offset, path, e);
	use_disk(bytes, UNWRITTEN_BYTES, 1);
	return rc;
}

/* The page cache of real files has no effect on the simulated disk. */
WRAPPED(bool, input_is_cached, const input *in, uint64_t bytes)
{
	return actor_self() ? !isfinite(engine_here()->h->is.disk_bytes_per_s)
			    : __real_input_is_cached(in, bytes);
}

WRAPPED(bool, disk_exists, const char *dir)
{
	return actor_self() ? isfinite(engine_here()->h->is.disk_bytes_per_s)
			    : __real_disk_exists(dir);
}

WRAPPED(void, io_fd_will_read, io_fd *f, direct_io when, uint64_t offset, uint64_t bytes)
{
	if (!actor_self())
		__real_io_fd_will_read(f, when, offset, bytes);
}

WRAPPED(int, io_fd_open_direct, int fd, int access_mode)
{
	return actor_self() ? -1 : __real_io_fd_open_direct(fd, access_mode);
}

WRAPPED(double, disk_rate_s, mem *m, const char *dir, uint64_t bytes)
{
	if (!actor_self())
		return __real_disk_rate_s(m, dir, bytes);
	const sim_host *h = &engine_here()->h->is; /* all of its ranks measure at the same time */
	return comm_sim_scale() * h->ranks / h->disk_bytes_per_s;
}

WRAPPED(double, disk_buffer_bytes, void)
{
	return actor_self() ? UNWRITTEN_BYTES / comm_sim_scale() : __real_disk_buffer_bytes();
}

/* -------------------------------------------------------------------------- the host's limits */

WRAPPED(processors, processors_find, void)
{
	if (!actor_self())
		return __real_processors_find();
	const host *h = engine_here()->h;
	return (processors){ h->is.cores, h->is.cores, (uint64_t)h->number };
}

WRAPPED(quota, quota_find, const char *root)
{
	const quota none = { 0, 0, 0 };
	return actor_self() ? none : __real_quota_find(root);
}

/* Return NULL: simulated hosts have one node, and the system does not know their threads. */
WRAPPED(numa *, numa_open, bool to_explain)
{
	return actor_self() ? NULL : __real_numa_open(to_explain);
}

/* Find the limit from the memory of the host. It is not scaled, because most of a rank's memory
 * other than records does not grow with their number. The report shows whether the represented
 * records need more memory than a host has. */
WRAPPED(status, memory_limit_find, const memory_limit_query *q, memory_limit *l, err *e)
{
	if (!actor_self())
		return __real_memory_limit_find(q, l, e);
	const double all = (double)engine_here()->h->is.mem_bytes;
	double bytes = all * LIMIT_PARTS / LIMIT_OF_PARTS;
	if (q->wish.bytes)
		bytes = (double)q->wish.bytes;
	else if (q->wish.micropercent)
		bytes = all * 1e-8 * q->wish.micropercent;
	*l = (memory_limit){ .rank_bytes = (uint64_t)(bytes / q->node_ranks),
			     .most_bytes = (uint64_t)(all / q->node_ranks),
			     .text = "the memory of the simulated host",
			     .left_bytes = UINT64_MAX }; /* files are on disks of the host */
	return ST_OK;
}

/* ------------------------------------------------------------------------------- calibration */

/* A simulated calibration measures nothing; it only knows the threads that would measure. */
struct calibration {
	unsigned threads;
	calibration *real;
};

WRAPPED(status, calibrate_open, calibration **out, rank_env *env, unsigned threads, int streams,
	uint64_t most_bytes)
{
	calibration *c = *out = calloc(1, sizeof *c);
	if (!c)
		return err_set(&env->e, ST_RESOURCE, "no memory for calibration");
	c->threads = threads;
	return actor_self() ? ST_OK
			    : __real_calibrate_open(&c->real, env, threads, streams, most_bytes);
}

/* Return the rates of this rank's part of the processors for all threads together, because all
 * ranks measure at the same time. */
WRAPPED(calibrated, calibrate_run, calibration *c, double limit_s)
{
	if (c->real)
		return __real_calibrate_run(c->real, limit_s);
	const host *h = engine_here()->h;
	const double cpus = fmin(c->threads, (double)h->is.cores / h->is.ranks);
	const double slower = comm_sim_scale() / (h->is.speed * cpus);
	actor_compute(limit_s * h->is.speed);
	return (calibrated){ .rate = { .cpus = cpus,
				       .sort_s = host_rates()->sort_s * slower,
				       .merge_s = host_rates()->merge_s * slower,
				       .copy_s = host_rates()->copy_s * slower,
				       .file_s = host_rates()->file_s * slower } };
}

WRAPPED(void, calibrate_free, calibration *c)
{
	if (c && c->real)
		__real_calibrate_free(c->real);
	free(c);
}
