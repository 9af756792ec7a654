/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading and sorting go on while the disk moves what is read and what spills, and so do merging
 * and writing: each of the two steps takes as long as the slower of work and disk. Pure. */
#include "run_time.h"

#include <math.h>

/* On the machine of the nominal rates, beside copying a byte with its checksum: the system's work
 * for a byte read from or written to a file; its work to clear a byte of memory before the first
 * use; the wait for a byte that is gathered from memory, while the rates are of caches. And what a
 * disk takes for a byte. */
static const double FILE_TO_COPY = 1.9, FRESH_TO_COPY = 1, FAR_TO_COPY = 1, DISK_S = 0.8e-9;

/* A pass over entries in any order, as a radix sort makes of each byte of the key: ln 256. */
static const double PASS_LN = 5.545;

/* By its strategy, but if a rank is alone, or its runs spill, it sorts them. */
static bool sorts_last(const settings *o, const run_load *l)
{
	return !settings_strategy(o)->sorts_first && l->ranks > 1 && !l->spills;
}

static settings sorting_of(const settings *o, const run_load *l)
{
	settings s = *o;
	s.strategy = sorts_last(o, l) ? BY_DISTRIBUTING : BY_MERGING;
	return s;
}

static double send_s(const rates *r, const settings *o, const run_load *l)
{
	return l->ranks > 1 ? rates_send_s(r, o, l->in, l->ranks) : 0;
}

/* What comes goes from the blocks to the place where it is sorted. */
static double place_s(const rates *r, const settings *o, const run_load *l)
{
	return r->copy_s * o->lay.record_bytes * (double)l->out;
}

/* To divide unsorted entries among the brackets of the splitters, in two passes. */
static double divide_s(const rates *r, const run_load *l)
{
	return 2 * PASS_LN * r->sort_s * (double)l->in;
}

static double disk_byte_s(const run_load *l)
{
	return l->disk_s > 0 ? l->disk_s : DISK_S * l->disk_ranks;
}

/* The part of what is read that goes to disk and comes back. */
static double spilled(const run_load *l)
{
	return l->spills ? 1 - l->held : 0;
}

static double before_s(const rates *r, const settings *o, const run_load *l)
{
	const double in = (double)l->in * o->lay.record_bytes;
	const double file_s = FILE_TO_COPY * r->copy_s;
	/* half: gathered */
	const double run_s = l->spills ? r->merge_s / 2 + FAR_TO_COPY * r->copy_s : 0;
	const double spill_s = run_s + spilled(l) * file_s;
	const double move_s = l->spreads ? send_s(r, o, l) + place_s(r, o, l) : 0;
	const settings s = sorting_of(o, l);
	const double work_s = rates_before_s(r, &s, l->in) + in * (file_s + spill_s) + move_s;
	return fmax(work_s / l->cpus, in * (l->cold + spilled(l)) * disk_byte_s(l));
}

/* All of it, to the end; lookups apart. */
static double after_s(const rates *r, const settings *o, const run_load *l)
{
	const double in = (double)l->in * o->lay.record_bytes;
	const double out = (double)l->out * o->lay.record_bytes;
	const double file_s = FILE_TO_COPY * r->copy_s;
	const double far_s = l->spills ? 0 : FAR_TO_COPY * r->copy_s;
	/* of several ranks, each merges its runs, and then what all send it */
	const double again_s = l->ranks > 1 ? r->merge_s : 0;
	const double spill_s = l->spills ? in * (spilled(l) * file_s + r->copy_s + again_s) : 0;
	const double move_s = l->spreads ? 0 : send_s(r, o, l);
	const double last_s = sorts_last(o, l) ? divide_s(r, l) + place_s(r, o, l) : 0;
	const settings s = sorting_of(o, l);
	const double work_s = rates_after_s(r, &s, l->out) + out * (file_s + far_s) + spill_s +
			      move_s + last_s + FRESH_TO_COPY * r->copy_s * l->fresh_bytes;
	return fmax(work_s / l->cpus, (in * spilled(l) + out * l->durable) * disk_byte_s(l));
}

run_parts run_time_parts(const rates *r, const settings *o, const run_load *l)
{
	const double lookup_s = l->lookup_bytes * (r->copy_s / l->cpus + disk_byte_s(l));
	run_parts p = { .read_s = before_s(r, o, l), .split_s = lookup_s };
	p.write_s = after_s(r, o, l);
	if (!sorts_last(o, l))
		return p;
	settings merging = *o;
	merging.strategy = BY_MERGING;
	const double divided_s = divide_s(r, l) / l->cpus;
	p.split_s += divided_s;
	p.receive_s = (send_s(r, o, l) + place_s(r, o, l)) / l->cpus;
	p.sort_s = (rates_after_s(r, o, l->out) - rates_after_s(r, &merging, l->out)) / l->cpus;
	p.write_s -= divided_s + p.receive_s + p.sort_s;
	return p;
}

double run_time_s(const rates *r, const settings *o, const run_load *l)
{
	const run_parts p = run_time_parts(r, o, l);
	return p.read_s + p.split_s + p.receive_s + p.sort_s + p.write_s;
}

double run_time_reread_s(const rates *r, const settings *o, const run_load *l)
{
	const double out = (double)l->out * o->lay.record_bytes;
	return fmax(out * (1 + FILE_TO_COPY) * r->copy_s / l->cpus, out * disk_byte_s(l));
}
