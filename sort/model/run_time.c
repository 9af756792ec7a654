/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading and sorting go on while the disk moves what is read and what spills, and so do merging
 * and writing: each of the two steps takes as long as the slower of work and disk. Pure. */
#include "run_time.h"
#include "kernel/record.h"

#include <math.h>

/* On the machine of the nominal rates, beside copying a byte with its checksum: the system's work
 * for a byte read from or written to a file; its work to clear a byte of memory before the first
 * use; the wait for a byte that is gathered from memory, while the rates are of caches. And what a
 * disk takes for a byte. */
static const double FILE_TO_COPY = 1.9, FRESH_TO_COPY = 1, FAR_TO_COPY = 1, DISK_S = 0.8e-9;

/* The same for the system's work for a byte that goes to another host, or comes from there: by TCP
 * between network namespaces of one machine. */
static const double NET_TO_COPY = 2.4;

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

/* Of the memory that the rank uses for the first time, beside the records that it reads, what each
 * part takes of it. */
typedef struct fresh {
	double read, split, receive, write; /* bytes */
} fresh;

static double take(double *left, double bytes)
{
	const double some = fmin(*left, bytes);
	*left -= some;
	return some;
}

/* Runs that spill give their memory to what merges them. Else entries come with the records, and
 * where they are sorted last a second time by destination, and with what is received. */
static fresh fresh_of(const settings *o, const run_load *l)
{
	double left = l->fresh_bytes;
	fresh f = { .read = take(&left, l->spills ? left : (double)sizeof(entry) * (double)l->in) };
	if (sorts_last(o, l)) {
		f.split = take(&left, (double)sizeof(entry) * (double)l->in);
		f.receive =
			take(&left, (o->lay.record_bytes + (double)sizeof(entry)) * (double)l->out);
	}
	f.write = left;
	return f;
}

static double fresh_s(const rates *r, const run_load *l, double bytes)
{
	return FRESH_TO_COPY * r->copy_s * bytes / l->cpus;
}

static double files_s(const rates *r, const run_load *l, double bytes)
{
	return FILE_TO_COPY * r->copy_s * bytes / l->cpus;
}

/* What goes to other hosts, and as much as comes from them. */
static double net_s(const rates *r, const settings *o, const run_load *l)
{
	const double bytes = o->lay.record_bytes * ((double)l->in + (double)l->out);
	return NET_TO_COPY * r->copy_s * bytes * l->far / l->cpus;
}

/* The slower of the work, which has these parts, and the disk. */
static stage_plan slower(stage_plan work, double disk_s)
{
	return work.all_s >= disk_s ? work : (stage_plan){ .all_s = disk_s };
}

static stage_plan before(const rates *r, const settings *o, const run_load *l, const fresh *f)
{
	const double in = (double)l->in * o->lay.record_bytes;
	/* half: gathered */
	const double run_s = l->spills ? r->merge_s / 2 + FAR_TO_COPY * r->copy_s : 0;
	const double move_s = l->spreads ? send_s(r, o, l) + place_s(r, o, l) : 0;
	const settings s = sorting_of(o, l);
	const double own_s = (rates_before_s(r, &s, l->in) + in * run_s + move_s) / l->cpus;
	/* the system's work for a byte that is read has in it that it is read to fresh memory */
	const double into = l->spills ? 0 : fresh_s(r, l, in), more_s = fresh_s(r, l, f->read);
	const double moved_s =
		files_s(r, l, in * (1 + spilled(l))) + (l->spreads ? net_s(r, o, l) : 0);
	return slower((stage_plan){ own_s + moved_s + more_s, moved_s - into, into + more_s, 0 },
		      in * (l->cold + spilled(l)) * disk_byte_s(l));
}

/* All of it, to the end; lookups apart. `earlier`: what parts before writing have of it. */
static stage_plan after(const rates *r, const settings *o, const run_load *l, const fresh *f,
			double earlier_s)
{
	const double in = (double)l->in * o->lay.record_bytes;
	const double out = (double)l->out * o->lay.record_bytes;
	const double far_s = l->spills ? 0 : FAR_TO_COPY * r->copy_s;
	/* of several ranks, each merges its runs, and then what all send it */
	const double again_s = l->ranks > 1 ? r->merge_s : 0;
	const double spill_s = l->spills ? in * (r->copy_s + again_s) : 0;
	const double move_s = l->spreads ? 0 : send_s(r, o, l);
	const double last_s = sorts_last(o, l) ? divide_s(r, l) + place_s(r, o, l) : 0;
	const settings s = sorting_of(o, l);
	const double own_s =
		(rates_after_s(r, &s, l->out) + out * far_s + spill_s + move_s + last_s) / l->cpus;
	const double again = files_s(r, l, l->spills ? in * spilled(l) : 0);
	const double net = l->spreads ? 0 : net_s(r, o, l);
	const double moved_s = files_s(r, l, out) + again + net;
	const double ahead_s =
		l->ranks > 1 && !sorts_last(o, l) ? (spill_s + move_s) / l->cpus + again + net : 0;
	const double early_s = fresh_s(r, l, f->split + f->receive);
	const double write_s = fresh_s(r, l, f->write);
	stage_plan p = slower(
		(stage_plan){ own_s + moved_s + early_s + write_s, moved_s, write_s, ahead_s },
		(in * spilled(l) + out * l->durable) * disk_byte_s(l));
	p.all_s -= earlier_s;
	return p;
}

run_parts run_time_parts(const rates *r, const settings *o, const run_load *l)
{
	const fresh f = fresh_of(o, l);
	const double lookup_s = l->lookup_bytes * (r->copy_s / l->cpus + disk_byte_s(l));
	run_parts p = { .read = before(r, o, l, &f), .split.all_s = lookup_s };
	if (!sorts_last(o, l)) {
		p.write = after(r, o, l, &f, 0);
		return p;
	}
	settings merging = *o;
	merging.strategy = BY_MERGING;
	const double split_s = fresh_s(r, l, f.split), into_s = fresh_s(r, l, f.receive);
	const double divided_s = divide_s(r, l) / l->cpus + split_s;
	const double net = net_s(r, o, l);
	const double moved_s = (send_s(r, o, l) + place_s(r, o, l)) / l->cpus + net + into_s;
	const double sort_s =
		(rates_after_s(r, o, l->out) - rates_after_s(r, &merging, l->out)) / l->cpus;
	p.split = (stage_plan){ .all_s = lookup_s + divided_s, .fresh_s = split_s };
	p.receive = (stage_plan){ moved_s, net, into_s, 0 };
	p.sort = (stage_plan){ .all_s = sort_s };
	p.write = after(r, o, l, &f, divided_s + moved_s + sort_s);
	p.write.files_s = p.write.files_s > net ? p.write.files_s - net : 0;
	return p;
}

double run_time_s(const rates *r, const settings *o, const run_load *l)
{
	const run_parts p = run_time_parts(r, o, l);
	return p.read.all_s + p.split.all_s + p.receive.all_s + p.sort.all_s + p.write.all_s;
}

double run_time_reread_s(const rates *r, const settings *o, const run_load *l)
{
	const double out = (double)l->out * o->lay.record_bytes;
	return fmax(out * (1 + FILE_TO_COPY) * r->copy_s / l->cpus, out * disk_byte_s(l));
}
