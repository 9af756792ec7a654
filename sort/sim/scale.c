/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The scale of a simulation: each record represents many. The scale is not applied to keys and
 * counts in the search for splitters, to headers of blocks, and to heartbeats. Windows and blocks
 * are computed for the represented records, so there are as many messages as in a real cluster. */
#include "base/trace.h"
#include "sim.h"
#include "engine.h"
#include "exchange/block.h"
#include "exchange/lanes.h"
#include "model/rank_speeds.h"

#include <math.h>

enum { MESSAGE_BYTES = 1 << 20 }; /* bytes of a block before the exchange is open */

/* The least work that gets its own event. It grows with the scale, up to ten times the value for
 * scale 1, because the blocks of a scaled simulation take a millisecond or more. */
static const double LEAST_WORK_S = 20e-6, MOST_LEAST_WORK_S = 200e-6;

static struct {
	double all;
	size_t record_bytes;
	scale_windows last;
} scale = { .all = 1, .last = { .block_bytes = MESSAGE_BYTES } };

status scale_open(const platform *p, double all, err *e)
{
	scale.all = all;
	return engine_open(p, fmin(LEAST_WORK_S * all, MOST_LEAST_WORK_S), e);
}

void scale_records(size_t record_bytes)
{
	scale.record_bytes = record_bytes;
}

double scale_in(phase at)
{
	return at == PH_SAMPLE || at == PH_SPLIT ? 1 : scale.all;
}

/* Return the bytes of the records in a block. */
static double record_bytes_of(size_t bytes)
{
	const size_t room = bytes < sizeof(block_header) ? 0 : bytes - sizeof(block_header);
	return (double)(room - room % scale.record_bytes);
}

double scale_block(const comm_req *r)
{
	const bool measures = r->tag >= TAG_LINK_RATES && r->tag < TAG_LINK_RATES + LINK_SLOTS;
	const bool control = r->tag == TAG_HEARTBEAT || measures;
	return (double)r->bytes + (control ? 0 : record_bytes_of(r->bytes)) * (scale.all - 1);
}

double scale_messages(double bytes)
{
	return fmax(1, ceil(bytes / scale.last.block_bytes));
}

const scale_windows *scale_last_windows(void)
{
	return &scale.last;
}

static const double MOST = 0x1p62; /* the largest scaled number */

static uint64_t scaled(uint64_t n, double most)
{
	return (uint64_t)fmin((double)n * scale.all, most);
}

/* Count only bytes that represent more: records, in the stages that move them. The counts are
 * scaled later. */
WRAPPED(void, progress_add, progress_kind kind, uint64_t bytes)
{
	const rank_progress *p = progress_mine();
	const bool moves = p->at != STAGE_NONE && p->at != STAGE_SPLIT && !p->stage[p->at].ended;
	const double moved = kind == PROGRESS_SENT ? record_bytes_of(bytes) : (double)bytes;
	if (actor_self() && kind <= PROGRESS_SENT)
		bytes = moves ? (uint64_t)moved : 0;
	__real_progress_add(kind, bytes);
}

/* Scale counts of records and bytes, and rates, from the sorted records to the
 * represented records. Above a scale of 1, memory is not known, because not all of it grows with
 * the records. */
static void scale_rank(rank_result *k)
{
	uint64_t *const counts[] = { &k->planned_in,
				     &k->planned_out,
				     &k->planned_out_before,
				     &k->in,
				     &k->out,
				     &k->dropped,
				     &k->read_bytes,
				     &k->written_bytes,
				     &k->sent_bytes,
				     &k->received_bytes,
				     &k->spill_bytes,
				     &k->out_file_bytes,
				     &k->run_file_bytes,
				     &k->kept_bytes };
	double *const costs[] = { &k->rate.sort_s,  &k->rate.merge_s, &k->rate.copy_s,
				  &k->rate.file_s,  &k->rate.link_s,  &k->rate.disk_s,
				  &k->rate.input_s, &k->link_s };
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		*counts[i] = scaled(*counts[i], MOST);
	for (size_t i = 0; i < sizeof costs / sizeof *costs; i++)
		*costs[i] /= scale.all;
	for (int i = 0; i < PEERS; i++)
		k->sent_to_bytes[i] = scaled(k->sent_to_bytes[i], MOST);
	for (int kind = 0; kind < ACTIVITY_KINDS; kind++)
		for (int i = 0; i < ACTIVITY_STEPS; i++)
			k->activity.bytes[kind][i] = scaled(k->activity.bytes[kind][i], MOST);
	if (scale.all > 1)
		k->mem_peak_bytes = k->planned_bytes = UINT64_MAX;
}

void scale_result(job_result *r)
{
	r->scale = scale.all;
	r->records = scaled(r->records, MOST);
	r->out = scaled(r->out, MOST);
	for (int i = 0; i < r->size; i++)
		scale_rank(&r->rank[i]);
}

WRAPPED(void, trace_rows, trace *t, trace_row *to, unsigned most, double now)
{
	__real_trace_rows(t, to, most, now);
	for (unsigned i = 0; i < most; i++)
		for (int k = 0; to[i].type == TRACE_COUNTS && k < ACTIVITY_KINDS; k++)
			to[i].counter[k] = scaled(to[i].counter[k], MOST);
}

WRAPPED(uint64_t, lanes_windows_bytes, uint64_t mean, int ranks, uint64_t limit_bytes)
{
	const uint64_t bytes =
		__real_lanes_windows_bytes(scaled(mean, MOST), ranks, scaled(limit_bytes, MOST));
	return (uint64_t)ceil((double)bytes / scale.all);
}

WRAPPED(unsigned, lanes_wanted, unsigned threads, uint64_t out_bytes, uint64_t windows_bytes,
	int ranks, bool on_disk, const char **why)
{
	return __real_lanes_wanted(threads, scaled(out_bytes, MOST), scaled(windows_bytes, MOST),
				   ranks, on_disk, why);
}

WRAPPED(windows, windows_divide, size_t budget_bytes, size_t record_bytes, int ranks, bool inside,
	uint64_t total)
{
	windows w = __real_windows_divide(scaled(budget_bytes, MOST), record_bytes, ranks, inside,
					  scaled(total, MOST));
	if (!actor_self())
		return w;
	scale.last = (scale_windows){ (unsigned)w.blocks, (double)(w.block_recs * record_bytes),
				      (double)w.block_recs < scale.all };
	w.block_recs = (size_t)fmax((double)w.block_recs / scale.all, 1);
	return w;
}
