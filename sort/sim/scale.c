/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The scale of a simulation: each record represents many. The scale is not applied to keys and
 * counts in the search for splitters, to headers of blocks, and to heartbeats. Windows and blocks
 * are computed for the represented records, so there are as many messages as in a real cluster. */
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

double scale_block(const comm_req *r)
{
	const bool measures = r->tag >= TAG_LINK_RATES && r->tag < TAG_LINK_RATES + LINK_SLOTS;
	const bool control = r->tag == TAG_HEARTBEAT || measures || r->bytes < sizeof(block_header);
	const size_t room = control ? 0 : r->bytes - sizeof(block_header);
	return (double)r->bytes + (double)(room - room % scale.record_bytes) * (scale.all - 1);
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
